import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { presets, rulesOf } from "@headroom/model";
import type { Policy } from "@headroom/model";
import { PREDICTED_MS_MAX, correctedPrediction, predictedRun, runKindsOf } from "./run-times.ts";
import { spec } from "../../test/lab/make.ts";

const MINUTE_MS = 60_000;
const easy = presets.get("easy") as Policy;
const predicting = (predictFrom: number) =>
  rulesOf({ ...easy, backfill: { protectedStarts: 1, assumedWalltimeMs: 1000, predictFrom } });
const work = (name: string, changes: Parameters<typeof spec>[1] = {}) => ({ spec: spec(name, changes), actor: "ada" });

describe("kinds of work", () => {
  it("are alike where user, team, name and number of accelerators are, numbers at the end of the name aside", () => {
    const kind = runKindsOf(work("train-7b-12"))[0];
    expect(runKindsOf(work("train-7b-3"))[0]).toBe(kind);
    expect(runKindsOf(work("train-7b"))[0]).toBe(kind);
    expect(runKindsOf(work("train-70b-12"))[0]).not.toBe(kind);
    expect(runKindsOf(work("train-7b-12", { gang: { accelerators: 5 } }))[0]).not.toBe(kind);
    expect(runKindsOf({ ...work("train-7b-12"), actor: "bob" })[0]).not.toBe(kind);
  });
});

describe("what is predicted", () => {
  const [close, wide] = runKindsOf(work("a"));

  it("is the mean of the last of the closest kind of which enough ran, and never what a walltime says already", () => {
    const known = new Map([
      [close, [1, 400, 500]],
      [wide, [1, 400, 500, 30]],
    ]);
    expect(predictedRun(predicting(2), known, work("a"))).toEqual({ durationMs: 450, runs: 2 });
    expect(predictedRun(predicting(4), known, work("a"))).toEqual({ durationMs: 233, runs: 4 });
    expect(predictedRun(predicting(5), known, work("a"))).toBeNull();
    expect(predictedRun(predicting(2), known, work("a", { walltimeMs: 450 }))).toBeNull();
    expect(predictedRun(predicting(2), known, work("a", { walltimeMs: 451 }))?.durationMs).toBe(450);
    expect(predictedRun(rulesOf(easy), known, work("a"))).toBeNull();
  });

  it("is made longer beyond what has run, in larger and larger steps, up to the walltime", () => {
    const first = correctedPrediction(
      { durationMs: 10 * MINUTE_MS, runs: 2 },
      { ranMs: 10 * MINUTE_MS, walltimeMs: null },
    );
    expect(first).toEqual({ durationMs: 11 * MINUTE_MS, runs: 2, corrections: 1 });
    expect(correctedPrediction(first, { ranMs: 12 * MINUTE_MS, walltimeMs: null }).durationMs).toBe(16 * MINUTE_MS);
    expect(correctedPrediction(first, { ranMs: 12 * MINUTE_MS, walltimeMs: 14 * MINUTE_MS }).durationMs).toBe(
      14 * MINUTE_MS,
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e9 }),
        fc.integer({ min: 0, max: PREDICTED_MS_MAX - 1 }),
        (from, ranMs) => {
          const { durationMs, corrections = 0 } = correctedPrediction(
            { durationMs: from, runs: 1 },
            { ranMs, walltimeMs: null },
          );
          expect(durationMs > ranMs || durationMs === PREDICTED_MS_MAX).toBe(true);
          expect(corrections).toBeLessThan(25);
          expect(Number.isSafeInteger(durationMs)).toBe(true);
        },
      ),
    );
  });
});
