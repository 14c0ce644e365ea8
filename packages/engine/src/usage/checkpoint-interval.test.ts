import { describe, expect, it } from "vitest";
import { checkpointIntervalOn } from "./checkpoint-interval.ts";

const DAY_MS = 86_400_000;
const failures = (meanNodeMs: number) => ({ failureCount: 0, nodeMs: 0, meanNodeMs });

describe("the interval between checkpoints", () => {
  it("is Daly's: for 30 s of cost and a failure a day, 2,257 s", () => {
    expect(checkpointIntervalOn(failures(DAY_MS), { checkpointCostMs: 30_000 }, 1)).toMatchObject({
      everyMs: 2_257_000,
      failureMs: DAY_MS,
    });
  });

  it("takes 30 s of cost where nothing is declared, and shrinks with the number of nodes", () => {
    const on = (nodeCount: number): number => checkpointIntervalOn(failures(8 * DAY_MS), {}, nodeCount).everyMs;
    expect(on(8)).toBe(2_257_000);
    expect(on(1)).toBeGreaterThan(2 * on(8));
  });

  it("is never shorter than a checkpoint takes", () => {
    const cost = { checkpointCostMs: 600_000 };
    expect(checkpointIntervalOn(failures(60_000), cost, 1).everyMs).toBe(600_000);
  });
});
