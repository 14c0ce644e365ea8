import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";
import { writeJournal } from "../usage/testing/write-journal.ts";

/** The times of the recording begin in January 1970. */
const history = path.resolve(import.meta.dirname, "../../../../test/history/0031-workload-changed.journal.jsonl");
const home = mkdtempSync(path.join(tmpdir(), "headroom-review-"));
beforeAll(() => writeJournal(home, readFileSync(history, "utf8").trimEnd().split("\n")));
afterAll(() => rmSync(home, { recursive: true }));

const review = (...args: readonly string[]): Promise<Said> =>
  headroom(["--home", home, "review", ...args], { workingDirectory: home });

describe("headroom review", () => {
  it("is the same byte for byte from the same journal, as text, JSON and page", async () => {
    const [first, second] = await Promise.all(
      ["a.html", "b.html"].map((page) => review("--quarter", "1970Q1", "--html", page)),
    );
    expect(first?.code).toBe(0);
    expect(first?.stdout).toBe(second?.stdout);
    expect(first?.stdout).toMatch(/^1970-01 +39 +39 +0 +– .* 80 /m);
    const pages = ["a.html", "b.html"].map((page) => readFileSync(path.join(home, page), "utf8"));
    expect(pages[0]).toBe(pages[1]);
    expect(pages[0]).toContain("<h1>Review of 1970Q1 (through 1970-02-02)</h1>");
    const json = await review("--quarter", "1970Q1", "--json");
    expect(json.stdout).toBe((await review("--quarter", "1970Q1", "--json")).stdout);
    writeFileSync(path.join(home, "1970Q1.json"), json.stdout);
    const next = await review("--quarter", "1970Q2", "--last", "1970Q1.json");
    expect(next.stdout).toContain("The last review (1970Q1)");
    expect(next.stdout).toContain("not measured: Revise the plan: no stored plan covers 1970Q1.");
  });

  it("prices what ran, and what waited at the mean price", async () => {
    const price = [
      "kind: price",
      "name: rented",
      "pool: H100",
      "provider: Lab",
      "region: dc",
      "source: onDemand",
      "from: 1970-01-01",
      "prices: [{ from: 1970-01-01, perHour: 2 }]",
    ];
    writeFileSync(path.join(home, "price.yaml"), price.join("\n"));
    const { cost, waiting, failures } = JSON.parse(
      (await review("--quarter", "1970Q1", "--prices", "price.yaml", "--json")).stdout,
    ) as {
      readonly cost: { readonly usd: number; readonly failuresUsd: number };
      readonly waiting: { readonly usd: number; readonly acceleratorHours: number };
      readonly failures: { readonly byCause: readonly { readonly usd: number }[] };
    };
    expect(cost.usd).toBeGreaterThan(0);
    expect(waiting.usd).toBeCloseTo(2 * waiting.acceleratorHours, 0);
    const causes = failures.byCause.reduce((sum, { usd }) => sum + usd, 0);
    expect(causes).toBeCloseTo(cost.failuresUsd, 1);
  });

  it("refuses what is no quarter, no plan and no review", async () => {
    const refused = async (...args: readonly string[]): Promise<readonly [number, string]> => {
      const { code, stderr } = await review(...args);
      return [code, stderr];
    };
    expect(await refused("--quarter", "2026-Q3")).toEqual([2, expect.stringContaining("a quarter like 2026Q3")]);
    writeFileSync(path.join(home, "other.json"), "{}");
    expect(await refused("--quarter", "1970Q1", "--plan", "other.json")).toEqual([
      2,
      expect.stringContaining("other.json is no stored plan"),
    ]);
    expect(await refused("--quarter", "1970Q1", "--last", "other.json")).toEqual([
      2,
      expect.stringContaining("other.json is no review"),
    ]);
    expect(await refused("--quarter", "1970Q1", "--last", "none.json")).toEqual([
      2,
      expect.stringContaining("none.json: it cannot be read"),
    ]);
  });
});
