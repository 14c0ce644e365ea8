import { describe, expect, it } from "vitest";
import { throughputOf } from "./submission.ts";
import type { SubmissionCheck } from "./submission.ts";

/**
 * An answer of which the tests use only the scaling curve: tokens per second by number of workers. A worker has eight
 * accelerators.
 */
function answered(tokensPerS: Readonly<Record<number, number>>, withoutPlan: readonly number[] = []): SubmissionCheck {
  const points = Object.entries(tokensPerS).map(([workers, each]) => ({
    acceleratorCount: Number(workers) * 8,
    tokensPerS: each,
  }));
  const scaling = { kind: "strong", points, withoutPlan: withoutPlan.map((workers) => workers * 8), wall: undefined };
  return { acceleratorType: "H100", answer: { kind: "training", scaling } } as unknown as SubmissionCheck;
}
const asked = (minWorkers: number, workers: number) => ({ acceleratorsPerWorker: 8, minWorkers, workers });

describe("what each size of an elastic gang gets done", () => {
  it("is told against the smallest, as if that scaled", () => {
    expect(throughputOf(asked(2, 4), answered({ 2: 500, 3: 700, 4: 800 }))).toEqual([1000, 2000, 2800, 3200]);
  });

  it("is that of the largest below it with a plan, where it has none itself", () => {
    expect(throughputOf(asked(1, 4), answered({ 1: 100, 2: 190, 4: 350 }, [3]))).toEqual([1000, 1900, 1900, 3500]);
  });

  it("lies on the line between its neighbours where nobody looked", () => {
    expect(throughputOf(asked(2, 8), answered({ 2: 100, 4: 180, 8: 300 }))?.slice(3)).toEqual([
      3600, 4200, 4800, 5400, 6000,
    ]);
  });

  it("is not known of what cannot be checked, or does not run with its least", () => {
    const unchecked = { acceleratorType: "X", answer: { kind: "unchecked", reason: "" } } as const;
    expect(throughputOf(asked(1, 2), unchecked)).toBeNull();
    expect(throughputOf(asked(1, 2), answered({ 2: 100 }))).toBeNull();
  });
});
