/** Forecasts of measured use: of a CSV file, and of a journal whose times are stretched to months. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";
import { writeJournal } from "../usage/testing/write-journal.ts";

const DAY_MS = 86_400_000;
const history = path.resolve(import.meta.dirname, "../../../../test/history/0031-workload-changed.journal.jsonl");
const home = mkdtempSync(path.join(tmpdir(), "headroom-forecast-"));
/** The recording is of 32 days. */
const FACTOR = 4;
beforeAll(async () => {
  const lines = readFileSync(history, "utf8").trimEnd().split("\n");
  const stretched = lines.map((line) =>
    line.replaceAll(/(atMs\\":)(\d+)/g, (_, name: string, ms: string) => `${name}${Number(ms) * FACTOR}`),
  );
  await writeJournal(home, stretched);
  const rows = Array.from({ length: 400 }, (_, day) => {
    const time = new Date(Date.UTC(2025, 0, 1) + day * DAY_MS).toISOString().slice(0, 10);
    return `${time},${100 + day / 4 + (day % 7)}`;
  });
  writeFileSync(path.join(home, "use.csv"), `time,value\n${rows.join("\n")}\n`);
  writeFileSync(path.join(home, "short.csv"), "time,value\n2026-01-01,3\n2026-01-02,4\n");
  writeFileSync(path.join(home, "cells.csv"), "time,value\n2026-01-01 01:00,3\n2026-01-02 02:00,4,5\n");
  writeFileSync(path.join(home, "wrong.csv"), "time,value\n2026-01-01,3\n2026-01-02,-4\n");
});
afterAll(() => rmSync(home, { recursive: true }));

const plan = (...args: readonly string[]): Promise<Said> =>
  headroom(["--home", home, "plan", ...args], { workingDirectory: home });

interface Answer {
  readonly months: readonly string[];
  readonly parts: readonly { readonly name: string; readonly p50: readonly number[] }[];
  readonly together: { readonly p50: readonly number[] };
}

it("forecasts the growth of a series by month, as a table, CSV and JSON", async () => {
  const args = ["forecast", "--series", "use.csv", "--months", "6"];
  const { months, together } = JSON.parse((await plan(...args, "--json")).stdout) as Answer;
  // The last of 57 whole weeks ends on 4 February 2026.
  expect(months).toEqual(["2026-03", "2026-04", "2026-05", "2026-06", "2026-07", "2026-08"]);
  const expected = months.map((month) => 103 + (Date.parse(`${month}-15`) - Date.UTC(2025, 0, 1)) / DAY_MS / 4);
  for (const [at, value] of together.p50.entries())
    expect(Math.abs(value / expected[at]! - 1)).toBeLessThan(at === 0 ? 0.05 : 0.1);
  expect((await plan(...args)).stdout).toMatch(
    /together +p95 [^]*The last 11 weeks, forecast from those before: off by/,
  );
  expect((await plan(...args, "--csv")).stdout).toMatch(/^pool,month,p10,p50,p95\nuse,2026-03,\d/);
});

it("forecasts pools and teams of the journal, which add up, and plans for its pools", async () => {
  const answers = await Promise.all(
    ["pool", "team"].map(async (by) => JSON.parse((await plan("forecast", "--by", by, "--json")).stdout) as Answer),
  );
  const sums = answers.map(({ parts }) => parts.reduce((sum, { p50 }) => sum + p50[0]!, 0));
  expect(sums[0]).toBeGreaterThan(0);
  expect(sums[1]).toBeCloseTo(sums[0]!, 0);
  const pool = answers[0]!.parts[0]!.name;
  const start = new Date((32 * FACTOR + 31) * DAY_MS).toISOString().slice(0, 7);
  const document = (name: string): string =>
    `{ kind: plan, name: p, start: ${start}, months: 6, demand: { ${name}: { p50: [9000] } },
      options: [{ kind: onDemand, name: cloud, pool: ${name}, usdPerHour: 2 }] }`;
  writeFileSync(path.join(home, "plan.yaml"), document(pool));
  writeFileSync(path.join(home, "other.yaml"), document("elsewhere"));
  const { code, stdout } = await plan("plan.yaml", "--measured", "--json");
  expect(code).toBe(0);
  const { byMonth } = JSON.parse(stdout) as { byMonth: { pools: { demandP50: number }[] }[] };
  expect(byMonth[0]!.pools[0]!.demandP50).toBeLessThan(100);
  expect((await plan("other.yaml", "--measured")).stderr).toContain(
    "no pool of the plan has a history: it has elsewhere",
  );
});

it.each([
  [["--series", "short.csv"], "the history has 0 whole weeks; a forecast needs 8"],
  [["--series", "wrong.csv"], "wrong.csv:3: expected a time in ISO 8601 and a number of accelerators"],
  [["--series", "cells.csv"], "cells.csv: Invalid Record Length"],
  [["--series", "none.csv"], "none.csv: ENOENT"],
  [["--by", "node"], "--by: expected one of pool, team, got node"],
  [["--months", "0"], "--months"],
])("refuses %j", async (args, message) => {
  expect((await plan("forecast", ...args)).stderr).toContain(message);
});
