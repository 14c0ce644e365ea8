import { spawnSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { sharedData } from "../shared-data.ts";

const root = path.resolve(import.meta.dirname, "../..");
const files = ["measurements.csv", "measurements_unseen_1.csv"].map((file) => sharedData(`training/${file}`) ?? "");

interface Score {
  readonly rows: number;
  readonly mape_pct: number;
  readonly interval_coverage_pct: number;
  readonly interval_ratio: number;
}

interface Section {
  readonly title: string;
  readonly macro_mape_pct: number;
  readonly overall: Score;
  readonly groups: readonly Score[];
}

function leftOutSections(): ReadonlyMap<string, Section> {
  const script = path.join(root, "tools", "validate", "training.ts");
  const options = { encoding: "utf8", maxBuffer: 1 << 26 } as const;
  const run = spawnSync(process.execPath, [script, ...files, "--leave-out", "--json"], options);
  expect(run.stderr).toBe("");
  const { sections } = JSON.parse(run.stdout) as { readonly sections: readonly Section[] };
  return new Map(sections.map((section) => [section.title, section]));
}

describe.skipIf(files.includes(""))("against published measurements that were neither fitted nor evidence", () => {
  it("keeps errors and intervals where they are promised, over sources and over architectures", () => {
    const sections = leftOutSections();
    const all = sections.get("Left out: constants fitted without the group, all rows");
    const macroOf = (title: string): number => sections.get(title)?.macro_mape_pct ?? 100;
    expect(all?.overall.rows).toBe(437);
    expect(macroOf("Left out, GPU rows")).toBeLessThan(9);
    expect(macroOf("Left out, TPU rows")).toBeLessThan(15);
    expect(macroOf("Left out: whole architectures")).toBeLessThan(12);
    expect(all?.groups.filter(({ rows, mape_pct }) => rows >= 6 && mape_pct > 20)).toEqual([]);
    expect(all?.overall.interval_coverage_pct ?? 0).toBeGreaterThan(75);
    expect(all?.overall.interval_coverage_pct ?? 100).toBeLessThan(85);
    expect(all?.overall.interval_ratio ?? 9).toBeLessThan(1.5);
    const narrow = all?.groups.filter(({ rows, interval_coverage_pct }) => rows >= 10 && interval_coverage_pct < 60);
    expect(narrow).toEqual([]);
  });
});
