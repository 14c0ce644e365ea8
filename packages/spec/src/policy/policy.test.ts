import { describe, expect, it } from "vitest";
import { policy } from "./policy.ts";

const least = {
  name: "mine",
  order: ["priority"],
  whenHeadBlocked: "skip",
  placement: "pack",
  exceedsFleet: "hold",
};
const teams = {
  order: [],

  nonPreemptible: "limit",

  usageHalfLifeMs: null,
};
const faults = (changes: object): string[] =>
  policy
    .safeParse({ ...least, ...changes })
    .error?.issues.map(({ path, message }) => `${path.join(".")}: ${message}`) ?? [];

describe("a policy", () => {
  it("may leave whole sections out, and says nothing of them then", () => {
    expect(policy.parse(least)).toEqual(least);
    expect(faults({ teams })).toEqual([]);
  });

  it("is refused where nothing would come of a knob", () => {
    const forgetful = { ...teams, usageHalfLifeMs: 86_400_000 };
    expect(faults({ teams: forgetful })).toEqual([]);
    expect(faults({ teams: forgetful, phases: ["rebalance"] })).toEqual([
      "teams.usageHalfLifeMs: must be null together with the phase rebalance, which uses current usage only",
    ]);
  });

  it("is refused where it starts nothing, or moves work without bounds", () => {
    expect(faults({ phases: ["preempt", "grow"] })).toEqual([
      "phases: must contain place or rebalance, because otherwise no work would ever start",
    ]);
    expect(faults({ phases: [] })).toHaveLength(1);
    const bounds = { migrationsPerHour: 1, lossPerPairMs: 0 };
    expect(faults({ phases: ["place", "defragment"], defragment: bounds })).toEqual([]);
    expect(faults({ phases: ["place", "defragment"] })).toEqual(["defragment: must be given for the phase defragment"]);
  });

  it("is refused with a key twice, or half a section", () => {
    expect(faults({ phases: ["place", "place"] })).toEqual(["phases: must not name a key twice"]);
    expect(faults({ backfill: { predictFrom: 1 } })).toHaveLength(2);
  });
});
