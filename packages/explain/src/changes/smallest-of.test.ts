/** The order in which values of a kind are tried, and values that are skipped. */
import { describe, expect, it } from "vitest";
import type { WouldStart } from "./change.ts";
import type { Outcome } from "./counterfactuals.ts";
import { smallestOf } from "./smallest-of.ts";
import type { ValueRange } from "./values.ts";

const start: WouldStart = { acceleratorType: "H100", nodes: [], atOnce: true, displaced: [] };

interface Case {
  readonly values: number;
  readonly isMonotone: boolean;
  readonly first: number;
  /** Whether the workload starts with this value. */
  readonly startsWith: (count: number) => boolean;
  readonly beyond?: (index: number, missing: number) => number;
  readonly alone?: number;
}

function smallest({ values: count, isMonotone, first, startsWith, beyond, alone }: Case) {
  const simulated: number[] = [];
  const range: ValueRange = { count, isMonotone, ...(alone === undefined ? {} : { alone }), scope: 64 };
  const tries = (index: number): Outcome => {
    simulated.push(index + 1);
    return startsWith(index + 1) ? { start, missing: 0 } : { start: null, missing: 150 - (index + 1) };
  };
  const found = smallestOf(range, first, tries, beyond);
  return { simulated, found: found === null ? null : found.index + 1 };
}

describe("the smallest of a kind", () => {
  const all = (index: number, missing: number): number => index + missing;

  it("is looked for one by one among the first, whatever was missing", () => {
    const { simulated, found } = smallest({
      values: 20,
      isMonotone: false,
      first: 0,
      startsWith: (count) => count === 5,
      beyond: all,
    });
    expect(simulated).toEqual([1, 2, 3, 4, 5]);
    expect(found).toBe(5);
  });

  it("is found by ever larger steps and then by halving, farther out", () => {
    const { simulated, found } = smallest({
      values: 400,
      isMonotone: false,
      first: 99,
      startsWith: (count) => count >= 110,
    });
    expect(simulated.slice(0, 3)).toEqual([100, 104, 120]);
    expect(found).toBe(110);
  });

  it("is found in a step as long as what was missing, among all that were stepped over", () => {
    const farther: Case = {
      values: 400,
      isMonotone: false,
      first: 99,
      startsWith: (count) => count >= 150,
      beyond: all,
    };
    const { simulated, found } = smallest(farther);
    expect(simulated.slice(0, 2)).toEqual([100, 150]);
    expect(found).toBe(150);
    expect(smallest({ ...farther, startsWith: (count) => count >= 103 }).found).toBe(103);
  });

  it("is none only where the largest that is in reach does not start it either, whatever was missing", () => {
    const never: Case = { values: 400, isMonotone: false, first: 99, startsWith: () => false, beyond: () => 400 };
    expect(smallest(never)).toEqual({ simulated: [100, 163], found: null });
    expect(smallest({ ...never, isMonotone: true, values: 50, first: 3 })).toEqual({ simulated: [4, 50], found: null });
  });

  it("is looked for beyond what would do alone only where that does not start it, and there one by one at first", () => {
    const ahead: Case = { values: 40, isMonotone: true, first: 2, alone: 20, startsWith: (count) => count >= 12 };
    expect(smallest(ahead).found).toBe(12);
    expect(smallest(ahead).simulated.every((count) => count <= 20)).toBe(true);
    expect(smallest({ ...ahead, startsWith: (count) => count === 23 || count >= 30 })).toEqual({
      simulated: [3, 20, 40, 21, 22, 23],
      found: 23,
    });
    expect(smallest({ ...ahead, startsWith: () => false })).toEqual({ simulated: [3, 20, 40], found: null });
  });
});
