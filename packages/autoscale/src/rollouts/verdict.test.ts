import { describe, expect, it } from "vitest";
import { detection, falseAlarms, usualMargins } from "./measure.ts";
import type { Moments, RevisionReading } from "./reading.ts";
import { noRegression } from "./trial.ts";
import { rolloutVerdict } from "./verdict.ts";

const reading = (changes: Partial<RevisionReading> = {}): RevisionReading => ({
  requests: 0,
  errors: 0,
  ttft: new Map(),
  tpot: new Map(),
  ...changes,
});
const around = (mean: number, count: number): Moments => ({
  count,
  sum: count * mean,
  sumOfSquares: count * (mean * mean + 0.04),
});

describe("the verdict on a canary", () => {
  it("is none without data on both sides, whatever one side did", () => {
    const busy = reading({ requests: 10_000, errors: 20 });
    expect(rolloutVerdict(reading(), busy, usualMargins).kind).toBe("unknown");
    expect(rolloutVerdict(busy, reading(), usualMargins).kind).toBe("unknown");
    expect(rolloutVerdict(reading({ requests: 30, errors: 30 }), reading(), usualMargins).kind).toBe("unknown");
    expect(rolloutVerdict(reading({ requests: 40 }), busy, usualMargins).kind).toBe("unknown");
    expect(rolloutVerdict(reading({ requests: 60 }), busy, usualMargins).kind).toBe("good");
  });

  it("condemns a canary that fails, after few requests", () => {
    const baseline = reading({ requests: 500, errors: 1 });
    expect(rolloutVerdict(reading({ requests: 10, errors: 10 }), baseline, usualMargins).kind).toBe("worse");
    expect(rolloutVerdict(reading({ requests: 60, errors: 4 }), baseline, usualMargins).kind).toBe("suspect");
    expect(rolloutVerdict(reading({ requests: 60, errors: 1 }), baseline, usualMargins).kind).toBe("good");
  });

  it("compares requests that are alike: a cold cache is no regression", () => {
    const baseline = reading({
      requests: 1_000,
      ttft: new Map([
        [4, around(3, 900)],
        [9, around(6, 100)],
      ]),
    });
    const cold = reading({ requests: 100, ttft: new Map([[9, around(6, 100)]]) });
    expect(rolloutVerdict(cold, baseline, usualMargins)).toMatchObject({ kind: "good" });
    const slow = reading({ requests: 100, ttft: new Map([[9, around(6.4, 100)]]) });
    expect(rolloutVerdict(slow, baseline, usualMargins).kind).toBe("worse");
    const unlike = reading({ requests: 100, ttft: new Map([[11, around(9, 100)]]) });
    expect(rolloutVerdict(unlike, baseline, usualMargins).kind).toBe("good");
  });

  describe("on scores of copied requests", () => {
    const margins = { errorRate: 0.01, ttft: null, tpot: null, quality: 0.05 };
    const scores = (mean: number, count: number): Moments => ({
      count,
      sum: count * mean,
      sumOfSquares: count * (mean * mean + 0.01),
    });
    const verdict = (mean: number, count: number): string =>
      rolloutVerdict(
        reading({ requests: 200, quality: scores(mean, count) }),
        reading({ requests: 1_000, quality: scores(0.9, count) }),
        margins,
      ).kind;

    it("condemns a revision whose answers are worse than accepted, and none whose answers are not", () => {
      expect(verdict(0.7, 100)).toBe("worse");
      expect(verdict(0.86, 2_000)).toBe("good");
      expect(verdict(0.95, 100)).toBe("good");
    });

    it("condemns at most one of a hundred revisions that are as good, however often it is looked at", () => {
      let state = 7;
      const uniform = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
      // Scores of a grader: mostly 1, some 0, alike for both answers to a request in three of four cases.
      const scoreOf = (): number => (uniform() < 0.8 ? 1 : 0);
      let condemned = 0;
      for (let rollout = 0; rollout < 400; rollout++) {
        const sums = [0, 0];
        for (let count = 1; count <= 1_000; count++) {
          const own = scoreOf();
          sums[0]! += own;
          sums[1]! += uniform() < 0.75 ? own : scoreOf();
          if (count % 20 > 0) continue;
          const [canary, baseline] = sums.map((sum) =>
            reading({ requests: count, quality: { count, sum, sumOfSquares: sum } }),
          );
          if (rolloutVerdict(canary!, baseline!, { ...margins, quality: 0 }).kind !== "worse") continue;
          condemned++;
          break;
        }
      }
      expect(condemned).toBeLessThanOrEqual(4);
    });

    it("is none without enough of them", () => {
      expect(verdict(0.7, 10)).toBe("unknown");
      expect(rolloutVerdict(reading({ requests: 200 }), reading({ requests: 200 }), margins).kind).toBe("unknown");
    });
  });

  it("looks only at the figures that have a margin", () => {
    const failing = reading({ requests: 100, errors: 90 });
    const baseline = reading({ requests: 100 });
    expect(rolloutVerdict(failing, baseline, { errorRate: null, ttft: 0.1, tpot: null, quality: null }).kind).toBe(
      "good",
    );
  });
});

// The full run: npm run validate:rollouts.
it("aborts at most 1% of rollouts without a regression, and finds regressions", () => {
  expect(falseAlarms(60, { requests: 600 })).toBeLessThanOrEqual(1);
  expect(falseAlarms(3, { requests: 600, isStratified: false })).toBe(3);
  const sample = { rollouts: 10, requests: 700 };
  expect(detection("errorRate", { ...noRegression, errorRate: 0.05 }, sample).found).toBeGreaterThanOrEqual(9);
  expect(detection("ttft", { ...noRegression, ttft: 1.2 }, sample).found).toBeGreaterThanOrEqual(9);
  expect(detection("tpot", { ...noRegression, tpot: 1.1 }, sample).found).toBeGreaterThanOrEqual(9);
});
