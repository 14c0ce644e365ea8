import { describe, expect, it } from "vitest";
import type { BlockedReason } from "../../contract/verdicts.ts";
import { canNeverStart } from "./never-starts.ts";

const limit = (acceleratorType: string, usedCount: number): BlockedReason => ({
  kind: "teamLimit",
  bound: "limit",
  team: "a",
  acceleratorType,
  resource: acceleratorType,
  limitCount: 4,
  usedCount,
  neededCount: usedCount === 0 ? 5 : 2,
});
const budget = (renewsAtMs: number | null): BlockedReason => ({
  kind: "budget",
  team: "a" as never,
  resource: "gpuHours",
  limit: 1,
  spent: 1,
  renewsAtMs,
});
const shortfall: BlockedReason = {
  kind: "acceleratorShortfall",
  acceleratorTypes: ["A"],
  neededCount: 2,
  freeCount: 1,
  fleetCount: 8,
};
const exceeds = (of: "type" | "nodeSelector"): BlockedReason => ({
  kind: "exceedsFleet",
  acceleratorTypes: ["A"],
  workers: 1,
  placeableWorkers: 0,
  neededCount: 1,
  fleetCount: 0,
  lack: { of },
});

describe("work can never start", () => {
  it.each<[string, BlockedReason[], boolean]>([
    ["if the empty fleet is too small", [exceeds("nodeSelector")], true],
    ["if no node has its type", [exceeds("type")], true],
    ["if it alone exceeds the limits on every type", [limit("A", 0), limit("B", 0)], true],
    ["not if one limit only is in use", [limit("A", 0), limit("B", 3)], false],
    ["not if another type is only occupied", [shortfall, limit("B", 0)], false],
    ["if a budget that never renews is used up", [budget(null)], true],
    ["not if the budget renews", [budget(5)], false],
  ])("%s", (_name, reasons, expected) => {
    expect(canNeverStart({ kind: "blocked", reasons, wakeOn: [] }, {})).toBe(expected);
  });

  it("except for a type that it waits for on request", () => {
    const waits = (reason: BlockedReason): boolean =>
      canNeverStart({ kind: "blocked", reasons: [reason], wakeOn: [] }, { waitForType: true });
    expect([waits(exceeds("type")), waits(exceeds("nodeSelector"))]).toEqual([false, true]);
  });

  it("is said of nothing that does not wait", () => {
    expect(canNeverStart({ kind: "notWaiting" }, {})).toBe(false);
  });
});
