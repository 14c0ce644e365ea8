import { describe, expect, it } from "vitest";
import {
  correctionEffect,
  correctionFactor,
  correctionRunsMax,
  fitCorrection,
  type CorrectionRun,
  type FleetCorrection,
  type ModelFamily,
} from "./fleet-correction.ts";
import { slowRunOf, type SlowRun, type StepParts } from "./slow-runs.ts";

/** Draws uniform and normal random numbers from a seed (mulberry32, Box-Muller). */
function drawsOf(seed: number): { uniform: () => number; normal: () => number } {
  let state = seed >>> 0;
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}

const types = ["H100", "B200", "MI300X", "A100"];
const families: readonly ModelFamily[] = ["dense", "experts"];

interface Fleet {
  readonly draw: () => CorrectionRun;
  readonly truth: (run: CorrectionRun) => number;
}

/**
 * A fleet whose accelerator types are 10 to 30% faster or slower than predicted. Model families differ a little, and
 * each run has noise.
 */
function fleetOf(seed: number, noise = 0.04): Fleet {
  const { uniform, normal } = drawsOf(seed);
  const typeBias = new Map(types.map((type) => [type, (uniform() < 0.5 ? -1 : 1) * Math.log(1.1 + 0.2 * uniform())]));
  const familyBias = new Map(types.flatMap((type) => families.map((family) => [`${type} ${family}`, 0.02 * normal()])));
  const biasOf = ({ acceleratorType, family }: Pick<CorrectionRun, "acceleratorType" | "family">): number =>
    (typeBias.get(acceleratorType) ?? 0) + (familyBias.get(`${acceleratorType} ${family}`) ?? 0);
  const draw = (): CorrectionRun => {
    const acceleratorType = types[Math.floor(uniform() * types.length)] ?? "H100";
    const family = families[Math.floor(uniform() * families.length)] ?? "dense";
    const predictedSeconds = Math.exp(2 * normal());
    const log = biasOf({ acceleratorType, family }) + noise * normal();
    return { acceleratorType, family, predictedSeconds, measuredSeconds: predictedSeconds * Math.exp(log) };
  };
  return { draw, truth: (run) => run.predictedSeconds * Math.exp(biasOf(run)) };
}

const seeds = Array.from({ length: 200 }, (_, index) => index + 1);

/** Mean absolute errors of the predictions for all kinds of runs in a fleet, compared with the true times. */
function errorsOf(fleet: Fleet, runs: readonly CorrectionRun[]): { readonly before: number; readonly after: number } {
  const correction = fitCorrection(runs);
  let [before, after] = [0, 0];
  for (const acceleratorType of types) {
    for (const family of families) {
      const run = { acceleratorType, family, predictedSeconds: 1, measuredSeconds: 1 };
      const { factor } = correctionFactor(correction, acceleratorType, family);
      before += Math.abs(1 / fleet.truth(run) - 1);
      after += Math.abs(factor / fleet.truth(run) - 1);
    }
  }
  const kinds = types.length * families.length;
  return { before: before / kinds, after: after / kinds };
}

