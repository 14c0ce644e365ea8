import { describe, expect, it } from "vitest";
import { uniformDraws } from "../spares/uniform-draws.ts";
import { bottleneckOf, type RunMeasurements } from "./bottleneck.ts";
import { StragglerWatch, type RankStepTime } from "./straggler-watch.ts";

const RANKS = 8;
const ranks = Array.from({ length: RANKS }, (_, rank) => rank);

/** Times of a step with a percent of noise; rank 3 is slower from step 30 on. */
function timesOf(step: number, draw: () => number): RankStepTime[] {
  return Array.from({ length: RANKS }, (_, rank) => [
    step,
    rank,
    (rank === 3 && step >= 30 ? 1.24 : 1) * (1 + 0.01 * (draw() - 0.5)),
  ]);
}

describe("the ranks of a gang", () => {
  it("are named within three slow steps, whatever the order in which files are read", () => {
    const draw = uniformDraws(7);
    const watch = new StragglerWatch(ranks);
    for (let step = 0; step < 32; step += 2) {
      const both = [...timesOf(step, draw), ...timesOf(step + 1, draw)];
      watch.take(both.filter(([, rank]) => rank >= 4));
      watch.take(both.filter(([, rank]) => rank < 4));
    }
    expect(watch.stragglers?.ranks).toEqual([]);
    const found = watch.take(timesOf(32, draw));
    expect(found).toMatchObject({ step: 32, comparedRanks: RANKS, ranks: [{ rank: 3, sinceStep: 30 }] });
    expect(found?.ranks[0]?.slowerPercent).toBeCloseTo(24, -1);
  });

  it("are named with the part of the step that is slow, where they state parts", () => {
    const draw = uniformDraws(9);
    const watch = new StragglerWatch(ranks);
    for (let step = 0; step < 60; step++)
      watch.take(
        ranks.map((rank): RankStepTime => {
          const noisy = (seconds: number): number => seconds * (1 + 0.01 * (draw() - 0.5));
          const parts = {
            compute: noisy(0.7),
            input: noisy(rank === 5 && step >= 30 ? 0.12 : 0.1),
            small: 0.001 + draw(),
          };
          return [step, rank, parts.compute + parts.input, rank === 5 ? { ...parts, own: 1 } : parts];
        }),
      );
    expect(watch.stragglers?.ranks).toEqual([
      {
        rank: 5,
        slowerPercent: expect.closeTo(2.5, 0),
        sinceStep: 30,
        part: { name: "input", slowerPercent: expect.closeTo(20, 0) },
      },
    ]);
  });

  it("recover, and are compared without ranks that do not report", () => {
    const draw = uniformDraws(3);
    const watch = new StragglerWatch(ranks);
    for (let step = 0; step < 260; step++) watch.take(timesOf(step, draw).filter(([, rank]) => rank !== 6));
    expect(watch.stragglers).toMatchObject({
      step: 259,
      comparedRanks: RANKS - 1,
      ranks: [{ rank: 3, sinceStep: 30 }],
    });
    for (let step = 260; step < 300; step++)
      watch.take(Array.from({ length: RANKS }, (_, rank) => [step, rank, 1 + 0.01 * (draw() - 0.5)]));
    // Rank 6 reports again, and is compared from the second step on.
    expect(watch.stragglers).toMatchObject({ step: 299, comparedRanks: RANKS, ranks: [] });
  });

  it("are compared in order if one is far ahead of the others", () => {
    const draw = uniformDraws(5);
    const watch = new StragglerWatch(ranks);
    const all = Array.from({ length: 100 }, (_, step) => timesOf(step, draw)).flat();
    for (let rank = 0; rank < RANKS; rank++) watch.take(all.filter(([, of]) => of === rank));
    expect(watch.stragglers).toMatchObject({ step: 99, comparedRanks: RANKS, ranks: [{ rank: 3, sinceStep: 30 }] });
  });

  it("are compared again when most of them go back to an earlier step", () => {
    const draw = uniformDraws(11);
    const watch = new StragglerWatch(ranks);
    for (let step = 0; step < 60; step++) watch.take(timesOf(step, draw));
    expect(watch.stragglers).toMatchObject({ step: 59, ranks: [{ rank: 3 }] });
    watch.take(timesOf(20, draw));
    expect(watch.stragglers).toMatchObject({ step: 20, comparedRanks: RANKS, ranks: [] });
    // One late rank is no return.
    watch.take([[20, 1, 1]]);
    for (let step = 21; step < 40; step++) watch.take(timesOf(step, draw));
    expect(watch.stragglers).toMatchObject({ step: 39, ranks: [{ rank: 3, sinceStep: 30 }] });
  });

  it("are compared in spite of a far-off step of one of them", () => {
    const draw = uniformDraws(13);
    const watch = new StragglerWatch(ranks);
    for (let step = 0; step < 400; step++) {
      const times = timesOf(step, draw).filter(([, rank]) => rank !== 6);
      watch.take(step === 1 ? [[1_000_000_000, 1, 1], [0, 1, 1], ...times] : times);
    }
    expect(watch.stragglers).toMatchObject({ step: 399, comparedRanks: RANKS - 1, ranks: [{ rank: 3 }] });
  });

  it("keep their numbers when one of the gang is missing", () => {
    const draw = uniformDraws(17);
    const watch = new StragglerWatch(ranks.filter((rank) => rank !== 1));
    for (let step = 0; step < 40; step++) watch.take(timesOf(step, draw));
    expect(watch.stragglers).toMatchObject({ step: 39, comparedRanks: RANKS - 1, ranks: [{ rank: 3 }] });
  });

  it("cannot be made to fill memory, or to name ranks that do not exist", () => {
    const watch = new StragglerWatch(ranks.slice(0, 4));
    for (let step = 0; step < 5_000; step++)
      watch.take([
        [step, 99, 1],
        [step, step % 4, 1],
        [1, 0, Number.NaN],
      ]);
    expect(watch.stragglers).toMatchObject({ comparedRanks: 1, ranks: [] });
  });
});

describe("the bottleneck of a run", () => {
  const nothing: RunMeasurements = {
    stepSeconds: null,
    compute: null,
    network: null,
    storage: null,
    idleShare: null,
    tensorPercent: null,
    dramPercent: null,
  };
  it.each([
    ["nothing is measured", {}, null],
    ["the largest part", { stepSeconds: 1, compute: 0.3, network: 0.6, storage: 0.1 }, "network"],
    ["a part larger than the rest of the step", { stepSeconds: 1, storage: 0.6 }, "io"],
    ["not a part that the unknown rest may exceed", { stepSeconds: 1, storage: 0.4 }, null],
    [
      "computation, if memory is known",
      { stepSeconds: 1, compute: 0.9, tensorPercent: 60, dramPercent: 40 },
      "compute",
    ],
    ["memory", { stepSeconds: 1, compute: 0.9, tensorPercent: 20, dramPercent: 80 }, "memory"],
    ["one of both without counters", { stepSeconds: 1, compute: 0.9 }, "computeOrMemory"],
    ["idle accelerators", { idleShare: 0.5 }, "io"],
    ["counters alone", { tensorPercent: 12, dramPercent: 71 }, "memory"],
    ["not low counters", { tensorPercent: 12, dramPercent: 21 }, null],
  ])("is %s", (_, measured, bound) => {
    expect(bottleneckOf({ ...nothing, ...measured })?.bound ?? null).toBe(bound);
  });
});
