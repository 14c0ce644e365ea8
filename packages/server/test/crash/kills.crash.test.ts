import { expect, it } from "vitest";
import { sliceOf } from "../../../../tools/testing/rotating.ts";
import { faultPoints } from "../../src/faults/fault-points.ts";
import { addCounts, baseSeed, writeReport } from "./crash-report.ts";
import { runKills } from "./kills.ts";
import type { KillPlan, KillReport } from "./kills.ts";

const KILLS_PER_HOME = 25;
const HOMES = 12;

/** A third of the homes in each run: three commits are a full pass. */
const { seeds, share } = sliceOf({ size: HOMES, suiteParts: 3 });

/** Half of the homes use real processes under supervisors, half a fast executor with many rounds in each run. */
const plans: readonly KillPlan[] = seeds.map((home) => ({
  seed: baseSeed * 1000 + home,
  executor: home % 2 === 0 ? "local" : "file",
  resizes: home % 4 === 0,
  killCount: KILLS_PER_HOME,
  countMax: home % 2 === 0 ? 5 : 20,
}));
const KILLS = KILLS_PER_HOME * plans.length;

it(`${KILLS} SIGKILLs under load lose nothing and start nothing twice`, async () => {
  const reports: KillReport[] = [];
  const queue = [...plans];
  const lane = async (): Promise<void> => {
    for (let plan = queue.shift(); plan !== undefined; plan = queue.shift()) reports.push(await runKills(plan));
  };
  await Promise.all([lane(), lane()]);
  const kills: Record<string, number> = {};
  for (const report of reports) addCounts(kills, report.kills);
  const sum = (
    field:
      | "growthCount"
      | "shrinkCount"
      | "acknowledgedCount"
      | "startCount"
      | "eventCount"
      | "roundCount"
      | "digestCount",
  ): number => reports.reduce((total, report) => total + report[field], 0);
  const violations = reports.flatMap(({ seed, violations: found }) => found.map((each) => `seed ${seed}: ${each}`));
  writeReport("crash-kills", {
    killCount: Object.values(kills).reduce((total, count) => total + count, 0),
    kills,
    acknowledgedCount: sum("acknowledgedCount"),
    lostCount: violations.length,
    startCount: sum("startCount"),
    growthCount: sum("growthCount"),
    shrinkCount: sum("shrinkCount"),
    eventCount: sum("eventCount"),
    redecidedRoundCount: sum("roundCount"),
    comparedDigestCount: sum("digestCount"),
    seeds: plans.map(({ seed }) => seed),
  });
  expect(violations).toEqual([]);
  expect(Object.values(kills).reduce((total, count) => total + count, 0)).toBe(KILLS);
  for (const point of faultPoints) expect(kills[point] ?? 0, point).toBeGreaterThanOrEqual(Math.floor(10 * share));
  expect(kills["random"]).toBeGreaterThanOrEqual(100 * share);
  expect(sum("growthCount")).toBeGreaterThan(50 * share);
  expect(sum("shrinkCount")).toBeGreaterThan(10 * share);
  expect(sum("digestCount")).toBeGreaterThan(100 * share);
});
