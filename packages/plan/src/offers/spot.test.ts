import { describe, expect, it } from "vitest";
import { runSpotJob, type SpotJob, type SpotPolicy } from "./spot-job.ts";
import { offlineOptimum } from "./spot-optimum.ts";
import { ExpectedCostPolicy } from "./spot-policy.ts";
import { spotSeries, type SpotRow, type SpotSeries } from "./spot-series.ts";
import { generatedSpotRows, type SpotWorld } from "./testing/generated-spot-series.ts";

const exact: SpotJob = { workHours: 4, deadlineHours: 6, restartHours: 0, checkpointHours: 0, noticeHours: 0 };

/** Hourly rows of one zone: a price, or `-` where spot capacity is not available. On demand costs 10. */
function hourly(text: string): SpotSeries {
  return spotSeries(
    text.split(" ").map((price, hour): SpotRow => ({
      timeMs: hour * 3_600_000,
      zone: "a",
      spotUsdPerHour: price === "-" ? 3 : Number(price),
      onDemandUsdPerHour: 10,
      isAvailable: price !== "-",
    })),
  );
}

/** Runs wherever spot capacity is available and stays in a zone as long as it can. */
const greedy: SpotPolicy = {
  decide({ series, step, place }) {
    const open = series.spot.map((prices, zone) => ({ zone, price: prices[step] ?? Number.POSITIVE_INFINITY }));
    const usable = open.filter(({ price }) => Number.isFinite(price)).toSorted((a, b) => a.price - b.price);
    const stay = usable.find(({ zone }) => zone === place);
    return { place: (stay ?? usable[0])?.zone ?? "none", checkpointEveryHours: 1 };
  },
};

describe("a job with a deadline on spot capacity", () => {
  it("pays the prices of the hours in which it runs", () => {
    const account = runSpotJob(hourly("3 - 2 2 4 -"), exact, greedy);
    expect(account).toMatchObject({ costUsd: 11, spotHours: 4, waitedHours: 1, preemptionCount: 1, isMissed: false });
  });

  it("moves to on-demand capacity when waiting longer would miss the deadline", () => {
    const account = runSpotJob(hourly("3 - - - - - -"), { ...exact, restartHours: 0.5 }, greedy);
    expect(account.isMissed).toBe(false);
    expect(account.finishedAtHours).toBeCloseTo(6, 9);
    expect(account.onDemandHours).toBeCloseTo(4, 9);
  });

  it("loses the work since the last checkpoint if the notice is too short for one", () => {
    const job = { ...exact, deadlineHours: 9, checkpointHours: 0.25 };
    const every = 0.5;
    const policy: SpotPolicy = { decide: (now) => ({ ...greedy.decide(now), checkpointEveryHours: every }) };
    const series = hourly("3 - 3 3 3 3 3 3 3");
    expect(runSpotJob(series, job, policy).lostHours).toBeCloseTo((2 / 3) % every, 9);
    expect(runSpotJob(series, { ...job, noticeHours: 0.25 }, policy).lostHours).toBe(0);
  });

  it("never uses spot capacity at the price of on-demand capacity or above", () => {
    expect(runSpotJob(hourly("12 10 11 10 10 10"), exact, greedy).spotHours).toBe(0);
  });

  it("knows no price before its time", () => {
    const job = { ...exact, workHours: 10, deadlineHours: 16 };
    const one = hourly("3 3 - 2 5 4 - 3 3 3 3 3 3 3 3 3");
    const other = hourly("3 3 - 2 5 4 - 3 - - - - - - - -");
    const places = (series: SpotSeries): unknown[] => {
      const policy = new ExpectedCostPolicy(series, job);
      const seen: unknown[] = [];
      runSpotJob(series, job, {
        decide(now) {
          const decision = policy.decide(now);
          if (now.step < 8) seen.push(decision);
          return decision;
        },
      });
      return seen;
    };
    expect(places(one)).toEqual(places(other));
  });
});

describe("the cost with perfect foresight", () => {
  it("equals the best of all choices, enumerated", () => {
    for (const prices of ["3 - 2 2 4 -", "9 3 - 3 9 1", "- - - - 2 2", "5 5 5 5 5 5"]) {
      const series = hourly(prices);
      for (const restartHours of [0, 0.5]) {
        const job = { ...exact, workHours: 3, restartHours };
        expect(offlineOptimum(series, job)).toBeCloseTo(enumerated(series, job), 6);
      }
    }
  });
});

/** Tries every place in every step; a run ends when its work is done. */
function enumerated(series: SpotSeries, job: SpotJob): number {
  const visit = (step: number, workLeft: number, place: string): number => {
    if (workLeft <= 1e-9) return 0;
    if (step === job.deadlineHours) return Number.POSITIVE_INFINITY;
    const on = (next: string, price: number): number => {
      const start = next === place ? 0 : job.restartHours;
      const working = Math.min(1 - start, workLeft);
      return price * (start + working) + visit(step + 1, workLeft - working, next);
    };
    const spot = series.spot[0]?.[step] ?? Number.POSITIVE_INFINITY;
    return Math.min(
      visit(step + 1, workLeft, "none"),
      on("on-demand", 10),
      Number.isFinite(spot) ? on("spot", spot) : Number.POSITIVE_INFINITY,
    );
  };
  return visit(0, job.workHours, "none");
}

describe("the policy by expected cost, on generated prices", () => {
  const world = { onDemandUsdPerHour: 10, spotRatio: 0.33, stepHours: 1, hours: 70 };
  const worlds: readonly Omit<SpotWorld, "seed">[] = [
    { ...world, zones: 1, upHours: 12, downHours: 4, priceSpread: 0.15 },
    { ...world, zones: 1, upHours: 5, downHours: 5, priceSpread: 0.1 },
    { ...world, zones: 3, upHours: 8, downHours: 6, priceSpread: 0.25 },
  ];

  it("keeps every deadline within 1.10 of perfect foresight on the mean, where greedy needs at least 1.2", () => {
    const job = {
      workHours: 40,
      deadlineHours: 56,
      restartHours: 1 / 12,
      checkpointHours: 10 / 3600,
      noticeHours: 30 / 3600,
    };
    const own: number[] = [];
    const others: number[] = [];
    for (const [index, each] of worlds.entries()) {
      for (let seed = 1; seed <= 2; seed += 1) {
        const series = spotSeries(generatedSpotRows({ ...each, seed: 100 * index + seed }));
        const account = runSpotJob(series, job, new ExpectedCostPolicy(series, job));
        const optimum = offlineOptimum(series, job);
        expect(account.isMissed, `world ${index}, seed ${seed}`).toBe(false);
        own.push(account.costUsd / optimum);
        others.push(runSpotJob(series, job, greedy).costUsd / optimum);
      }
    }
    const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(mean(others)).toBeGreaterThan(1.2);
    expect(mean(own)).toBeLessThan(1.1);
  });
});
