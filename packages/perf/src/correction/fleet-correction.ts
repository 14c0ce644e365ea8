/**
 * Corrects the model's predictions with a fleet's own runs. The correction is a posterior of the ratio of measured to
 * predicted time, by accelerator type and model family. It shrinks towards 1: a few runs change predictions little, and
 * many runs change them fully. The code is pure; start with `fitCorrection`.
 */
import { expertLayerCount } from "../catalogue/model.ts";
import type { TrainingJob } from "../training/job.ts";

/** One run of the fleet: its measured typical step, and the prediction for its plan without correction. */
export interface CorrectionRun {
  readonly acceleratorType: string;
  readonly family: ModelFamily;
  readonly predictedSeconds: number;
  readonly measuredSeconds: number;
}

/** Model families. The prediction errors of the models in one family are assumed to be similar. */
export type ModelFamily = "dense" | "experts" | "adapters";

export function modelFamilyOf({ model, method }: TrainingJob): ModelFamily {
  if (method.kind === "lora") return "adapters";
  return expertLayerCount(model) > 0 ? "experts" : "dense";
}

/** Expected logarithm of the ratio of measured to predicted time, and the number of runs that it is based on. */
export interface FamilyCorrection {
  readonly family: ModelFamily;
  readonly runCount: number;
  /** Logarithm that is added to the logarithm of the accelerator type. */
  readonly logFactor: number;
}

export interface TypeCorrection {
  readonly acceleratorType: string;
  readonly runCount: number;
  readonly logFactor: number;
  readonly families: readonly FamilyCorrection[];
}

/** A correction as plain data, which can be written to a file, read again and applied in another place. */
export interface FleetCorrection {
  readonly kind: "fleet-correction";
  readonly version: 1;
  readonly types: readonly TypeCorrection[];
}

/**
 * Maximum number of runs of one type and family that count. Only the newest runs count, because older runs used older
 * software.
 */
export const correctionRunsMax = 256;

/**
 * Standard deviation of a run around the mean error of its type and family, in the natural logarithm. Measurements of
 * equal configurations differ by 5.6% between publications.
 */
const runSpread = 0.06;
/**
 * Residuals above this limit (1.345 σ, as in Huber's method) have bounded influence. An outlier therefore counts as one
 * run, however large it is.
 */
const voiceMax = 1.345 * runSpread;
/**
 * Variances of the two priors, in the natural logarithm: of the bias of an accelerator type, and of a family within its
 * type. With these values a single run shifts the prediction by at most `voiceMax × (sum of variances) / runSpread²` =
 * 2.9%, and twenty runs of one kind correct 88% of a true bias.
 */
const typeVariance = 0.0009;
const familyVariance = 0.000_38;

/**
 * Maximum number of rounds, in which the bias of a type and the biases of its families are computed in turn. The error
 * shrinks by a constant factor in each round; after this number of rounds less than a millionth of it remains.
 */
const roundsMax = 200;
const tolerance = 1e-9;

/** Usable runs by type and family, in the order in which they first appear. */
function grouped(runs: readonly CorrectionRun[]): Map<string, Map<ModelFamily, number[]>> {
  const types = new Map<string, Map<ModelFamily, number[]>>();
  for (const { acceleratorType, family, predictedSeconds, measuredSeconds } of runs) {
    const ratio = measuredSeconds / predictedSeconds;
    if (!(Number.isFinite(ratio) && ratio > 0)) continue;
    const families = types.get(acceleratorType) ?? new Map<ModelFamily, number[]>();
    types.set(acceleratorType, families);
    const logs = families.get(family) ?? [];
    families.set(family, logs);
    logs.push(Math.log(ratio));
    if (logs.length > correctionRunsMax) logs.shift();
  }
  return types;
}

/**
 * The mode of the posterior. The likelihood of the runs is Huber's (1964), and the priors on the bias of each type, and
 * of each family within its type, are normal. Runs with impossible times are ignored.
 */
export function fitCorrection(runs: readonly CorrectionRun[]): FleetCorrection {
  const types = [...grouped(runs)].map(([acceleratorType, families]) => typeCorrection(acceleratorType, families));
  return { kind: "fleet-correction", version: 1, types };
}

