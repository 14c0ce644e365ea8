/** What the measured runs of a fleet say about the model's predictions, by accelerator type and model family. */
import {
  correctionFactor,
  fitCorrection,
  type CorrectionRun,
  type FleetCorrection,
  type ModelFamily,
} from "./fleet-correction.ts";

/** A measured run, the oldest first in lists of them. */
export interface FleetRun extends CorrectionRun {
  /** Runs of one workload in one configuration are one run, however often it started. */
  readonly workload: string;
  readonly acceleratorCount: number;
  /** Of the person who submitted it. */
  readonly owner: string;
}

/** Bias and error of the predictions of a kind; corrected figures judge each run by the other runs. */
export interface KindReport {
  readonly acceleratorType: string;
  readonly family: ModelFamily;
  readonly runCount: number;
  /** By which predictions of this kind are multiplied. */
  readonly factor: number;
  /** Mean of measured ÷ predicted − 1. */
  readonly uncorrectedBias: number;
  readonly correctedBias: number;
  /** Mean of |predicted ÷ measured − 1|. */
  readonly uncorrectedError: number;
  readonly correctedError: number;
}

export interface FleetReport {
  readonly correction: FleetCorrection;
  /** In the order of type and family. */
  readonly kinds: readonly KindReport[];
}

/** Runs of one person that count for a kind: a quarter of what the kind keeps, so that nobody alone decides for all. */
export const ownerRunsMax = 64;
/** Newest runs of a kind that are judged by the others. */
const judgedMax = 64;

export function fleetReport(runs: readonly FleetRun[]): FleetReport {
  const counted = countedRuns(runs);
  const correction = fitCorrection(counted);
  const kinds = correction.types.flatMap(({ acceleratorType, families }) =>
    families.map(({ family }) => kindReport(counted, correction, acceleratorType, family)),
  );
  return { correction, kinds: kinds.toSorted(byKind) };
}

/** One run for each configuration of a workload, its newest; of one person at most `ownerRunsMax` of a kind. */
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
  // The judged runs and as many of the type's other families keep the cost of the refits bounded.
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
/** More types or runs than any fleet has are not a correction that a fleet wrote. */
const typesMax = 1_000;
/** A correction beyond a factor of ten is a mistake of the runs behind it. */
const logFactorMax = Math.log(10);

/** Reads an exported correction from parsed JSON; `undefined`: it is none. */
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
