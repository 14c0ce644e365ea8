/**
 * Tests journals of `test/history` in the form that older builds left on disk: formats 1 to 4, with digests of states
 * that had other field names or other policies.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createEngine, replayEngine, type JournalGroup } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import { someOf } from "../../../tools/testing/rotating.ts";
import { openForWriting } from "../src/database.ts";
import { eventsOf, sqliteJournal } from "../src/index.ts";
import { verifyJournal } from "../src/verify-journal.ts";

const folder = path.resolve(import.meta.dirname, "../../../test/history");
const all = readdirSync(folder).filter((name) => name.endsWith(".journal.jsonl"));
const names = all.filter((name) => name < "0021");
const lastOf2 = all.find((name) => name.startsWith("0026")) ?? "";
const lastOf3 = all.find((name) => name.startsWith("0028")) ?? "";
const lastOf4 = all.find((name) => name.startsWith("0030")) ?? "";

async function writeFormat(format: number, directory: string, groups: readonly JournalGroup[]): Promise<void> {
  const { journal } = await sqliteJournal(directory)(0);
  await journal.close();
  const database = openForWriting(directory, "full");
  const insert = database.prepare(
    "INSERT INTO groups (first_sequence, count, at_ms, chain, text) VALUES (?, ?, ?, ?, ?)",
  );
  for (const { firstSequence, count, chain, text } of groups) insert.run(firstSequence, count, 0, chain, text);
  database.prepare("INSERT INTO digests VALUES (?, ?)").run(1, "0".repeat(32));
  database.exec(`PRAGMA user_version = ${format}`);
  database.close();
}

const older = [
  ...names.map((name): [number, string] => [1, name]),
  [2, lastOf2] as const,
  [3, lastOf3] as const,
  [4, lastOf4] as const,
];

describe("a journal of an older format", () => {
  it.each(someOf(older, { parts: 4 }))("%i is brought forward when it is opened: %s", async (format, name) => {
    const lines = readFileSync(path.join(folder, name), "utf8").trimEnd().split("\n");
    const groups = lines.map((line) => JSON.parse(line) as JournalGroup);
    const directory = mkdtempSync(path.join(tmpdir(), "headroom-older-format-"));
    try {
      await writeFormat(format, directory, groups);
      expect(verifyJournal(directory)).toMatchObject({ digestCount: 0, chain: groups.at(-1)?.chain });
      const { journal, engine } = await sqliteJournal(directory)(0);
      const replayed = createEngine();
      replayEngine(replayed, groups);
      expect(engine.digest()).toBe(replayed.digest());
      expect(engine.state.chain).toBe(groups.at(-1)?.chain);
      await journal.close();
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it("is read in the present names", () => {
    const kinds = names.flatMap((name) =>
      readFileSync(path.join(folder, name), "utf8")
        .trimEnd()
        .split("\n")
        .flatMap((line) => eventsOf({ ...(JSON.parse(line) as JournalGroup), atMs: 0 }).map(({ kind }) => kind)),
    );
    const retired = [
      "placePromised",
      "promiseWithdrawn",
      "offPeakBegan",
      "offPeakEnded",
      "spareKept",
      "spareReleased",
      "ranksLost",
    ];
    expect(kinds).toEqual(
      expect.arrayContaining(["placementNominated", "startWindowOpened", "hotSpareReserved", "gangDegraded"]),
    );
    expect(kinds.filter((kind) => retired.includes(kind))).toEqual([]);
  });
});