function typeCorrection(
  acceleratorType: string,
  families: ReadonlyMap<ModelFamily, readonly number[]>,
): TypeCorrection {
  const entries = [...families];
  let offset = 0;
  let offsets = entries.map(() => 0);
  for (let round = 0; round < roundsMax; round += 1) {
    const all = entries.flatMap(([, logs], index) => logs.map((log) => log - (offsets[index] ?? 0)));
    const next = shrunkCentre(all, typeVariance);
    const nextOffsets = entries.map(([, logs]) =>
      shrunkCentre(
        logs.map((log) => log - next),
        familyVariance,
      ),
    );
    const moved = Math.max(
      Math.abs(next - offset),
      ...nextOffsets.map((one, index) => Math.abs(one - (offsets[index] ?? 0))),
    );
    [offset, offsets] = [next, nextOffsets];
    if (moved < tolerance) break;
  }
  return {
    acceleratorType,
    runCount: entries.reduce((sum, [, logs]) => sum + logs.length, 0),
    logFactor: offset,
    families: entries.map(([family, logs], index) => ({
      family,
      runCount: logs.length,
      logFactor: offsets[index] ?? 0,
    })),
  };
}

/**
 * The point where the pull of the runs and the pull of the prior are equal: the root of a decreasing function, found by
 * bisection.
 */
function shrunkCentre(logs: readonly number[], variance: number): number {
  const precision = runSpread ** 2 / variance;
  const pull = (centre: number): number => {
    let sum = -precision * centre;
    for (const log of logs) sum += Math.min(voiceMax, Math.max(-voiceMax, log - centre));
    return sum;
  };
  let [low, high] = [Math.min(0, ...logs), Math.max(0, ...logs)];
  for (let step = 0; step < 60 && high - low > 1e-12; step += 1) {
    const middle = (low + high) / 2;
    if (pull(middle) > 0) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The factor by which a correction multiplies a prediction. */
export interface CorrectionFactor {
  readonly factor: number;
  /**
   * `runCount`: number of runs of the type and family that the factor is based on. `typeRunCount`: number of runs of
   * the type.
   */
  readonly runCount: number;
  readonly typeRunCount: number;
}

/**
 * The factor for a type and family. Without runs of this family it is the factor of the type, and without runs of the
 * type it is 1.
 */
export function correctionFactor(
  correction: FleetCorrection,
  acceleratorType: string,
  family: ModelFamily,
): CorrectionFactor {
  const type = correction.types.find((one) => one.acceleratorType === acceleratorType);
  if (type === undefined) return { factor: 1, runCount: 0, typeRunCount: 0 };
  const own = type.families.find((one) => one.family === family);
  return {
    factor: Math.exp(type.logFactor + (own?.logFactor ?? 0)),
    runCount: own?.runCount ?? 0,
    typeRunCount: type.runCount,
  };
}

/**
 * Mean absolute errors of predictions without correction and with it. Each run is compared with a correction that was
 * fitted to the other runs.
 */
export interface CorrectionEffect {
  readonly runCount: number;
  readonly uncorrectedError: number;
  readonly correctedError: number;
}

/** Measures the effect of a correction: each run is left out of the fit once and then predicted. */
export function correctionEffect(runs: readonly CorrectionRun[]): CorrectionEffect {
  let [uncorrected, corrected, runCount] = [0, 0, 0];
  for (const [index, run] of runs.entries()) {
    const ratio = run.predictedSeconds / run.measuredSeconds;
    if (!(Number.isFinite(ratio) && ratio > 0)) continue;
    const others = runs.filter((other, place) => place !== index && other.acceleratorType === run.acceleratorType);
    const { factor } = correctionFactor(fitCorrection(others), run.acceleratorType, run.family);
    runCount += 1;
    uncorrected += Math.abs(ratio - 1);
    corrected += Math.abs(ratio * factor - 1);
  }
  const share = Math.max(1, runCount);
  return { runCount, uncorrectedError: uncorrected / share, correctedError: corrected / share };
}
