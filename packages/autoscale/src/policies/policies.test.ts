import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tabulated, usualLimits } from "@headroom/perf";
import { seededDraw } from "@headroom/routing";
import { ReplicaCapacity } from "../capacity.ts";
import { bounded } from "../contract.ts";
import type { Autoscaler, EndpointSample } from "../contract.ts";
import { HpaScaler } from "./hpa.ts";
import { KpaScaler } from "./kpa.ts";
import { PlannerScaler } from "./planner.ts";
import { PredictiveScaler } from "./predictive.ts";
import { HeldNumbers } from "./held-numbers.ts";
import { ShadowEndpoints } from "./shadow-endpoints.ts";
import { SlidingMax } from "./sliding-max.ts";
import { periodOf } from "./season-search.ts";

const objectives = { ttftMs: 2000, tpotMs: 100 };
const costs = {
  tokensMs: tabulated(1024, (tokens) => 20 + tokens * 0.07),
  contextMs: 4e-5,
  pairMs: 2e-6,
  sampledMs: 0.01,
};
const capacity = new ReplicaCapacity(costs, { ...usualLimits, stepTokensMax: 1024, blockCount: 30_000 }, objectives);
const PROMPT_TOKENS = 1000;

const quiet: EndpointSample = {
  nowMs: 0,
  tickMs: 1000,
  ready: 1,
  starting: 0,
  arrivals: 0,
  arrivedPromptTokens: 0,
  ended: 0,
  endedOutputTokens: 0,
  inFlight: 0,
  waiting: 0,
  waitingPromptTokens: 0,
  met: 0,
  missed: 0,
  ttftMs: Number.NaN,
  coldStartMs: 60_000,
};

/** Asks the rule for `seconds` ticks, with replicas that start at once; returns the answers. */
function ask(
  scaler: Autoscaler,
  seconds: number,
  sampleAt: (second: number, replicas: number) => Partial<EndpointSample>,
): number[] {
  const answers: number[] = [];
  let replicas = 1;
  for (let second = 0; second < seconds; second += 1) {
    const sample = { ...quiet, nowMs: second * 1000, ready: replicas, ...sampleAt(second, replicas) };
    replicas = bounded(scaler.decide(sample).replicas, { min: 1, max: 16 });
    answers.push(replicas);
  }
  return answers;
}

const traffic = (requests: number): Partial<EndpointSample> => ({
  arrivals: requests,
  arrivedPromptTokens: requests * PROMPT_TOKENS,
  ended: requests,
  endedOutputTokens: requests * 200,
  met: requests,
  inFlight: requests * 6,
});

const rules = (): readonly Autoscaler[] => [
  new PredictiveScaler(capacity, objectives),
  new HpaScaler(8),
  new KpaScaler(8),
  new PlannerScaler(capacity, objectives),
];

describe("scaling rules", () => {
  it.each(rules().map(({ name }, index) => [name, index] as const))(
    "%s follows traffic up and down again",
    (_, index) => {
      const scaler = rules()[index];
      if (scaler === undefined) throw new Error("no such rule");
      const answers = ask(scaler, 5400, (second) => traffic(second > 600 && second < 1800 ? 40 : 2));
      expect(answers[500]).toBeLessThanOrEqual(3);
      const most = Math.max(...answers.slice(900, 1800));
      expect(most).toBeGreaterThanOrEqual(4);
      expect(answers.at(-1)).toBeLessThan(most);
    },
  );

  it("keep to bounds whatever they answer", () => {
    expect(bounded(Number.NaN, { min: 2, max: 5 })).toBe(2);
    expect(bounded(Infinity, { min: 2, max: 5 })).toBe(5);
    expect(bounded(2.1, { min: 0, max: 5 })).toBe(3);
  });
});

describe("Headroom's rule", () => {
  it("turns at most once in ten minutes at constant load", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: 1, max: 60 }), (seed, perS) => {
        const draw = seededDraw(seed);
        const uniform = (): number => (draw() + 1) / 4_294_967_297;
        const arrivals = (): number => {
          let count = 0;
          for (let product = uniform(); product > Math.exp(-perS); product *= uniform()) count += 1;
          return count;
        };
        const answers = ask(new PredictiveScaler(capacity, objectives), 5400, () => traffic(arrivals()));
        const turns: number[] = [];
        let direction = 0;
        for (let second = 1200; second < answers.length; second += 1) {
          const step = Math.sign((answers[second] ?? 0) - (answers[second - 1] ?? 0));
          if (step !== 0 && direction !== 0 && step !== direction) turns.push(second);
          if (step !== 0) direction = step;
        }
        for (const [index, second] of turns.entries()) expect(second - (turns[index - 2] ?? -1e9)).toBeGreaterThan(600);
      }),
      { numRuns: 8, seed: 1 },
    );
  });

  it("comes back to its number after metrics that were missing, not a number or contradictory", () => {
    const broken: readonly Partial<EndpointSample>[] = [
      { arrivals: Number.NaN, arrivedPromptTokens: Number.NaN },
      { ended: Number.NaN, endedOutputTokens: Infinity },
      { met: Number.NaN, missed: -5 },
      { waitingPromptTokens: Number.NaN, inFlight: -1 },
      { arrivals: 0, arrivedPromptTokens: 1e12 },
      { coldStartMs: Number.NaN },
    ];
    for (const fault of broken) {
      const answers = ask(new PredictiveScaler(capacity, objectives), 4500, (second) =>
        second >= 1000 && second < 1100 ? { ...traffic(12), ...fault } : traffic(12),
      );
      expect(
        answers.every((replicas) => replicas >= 1 && replicas <= 16),
        JSON.stringify(fault),
      ).toBe(true);
      expect(answers.at(-1), JSON.stringify(fault)).toBe(answers[990]);
    }
  });

  it("starts ahead of a pattern that it has seen", () => {
    const peak = (second: number): boolean => second % 3600 >= 3000;
    const answers = ask(new PredictiveScaler(capacity, objectives), 28_800, (second) => traffic(peak(second) ? 40 : 4));
    const enough = Math.max(...answers.slice(-3600));
    expect(answers[25_200 + 2999]).toBe(enough);
    expect(answers[25_200 + 2700]).toBeLessThan(enough);
  });

  it("keeps a constant number where bursts are shorter than a start and have no pattern", () => {
    const draw = seededDraw(3);
    const isBurst = Array.from({ length: 720 }, () => draw() % 10 === 0);
    const scaler = new PredictiveScaler(capacity, objectives);
    const answers = ask(scaler, 14_400, (second) => traffic(isBurst[Math.floor(second / 20)] === true ? 40 : 1));
    const late = answers.slice(-7200);
    expect(Math.min(...late)).toBe(Math.max(...late));
    expect(late[0]).toBeGreaterThanOrEqual(3);
  });
});

