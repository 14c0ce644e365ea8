import { expect, it } from "vitest";
import { faultPoints } from "../../src/faults/fault-points.ts";
import { addCounts, baseSeed, writeReport } from "./crash-report.ts";
import { runKills } from "./kills.ts";
import type { KillPlan, KillReport } from "./kills.ts";

const KILLS_PER_HOME = 25;
const HOMES = 12;

/** Half of the homes use real processes under supervisors, half a fast executor with many rounds in each run. */
const plans: readonly KillPlan[] = Array.from({ length: HOMES }, (_, index) => ({
  seed: baseSeed * 1000 + index,
  executor: index % 2 === 0 ? "local" : "file",
  resizes: index % 4 === 0,
  killCount: KILLS_PER_HOME,
  countMax: index % 2 === 0 ? 5 : 20,
}));

it(`${KILLS_PER_HOME * HOMES} SIGKILLs under load lose nothing and start nothing twice`, async () => {
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
  expect(Object.values(kills).reduce((total, count) => total + count, 0)).toBe(KILLS_PER_HOME * HOMES);
  for (const point of faultPoints) expect(kills[point] ?? 0, point).toBeGreaterThanOrEqual(10);
  expect(kills["random"]).toBeGreaterThanOrEqual(100);
  expect(sum("growthCount")).toBeGreaterThan(50);
  expect(sum("shrinkCount")).toBeGreaterThan(10);
  expect(sum("digestCount")).toBeGreaterThan(100);
});
