import { describe, expect, it } from "vitest";
import { costChanges } from "./cost-changes.ts";
import type { CostTotal } from "./cost-report.ts";

function total(month: number, team: string, usd: number, hours: number): CostTotal {
  const microUsd = usd * 1_000_000;
  const none = { usedMicroUsd: 0, idleMicroUsd: 0, failedMicroUsd: 0, evictedMicroUsd: 0, lostMicroUsd: 0 };
  const rest = {
    unusedMicroUsd: 0,
    meteredMicroUsd: 0,
    usedHours: 0,
    kwh: 0,
    measuredKwh: 0,
    energyMicroUsd: 0,
    carbonGrams: 0,
  };
  return { periodStartMs: month, group: [team], microUsd, hours, ...none, ...rest };
}

describe("changes of cost", () => {
  it("compare the newest period with the one before it, the largest change first", () => {
    const found = costChanges([
      total(1, "a", 900, 300),
      total(2, "a", 100, 50),
      total(2, "b", 100, 50),
      total(3, "a", 150, 50),
      total(3, "c", 80, 40),
    ]);
    expect([found?.beforeMs, found?.periodMs]).toEqual([2, 3]);
    expect(found?.changes.map(({ group, beforeMicroUsd, microUsd }) => [group[0], beforeMicroUsd, microUsd])).toEqual([
      ["b", 100e6, 0],
      ["c", 0, 80e6],
      ["a", 100e6, 150e6],
    ]);
    expect(found?.changes[2]?.pricePart).toBeCloseTo(0.5, 9);
    expect(costChanges([total(1, "a", 1, 1)])).toBeUndefined();
  });
});