describe("the search for a period", () => {
  it("finds the length of a repeating load, and none in noise", () => {
    const draw = seededDraw(7);
    const noise = (): number => draw() / 4_294_967_296;
    const sine = Array.from({ length: 1000 }, (_, index) => Math.sin((2 * Math.PI * index) / 180) + 0.2 * noise());
    expect(Math.abs(periodOf(sine, 10) - 180)).toBeLessThanOrEqual(2);
    const day = Array.from({ length: 60_000 }, (_, index) => Math.sin((2 * Math.PI * index) / 17_280) + 0.2 * noise());
    expect(Math.abs(periodOf(day, 10) - 17_280)).toBeLessThanOrEqual(240);
    expect(periodOf(Array.from({ length: 1000 }, noise), 10)).toBe(0);
  });
});

describe("shadow endpoints", () => {
  it("measure late requests and cost of rules that do not decide", () => {
    const shadows = new ShadowEndpoints([1, 1, 2], 2);
    const wanted = Float64Array.from([1, 2, 2]);
    for (let second = 0; second < 600; second += 1) {
      if (second % 5 === 0) shadows.want(wanted, 12, 5);
      // 1.5 replicas' worth of work: one replica falls behind, and two do where the work is double.
      shadows.serve(1.5, 10, 1);
    }
    shadows.closeBlock(600);
    expect(shadows.lateShare(0, 0)).toBeGreaterThan(0.95);
    expect(shadows.lateShare(1, 0)).toBe(0);
    expect(shadows.lateShare(2, 0)).toBeGreaterThan(0.95);
    expect(shadows.cost(1)).toBeCloseTo(2 * shadows.cost(0), 0);
  });

  it("count no traffic from before the first numbers against a rule", () => {
    const shadows = new ShadowEndpoints([1], 2);
    for (let second = 0; second < 5; second += 1) shadows.serve(10, 10, 1);
    shadows.want(Float64Array.of(2), 12, 5);
    shadows.serve(1, 10, 1);
    shadows.closeBlock(6);
    expect(shadows.lateShare(0, 0)).toBe(0);
  });

  it("give a start its time, and start nothing that was given up meanwhile", () => {
    const shadows = new ShadowEndpoints([1], 2);
    const late = (wantedAt: (bin: number) => number): number => {
      const before = shadows.lateShare(0, 0) * shadows.requests;
      for (let bin = 0; bin < 12; bin += 1) {
        shadows.want(Float64Array.of(wantedAt(bin)), 4, 5);
        for (let second = 0; second < 5; second += 1) shadows.serve(bin < 4 ? 0.1 : 1.5, 1, 1);
      }
      shadows.closeBlock(60);
      return shadows.lateShare(0, 0) * shadows.requests - before;
    };
    late(() => 1);
    late(() => 1);
    const ahead = late(() => 2);
    for (let idle = 0; idle < 200; idle += 1) shadows.serve(0, 0, 1);
    const flapping = late((bin) => (bin % 2 === 0 ? 2 : 1));
    expect(flapping).toBeGreaterThan(ahead + 5);
  });
});

describe("held numbers", () => {
  const heldOver = (wanted: readonly number[]): readonly number[] => {
    const held = new HeldNumbers(1);
    return wanted.map((next) => {
      held.closeBin(Float64Array.of(next), 3, 6);
      return held.numbers[0] ?? 0;
    });
  };

  it("rise at once, and fall after the turn to the most of the hold", () => {
    expect(heldOver([3, 1, 1, 2, 1, 1, 1, 1])).toEqual([3, 3, 3, 3, 3, 3, 2, 2]);
  });

  it("fall again after the hold alone, and keep a number that is needed within it", () => {
    expect(heldOver([3, 1, 1, 1, 1, 1, 2, 1, 1, 1])).toEqual([3, 3, 3, 3, 3, 3, 2, 2, 2, 1]);
    expect(heldOver([2, 2, 2, 2, 2, 2, 2, 1, 1, 2, 1, 1, 1])).toEqual([2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1]);
  });
});

describe("the sliding maximum", () => {
  it("equals the maximum of the last values", () => {
    const draw = seededDraw(5);
    const values = Array.from({ length: 4000 }, () => draw() % 1000);
    const sliding = new SlidingMax(37);
    for (const [index, value] of values.entries())
      expect(sliding.add(value)).toBe(Math.max(...values.slice(Math.max(0, index - 36), index + 1)));
  });
});
