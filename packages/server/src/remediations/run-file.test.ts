/** The file of the runs of remediations. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { removeHome, temporaryHome } from "../api/testing/live-control-plane.ts";
import { RunBook, type RemediateProposal } from "./run-book.ts";
import { readRuns, writeRuns } from "./run-file.ts";

it("keeps a file that is not readable beside the next one", async () => {
  const home = temporaryHome();
  const file = path.join(home, "remediation-runs.json");
  writeFileSync(file, '{"format":2,"runs":[]}');
  const complaints: string[] = [];
  expect(readRuns(home, { warn: (text) => void complaints.push(text) })).toBeNull();
  expect(complaints).toEqual([expect.stringContaining("kept as")]);
  expect(existsSync(file)).toBe(false);
  await writeRuns(home, { begunUntilMs: 1, runs: [] });
  expect(readFileSync(`${file}.unreadable`, "utf8")).toBe('{"format":2,"runs":[]}');
  removeHome(home);
});

it("without it, begins no run of an earlier process", () => {
  const home = temporaryHome();
  const book = new RunBook(home, { warn: () => undefined });
  const acted = (id: string, actedAtMs: number): RemediateProposal => ({ id, actedAtMs }) as RemediateProposal;
  const before = [acted("p1", 4), acted("p2", 5)];
  expect(book.unbegun(before)).toEqual([]);
  expect(book.unbegun([...before, acted("p3", 6)]).map(({ id }) => id)).toEqual(["p3"]);
  removeHome(home);
});
