/**
 * Bias and error of the model's predictions compared with a fleet's measured runs, by accelerator type and model
 * family.
 */
import {
  correctionFactor,
  fitCorrection,
  type CorrectionRun,
  type FleetCorrection,
  type ModelFamily,
} from "./fleet-correction.ts";

/** A measured run; lists start with the oldest. */
export interface FleetRun extends CorrectionRun {
  /** Id of the workload. All starts of a workload in one configuration count as one run. */
  readonly workload: string;
  readonly acceleratorCount: number;
  /** The user who submitted the workload. */
  readonly owner: string;
}

/**
 * Bias and error of the predictions for one accelerator type and model family. For the corrected figures, each run is
 * compared with a correction that was fitted to the other runs.
 */
export interface KindReport {
  readonly acceleratorType: string;
  readonly family: ModelFamily;
  readonly runCount: number;
  /** Factor by which predictions for this type and family are multiplied. */
  readonly factor: number;
  /** Mean of (measured ÷ predicted − 1). */
  readonly uncorrectedBias: number;
  readonly correctedBias: number;
  /** Mean of the absolute value of (predicted ÷ measured − 1). */
  readonly uncorrectedError: number;
  readonly correctedError: number;
}

export interface FleetReport {
  readonly correction: FleetCorrection;
  /** Reports sorted by accelerator type, then by family. */
  readonly kinds: readonly KindReport[];
}

/**
 * Maximum number of one user's runs that count for a type and family. It is a quarter of all runs that count, so that
 * no user alone decides the correction.
 */
export const ownerRunsMax = 64;
/**
 * Number of runs of a type and family whose predictions are compared with their measurements. The newest runs are
 * taken.
 */
const judgedMax = 64;

export function fleetReport(runs: readonly FleetRun[]): FleetReport {
  const counted = countedRuns(runs);
  const correction = fitCorrection(counted);
  const kinds = correction.types.flatMap(({ acceleratorType, families }) =>
    families.map(({ family }) => kindReport(counted, correction, acceleratorType, family)),
  );
  return { correction, kinds: kinds.toSorted(byKind) };
}

/**
 * The runs that count: the newest run of each configuration of a workload, and at most `ownerRunsMax` runs of one user
 * for each type and family.
 */
export function countedRuns(runs: readonly FleetRun[]): readonly FleetRun[] {
  const newest = new Map<string, FleetRun>();
  for (const run of runs) {
    const { predictedSeconds, measuredSeconds } = run;
    if (!(measuredSeconds / predictedSeconds > 0) || !Number.isFinite(measuredSeconds / predictedSeconds)) continue;
    const key = JSON.stringify([run.workload, run.acceleratorType, run.family, run.acceleratorCount]);
    newest.delete(key);
    newest.set(key, run);
  }
  const countOf = new Map<string, number>();
  const kept = [...newest.values()].toReversed().filter((run) => {
    const key = JSON.stringify([run.owner, run.acceleratorType, run.family]);
    const count = (countOf.get(key) ?? 0) + 1;
    countOf.set(key, count);
    return count <= ownerRunsMax;
  });
  return kept.toReversed();
}

function byKind(left: KindReport, right: KindReport): number {
  if (left.acceleratorType !== right.acceleratorType) return left.acceleratorType < right.acceleratorType ? -1 : 1;
  return left.family < right.family ? -1 : 1;
}

function kindReport(
  all: readonly FleetRun[],
  correction: FleetCorrection,
  acceleratorType: string,
  family: ModelFamily,
): KindReport {
  const { factor, runCount } = correctionFactor(correction, acceleratorType, family);
  const ofType = all.filter((run) => run.acceleratorType === acceleratorType);
  // The number of runs is limited, both of this family and of the type's other families, to bound the cost of fitting
  // without each run.
  const own = ofType.filter((run) => run.family === family).slice(-judgedMax);
  const others = ofType.filter((run) => run.family !== family).slice(-judgedMax);
  const sums = { uncorrectedBias: 0, correctedBias: 0, uncorrectedError: 0, correctedError: 0 };
  for (const [index, run] of own.entries()) {
    const fitted = fitCorrection([...others, ...own.filter((_, place) => place !== index)]);
    const ratio = run.measuredSeconds / run.predictedSeconds;
    const corrected = ratio / correctionFactor(fitted, acceleratorType, family).factor;
    sums.uncorrectedBias += ratio - 1;
    sums.correctedBias += corrected - 1;
    sums.uncorrectedError += Math.abs(1 / ratio - 1);
    sums.correctedError += Math.abs(1 / corrected - 1);
  }
  const share = Math.max(1, own.length);
  return {
    acceleratorType,
    family,
    runCount,
    factor,
    uncorrectedBias: sums.uncorrectedBias / share,
    correctedBias: sums.correctedBias / share,
    uncorrectedError: sums.uncorrectedError / share,
    correctedError: sums.correctedError / share,
  };
}

const families: readonly string[] = ["dense", "experts", "adapters"] satisfies readonly ModelFamily[];
/** Maximum number of types in a correction. A file with more types does not come from a fleet. */
const typesMax = 1_000;
/** Maximum logarithm of a factor. A correction by a factor of more than ten comes from faulty runs. */
const logFactorMax = Math.log(10);

/** Reads an exported correction from parsed JSON. Returns `undefined` if the value is not a correction. */
export function readFleetCorrection(value: unknown): FleetCorrection | undefined {
  if (!isRecord(value) || value["kind"] !== "fleet-correction" || value["version"] !== 1) return undefined;
  const { types } = value;
  if (!Array.isArray(types) || types.length > typesMax) return undefined;
  const areTypes = types.every(
    (type: unknown) =>
      isRecord(type) &&
      typeof type["acceleratorType"] === "string" &&
      isCorrected(type) &&
      Array.isArray(type["families"]) &&
      type["families"].length <= families.length &&
      type["families"].every(
        (family: unknown) => isRecord(family) && families.includes(String(family["family"])) && isCorrected(family),
      ),
  );
  if (!areTypes) return undefined;
  return { kind: "fleet-correction", version: 1, types: types as FleetCorrection["types"] };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function isCorrected({ runCount, logFactor }: Readonly<Record<string, unknown>>): boolean {
  return Number.isSafeInteger(runCount) && typeof logFactor === "number" && Math.abs(logFactor) <= logFactorMax;
}
