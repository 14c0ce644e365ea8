import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";
import { writeJournal } from "./testing/write-journal.ts";

const history = path.resolve(import.meta.dirname, "../../../../test/history/0031-workload-changed.journal.jsonl");
const home = mkdtempSync(path.join(tmpdir(), "headroom-usage-"));
beforeAll(() => writeJournal(home, readFileSync(history, "utf8").trimEnd().split("\n")));
afterAll(() => rmSync(home, { recursive: true }));

const usage = (...args: readonly string[]): Promise<Said> =>
  headroom(["--home", home, "usage", ...args], { workingDirectory: home });

interface Item {
  readonly team: string;
  readonly state: string;
  readonly acceleratorMs: string;
}

describe("usage", () => {
  it("adds up the same time by team, by day and by node", async () => {
    const sums = await Promise.all(
      [
        ["--by", "all"],
        ["--by", "hour"],
        ["--group", "node,pool"],
      ].map(async (args) => {
        const { items } = JSON.parse((await usage(...args, "--json")).stdout) as { items: readonly Item[] };
        return items.reduce((sum, { acceleratorMs }) => sum + Number(acceleratorMs), 0);
      }),
    );
    expect(sums[0]).toBeGreaterThan(0);
    expect(new Set(sums).size).toBe(1);
  });

  it("counts a team with the teams below it", async () => {
    const teams = async (...args: readonly string[]): Promise<readonly string[]> => {
      const { items } = JSON.parse((await usage(...args, "--json")).stdout) as { items: readonly Item[] };
      return [...new Set(items.map(({ team }) => team))];
    };
    expect(await teams("--team", "forschung")).toEqual(["forschung/nlp"]);
    expect(await teams()).toContain("");
    const none = await usage("--team", "nobody");
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('there is no team "nobody"')]);
  });

  it("prints tables, CSV and rows", async () => {
    expect((await usage()).stdout).toMatch(/PERIOD +TEAM +STATE +CAUSE +HOURS/);
    expect((await usage("--csv")).stdout).toContain("period,team,state,cause,accelerator_ms\n1970-01,");
    const { stdout } = await usage("--rows");
    expect(stdout).toMatch(/^from,to,milli,accelerator_ms,state,/);
    expect(stdout).toContain(",evicted,");
  });

  it.each([
    [["--by", "year"], "--by: expected one of hour, day, week, month, all, got year"],
    [["--group", "colour"], "--group: expected one of"],
    [["--since", "noon"], "--since: expected a day (UTC)"],
  ])("refuses %j", async (args, message) => {
    const { code, stderr } = await usage(...args);
    expect([code, stderr.includes(message) ? message : stderr]).toEqual([2, message]);
  });

  it("names the place of a missing journal", async () => {
    const { code, stderr } = await headroom(["--home", "/nowhere", "usage"], { workingDirectory: home });
    expect([code, stderr]).toEqual([2, expect.stringContaining("/nowhere has no journal")]);
  });
});
