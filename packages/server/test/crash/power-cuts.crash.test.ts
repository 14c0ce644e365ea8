import { expect, it } from "vitest";
import { faultPoints } from "../../src/faults/fault-points.ts";
import { addCounts, baseSeed, writeReport } from "./crash-report.ts";
import { chooseCuts, cutAndRecover, record } from "./power-cuts.ts";
import type { RecordingPlan } from "./power-cuts.ts";

/** Real supervisors and workers take their time, so fewer cuts are made of their recording. */
const recordings = [
  { executor: "file", cutCount: 85 },
  { executor: "file", cutCount: 85 },
  { executor: "file", cutCount: 85 },
  { executor: "local", cutCount: 45 },
] as const;
const CUTS = recordings.reduce((total, { cutCount }) => total + cutCount, 0);
/** Of these, the planted fault must lose something in many. */
const PLANTED_CUTS = 30;

interface CutsReport {
  readonly cuts: Readonly<Record<string, number>>;
  readonly acknowledgedCount: number;
  readonly startCount: number;
  readonly digestCount: number;
  readonly callCount: number;
  readonly violations: readonly string[];
  readonly violatedCount: number;
}

async function cutAll(plan: RecordingPlan, count: number): Promise<CutsReport> {
  const recording = await record(plan);
  const cuts: Record<string, number> = {};
  const violations: string[] = [];
  let [acknowledgedCount, startCount, digestCount, violatedCount] = [0, 0, 0, 0];
  for (const [index, cut] of chooseCuts(recording, count).entries()) {
    const result = await cutAndRecover(recording, cut, index);
    addCounts(cuts, { [cut.label]: 1 });
    acknowledgedCount += result.acknowledgedCount;
    startCount += result.startCount;
    digestCount += result.digestCount;
    if (result.violations.length > 0) violatedCount++;
    for (const each of result.violations)
      violations.push(`seed ${plan.seed}, cut ${index} (${cut.label}, line ${cut.at}): ${each}`);
  }
  return {
    cuts,
    acknowledgedCount,
    startCount,
    digestCount,
    callCount: recording.calls.length,
    violations,
    violatedCount,
  };
}

it(`${CUTS} power cuts under load lose nothing and start nothing twice`, async () => {
  const cuts: Record<string, number> = {};
  const reports: CutsReport[] = [];
  for (const [index, { executor, cutCount }] of recordings.entries()) {
    const report = await cutAll({ seed: baseSeed * 1000 + index, executor, synchronous: "full" }, cutCount);
    addCounts(cuts, report.cuts);
    reports.push(report);
  }
  const sum = (field: "acknowledgedCount" | "startCount" | "digestCount" | "callCount"): number =>
    reports.reduce((total, report) => total + report[field], 0);
  const violations = reports.flatMap((report) => report.violations);
  const cutCount = Object.values(cuts).reduce((total, count) => total + count, 0);
  writeReport("crash-power-cuts", {
    cutCount,
    cuts,
    acknowledgedCount: sum("acknowledgedCount"),
    lostCount: violations.length,
    startCount: sum("startCount"),
    comparedDigestCount: sum("digestCount"),
    recordedCallCount: sum("callCount"),
    seed: baseSeed,
  });
  expect(violations).toEqual([]);
  expect(cutCount).toBe(CUTS);
  for (const point of faultPoints) expect(cuts[point] ?? 0, point).toBeGreaterThanOrEqual(10);
  expect(sum("acknowledgedCount")).toBeGreaterThan(cutCount);
});

it("with the sync switched off the same test fails", async () => {
  const report = await cutAll({ seed: baseSeed * 1000 + 99, executor: "file", synchronous: "off" }, PLANTED_CUTS);
  writeReport("crash-planted-no-sync", { cutCount: PLANTED_CUTS, violatedCount: report.violatedCount, seed: baseSeed });
  expect(report.violatedCount).toBeGreaterThan(PLANTED_CUTS / 4);
});