/** Largest relative change in the prediction for any kind of run, from one correction to another. */
function largestShift(before: FleetCorrection, after: FleetCorrection): number {
  const shifts = types.flatMap((type) =>
    families.map((family) => {
      const { factor } = correctionFactor(before, type, family);
      return Math.abs(correctionFactor(after, type, family).factor / factor - 1);
    }),
  );
  return Math.max(...shifts);
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe("the correction by a fleet's own runs", () => {
  it("halves the error of a type after twenty runs of it, over simulated fleets with a bias of 10 to 30%", () => {
    const kept = seeds.map((seed) => {
      const fleet = fleetOf(seed);
      const runs: CorrectionRun[] = [];
      while (runs.length < 20) {
        const run = fleet.draw();
        if (run.acceleratorType === "H100") runs.push(run);
      }
      const correction = fitCorrection(runs);
      const errors = families.map((family) => {
        const run = { acceleratorType: "H100", family, predictedSeconds: 1, measuredSeconds: 1 };
        const { factor } = correctionFactor(correction, "H100", family);
        return [Math.abs(1 / fleet.truth(run) - 1), Math.abs(factor / fleet.truth(run) - 1)] as const;
      });
      return mean(errors.map(([, after]) => after)) / mean(errors.map(([before]) => before));
    });
    expect(mean(kept)).toBeLessThan(0.35);
    expect(kept.filter((share) => share > 0.5).length / seeds.length).toBeLessThan(0.02);
  });

  it("halves the mean error over a fleet of four types after twenty runs among all of them", () => {
    const errors = seeds.map((seed) => {
      const fleet = fleetOf(seed);
      return errorsOf(fleet, Array.from({ length: 20 }, fleet.draw));
    });
    const [before, after] = [mean(errors.map((one) => one.before)), mean(errors.map((one) => one.after))];
    expect(after / before).toBeLessThan(0.5);
  });

  it.each([0.02, 0.04, 0.08])(
    "never leaves the mean error half a point above the uncorrected one, noise %d",
    (noise) => {
      for (let count = 0; count <= 80; count += 5) {
        const errors = seeds.slice(0, 60).map((seed) => {
          const fleet = fleetOf(seed, noise);
          return errorsOf(fleet, Array.from({ length: count }, fleet.draw));
        });
        expect(mean(errors.map(({ after }) => after))).toBeLessThan(mean(errors.map(({ before }) => before)) + 0.005);
      }
    },
  );

  it("leaves predictions that were right within a point of right", () => {
    const { normal } = drawsOf(7);
    for (let count = 1; count <= 64; count *= 2) {
      const shifts = seeds.map(() => {
        const runs = Array.from({ length: count }, () => runOf(Math.exp(0.04 * normal())));
        return Math.abs(correctionFactor(fitCorrection(runs), "H100", "dense").factor - 1);
      });
      expect(mean(shifts)).toBeLessThan(0.01);
    }
  });

  it("lets one wild run move no prediction by more than 3%, whatever was measured before", () => {
    for (const seed of seeds.slice(0, 30)) {
      const fleet = fleetOf(seed);
      for (const count of [0, 1, 2, 5, 20, 100]) {
        const runs = Array.from({ length: count }, fleet.draw);
        for (const ratio of [1e-6, 0.1, 3, 100, 1e9]) {
          expect(largestShift(fitCorrection(runs), fitCorrection([...runs, runOf(ratio)]))).toBeLessThanOrEqual(0.03);
        }
      }
    }
  });

  it("passes from a type to a family without runs of its own, and not to other types", () => {
    const correction = fitCorrection(Array.from({ length: 20 }, () => runOf(1.25)));
    const own = correctionFactor(correction, "H100", "dense");
    const sibling = correctionFactor(correction, "H100", "experts");
    expect(own.factor).toBeGreaterThan(1.18);
    expect(sibling.factor).toBeGreaterThan(1.1);
    expect(sibling.factor).toBeLessThan(own.factor);
    expect([own.runCount, sibling.runCount, sibling.typeRunCount]).toEqual([20, 0, 20]);
    expect(correctionFactor(correction, "B200", "dense").factor).toBe(1);
  });

  it("is plain data that survives being written down, ignores impossible times and bounds what it keeps", () => {
    const runs = [runOf(1.2), runOf(Number.NaN), runOf(0), runOf(-1), runOf(1.1)];
    const correction = fitCorrection(runs);
    expect(JSON.parse(JSON.stringify(correction))).toEqual(correction);
    expect(correction.types.map(({ runCount }) => runCount)).toEqual([2]);
    const many = fitCorrection(Array.from({ length: 2 * correctionRunsMax }, () => runOf(1.1)));
    expect(many.types[0]?.runCount).toBe(correctionRunsMax);
  });

  it("says what it does to the error, with each run judged by the others", () => {
    const { normal } = drawsOf(11);
    const runs = Array.from({ length: 20 }, () => runOf(1.2 * Math.exp(0.03 * normal())));
    const { runCount, uncorrectedError, correctedError } = correctionEffect(runs);
    expect(runCount).toBe(20);
    expect(correctedError).toBeLessThan(uncorrectedError / 2);
    expect(correctionEffect([])).toEqual({ runCount: 0, uncorrectedError: 0, correctedError: 0 });
  });
});

describe("a slow run", () => {
  const correction = fitCorrection(Array.from({ length: 20 }, () => runOf(1.2)));

  const predicted = { compute: 0.75, network: 0.25, storage: 0 };
  const causeOf = (reported: Partial<StepParts>, idleShare?: number, parts = predicted): SlowRun | undefined =>
    slowRunOf(runOf(1.8), correction, { predicted: parts, observed: { reported, idleShare } });

  it("is measured against its kind", () => {
    expect(slowRunOf(runOf(1.25), correction)).toBeUndefined();
    expect(slowRunOf(runOf(1.6), correction)).toMatchObject({ missing: ["compute", "network", "storage"] });
    expect(slowRunOf(runOf(1.6), correction)?.excessShare).toBeGreaterThan(0.15);
  });

  it("has the component that the run reports, or that the others leave, as its cause", () => {
    expect(causeOf({ network: 0.8 })).toMatchObject({ responsible: "network", ground: "reported" });
    expect(causeOf({ compute: 1.4, network: 0.3 })).toMatchObject({ responsible: "compute", ground: "reported" });
    expect(causeOf({ compute: 0.9, network: 0.3 })).toMatchObject({ responsible: "storage", ground: "rest" });
    expect(causeOf({ network: 0.3, storage: 0 })).toMatchObject({ responsible: "compute", ground: "rest" });
    expect(causeOf({ compute: 1.1, network: 0.45, storage: 0.2 })).toMatchObject({ responsible: "compute" });
  });

  it("has storage as its cause if idle accelerators explain it, and compute if one accelerator is busy", () => {
    expect(causeOf({}, 0.4)).toMatchObject({ responsible: "storage", ground: "idle" });
    expect(causeOf({ network: 0.3 }, 0.05)).toMatchObject({ responsible: "compute", ground: "rest" });
    const alone = { compute: 1, network: 0, storage: 0 };
    expect(causeOf({}, 0.02, alone)).toMatchObject({ responsible: "compute", ground: "rest" });
    expect(causeOf({}, 0.4, alone)).toMatchObject({ responsible: "storage", ground: "idle" });
  });

  it("has no cause if what the run reports cannot tell the components apart, and says what would", () => {
    const unknown = { responsible: undefined, ground: undefined };
    expect(causeOf({})).toEqual(expect.objectContaining({ ...unknown, missing: ["compute", "network", "storage"] }));
    // Accelerators that report use can either compute or wait for each other, so the two components cannot be
    // separated.
    expect(causeOf({}, 0.02)).toMatchObject({ ...unknown, missing: ["compute", "network"] });
    // Compute takes the predicted time, so the excess is in the network or in storage.
    expect(causeOf({ compute: 0.9 })).toMatchObject({ ...unknown, missing: ["network", "storage"] });
    expect(causeOf({ compute: 0.9, network: 0.3, storage: 0 })).toMatchObject({ ...unknown, missing: [] });
  });
});

function runOf(ratio: number): CorrectionRun {
  return { acceleratorType: "H100", family: "dense", predictedSeconds: 1, measuredSeconds: ratio };
}
