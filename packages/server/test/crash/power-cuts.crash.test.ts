import { expect, it } from "vitest";
import { sliceOf } from "../../../../tools/testing/rotating.ts";
import { faultPoints } from "../../src/faults/fault-points.ts";
import { addCounts, baseSeed, writeReport } from "./crash-report.ts";
import { chooseCuts, cutAndRecover, firstActsOfLastLife, record, twoKills, unrecordedStarts } from "./power-cuts.ts";
import type { CutPoint, Recording, RecordingPlan } from "./power-cuts.ts";

/**
 * Recordings with real supervisors and workers are slow, so they get fewer cuts. More of their runs leave incomplete
 * launches.
 */
const recordings = [
  { executor: "file", cutCount: 85, killPoints: twoKills },
  { executor: "file", cutCount: 85, killPoints: twoKills },
  { executor: "file", cutCount: 85, killPoints: twoKills },
  { executor: "local", cutCount: 45, killPoints: [...twoKills, ...twoKills] },
] as const;
/** A third of the cuts of each recording in each run, and recordings of other seeds: three commits are a full pass. */
const { share, index: slice } = sliceOf({ size: 300, suiteParts: 3 });
const shareOf = (cutCount: number): number => Math.ceil(cutCount * share);
const CUTS = recordings.reduce((total, { cutCount }) => total + shareOf(cutCount), 0);
/** Number of cuts for which the planted fault must lose data. */
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

async function cutAll(
  plan: RecordingPlan,
  count: number,
  choose: (recording: Recording, count: number) => readonly CutPoint[] = chooseCuts,
): Promise<CutsReport> {
  const recording = await record(plan);
  const cuts: Record<string, number> = {};
  const violations = unrecordedStarts(recording).map((each) => `seed ${plan.seed}: ${each}`);
  let [acknowledgedCount, startCount, digestCount, violatedCount] = [0, 0, 0, 0];
  for (const [index, cut] of choose(recording, count).entries()) {
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
  for (const [index, { cutCount, ...recorded }] of recordings.entries()) {
    const plan = { seed: baseSeed * 1000 + slice * recordings.length + index, unsyncedLives: 0, ...recorded };
    const report = await cutAll(plan, shareOf(cutCount));
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
  for (const point of faultPoints)
    expect(cuts[point] ?? 0, point).toBeGreaterThanOrEqual(Math.max(1, Math.floor(4 * share)));
  expect(sum("acknowledgedCount")).toBeGreaterThan(cutCount);
});

it("nobody acts on what a killed life left unsynced before it is on the disk", async () => {
  const killPoints = ["after-reply-before-launch"] as const;
  const plan = { seed: baseSeed * 1000 + 98, executor: "file", unsyncedLives: 1, killPoints } as const;
  const report = await cutAll(plan, PLANTED_CUTS, firstActsOfLastLife);
  writeReport("crash-unsynced-life", { cutCount: PLANTED_CUTS, violatedCount: report.violatedCount, seed: baseSeed });
  expect(report.violations).toEqual([]);
  expect(report.startCount).toBeGreaterThan(PLANTED_CUTS);
  expect(report.acknowledgedCount).toBeGreaterThan(PLANTED_CUTS);
});

it("with the sync switched off the same test fails", async () => {
  const plan = { seed: baseSeed * 1000 + 99, executor: "file", unsyncedLives: 3, killPoints: twoKills } as const;
  const report = await cutAll(plan, PLANTED_CUTS);
  writeReport("crash-planted-no-sync", { cutCount: PLANTED_CUTS, violatedCount: report.violatedCount, seed: baseSeed });
  expect(report.violatedCount).toBeGreaterThan(PLANTED_CUTS / 4);
});
