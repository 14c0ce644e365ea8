/**
 * Predicts attempts of workloads with a declared model, measures them by their reports, and corrects predictions by all
 * measurements.
 */
import {
  correctionFactor,
  countedRuns,
  fitCorrection,
  fleetReport,
  knownParts,
  measuredStepOf,
  partMetrics,
  predictRun,
  scaledParts,
  slowRunOf,
  type FleetReport,
  type FleetRun,
  type ObservedParts,
  type RunPrediction,
  type StepParts,
} from "@headroom/perf";
import type { FleetPredictions, MeasuredRun, WorkloadPredictions } from "@headroom/protocol";
import type {
  MeasuredRunAnswer,
  MeasuredRunRequest,
  MeasuredRunThreadData,
  ObservedAttempt,
  OwnedRun,
} from "./measured-run-messages.ts";
import { MeasuredRunStore, type StoredAttempt } from "./measured-run-store.ts";

/** Maximum number of attempts shown, for a workload and for the fleet. */
const SHOWN_OF_WORKLOAD_MAX = 100;
const SHOWN_OF_FLEET_MAX = 200;
/**
 * Number of slow measurements in a row before the owner is notified: a single one can fall into an evaluation or a
 * checkpoint.
 */
const SLOW_LOOKS_MIN = 2;

type PartOfAnswer = Omit<MeasuredRunAnswer, "correction" | "problems">;
type PredictedAttempt = StoredAttempt & { readonly prediction: RunPrediction };
type MeasuredAttempt = PredictedAttempt & { readonly measured: NonNullable<StoredAttempt["measured"]> };

export class MeasuredRuns {
  readonly #store: MeasuredRunStore;
  readonly #windowMinMs: number;
  #report: FleetReport;

  constructor({ file, windowMinMs }: MeasuredRunThreadData) {
    this.#store = new MeasuredRunStore(file);
    this.#windowMinMs = windowMinMs;
    this.#report = fleetReport(this.#fleetRuns());
  }

  get correction(): FleetReport["correction"] {
    return this.#report.correction;
  }

  takeProblems(): readonly string[] {
    return this.#store.takeProblems();
  }

  answer(request: MeasuredRunRequest): PartOfAnswer {
    switch (request.kind) {
      case "begin": {
        const unfinished = this.#store.unfinished().map(({ attemptId, workloadId }) => ({ attemptId, workloadId }));
        return { workloadIds: this.#store.workloadIds(), unfinished };
      }
      case "declare":
        this.#store.declare(request.model, request.nowMs);
        this.#correctAgain();
        return { workloadIds: this.#store.workloadIds() };
      case "observe":
        return { slow: this.#observe(request.attempts, request.nowMs) };
      case "told":
        this.#markTold(request.attemptIds);
        return {};
      case "predictions":
        return { predictions: this.#predictions(request.workloadId) };
      case "report":
        return { report: this.#fleetPredictions() };
      case "close":
        this.#store.close();
        return {};
    }
  }

  #observe(observed: readonly ObservedAttempt[], nowMs: number): readonly OwnedRun[] {
    const updated = observed.flatMap((each) => this.#measure(each, nowMs) ?? []);
    this.#correctAgain();
    const counted = countedRuns(this.#fleetRuns());
    return updated.flatMap((attempt) => {
      const judged = judgedBy(attempt, counted);
      if (judged !== attempt) this.#store.replace(judged);
      const isDue = judged.slow !== null && (judged.slowLooks >= SLOW_LOOKS_MIN || judged.hasEnded) && !judged.isTold;
      return isDue ? [{ ...this.#view(judged), owner: judged.owner }] : [];
    });
  }

  #measure(observed: ObservedAttempt, nowMs: number): PredictedAttempt | null {
    const { attemptId, workloadId, acceleratorType, acceleratorsPerWorker, workers, points, idleShare, hasEnded } =
      observed;
    const model = this.#store.model(workloadId);
    if (model === null) return null;
    const { training, ...about } = model;
    const known = this.#store.attempt(attemptId);
    const placed = { acceleratorType, acceleratorsPerWorker, workers };
    const isSame = known !== null && JSON.stringify(known.placed) === JSON.stringify(placed);
    const sinceMs = known === null ? 0 : isSame ? known.sinceMs : nowMs;
    const prediction = isSame ? known.prediction : predictRun({ training, ...placed });
    const step = measuredStepOf(
      points.filter(({ atMs }) => atMs >= sinceMs),
      this.#windowMinMs,
    );
    const measured = step === undefined ? null : { ...step, idleShare, atMs: points.at(-1)?.atMs ?? nowMs };
    const before = isSame ? known : { slow: null, slowLooks: 0, isTold: known?.isTold ?? false };
    const { slow, slowLooks, isTold } = before;
    const attempt = { attemptId, ...about, placed, sinceMs, prediction, measured, slow, slowLooks, isTold, hasEnded };
    this.#store.put(attempt, nowMs);
    return prediction.kind === "predicted" ? { ...attempt, prediction } : null;
  }

  #markTold(attemptIds: readonly string[]): void {
    for (const attemptId of attemptIds) {
      const known = this.#store.attempt(attemptId);
      if (known !== null) this.#store.replace({ ...known, isTold: true });
    }
  }

  #correctAgain(): void {
    this.#report = fleetReport(this.#fleetRuns());
  }

  #fleetRuns(): readonly FleetRun[] {
    return this.#store.allAttempts().flatMap((attempt) => {
      return isMeasured(attempt) && !attempt.prediction.isCalibrated ? [fleetRunOf(attempt)] : [];
    });
  }

  #predictions(workloadId: string): WorkloadPredictions {
    if (this.#store.model(workloadId) === null) return { items: [], unpredicted: "The workload names no model." };
    const attempts = this.#store.attemptsOf(workloadId, SHOWN_OF_WORKLOAD_MAX);
    const items = attempts.filter(isPredicted).map((attempt) => this.#view(attempt));
    const refused = attempts.find(({ prediction }) => prediction.kind === "unpredicted")?.prediction;
    const unpredicted = refused?.kind === "unpredicted" ? refused.reason : null;
    return { items, unpredicted: items.length > 0 ? null : unpredicted };
  }

  #fleetPredictions(): FleetPredictions {
    const newest = this.#store.allAttempts().filter(isMeasured).slice(-SHOWN_OF_FLEET_MAX).toReversed();
    const runs = newest.map((attempt) => this.#view(attempt));
    return { correction: this.#report.correction, kinds: this.#report.kinds, runs };
  }

  #view(attempt: PredictedAttempt): MeasuredRun {
    const { attemptId, workloadId, workload, team, prediction, measured, slow } = attempt;
    const { acceleratorType, family, acceleratorCount, isCalibrated } = prediction;
    const factor = isCalibrated ? 1 : correctionFactor(this.#report.correction, acceleratorType, family).factor;
    return {
      attemptId,
      workloadId,
      workload,
      team,
      acceleratorType,
      family,
      acceleratorCount,
      isCalibrated,
      predicted: {
        seconds: prediction.seconds * factor,
        uncorrectedSeconds: prediction.seconds,
        lowSeconds: prediction.lowSeconds * factor,
        highSeconds: prediction.highSeconds * factor,
        parts: scaledParts(prediction.parts, factor),
      },
      measured:
        measured === null
          ? null
          : {
              seconds: measured.seconds,
              steps: measured.stepCount,
              atMs: measured.atMs,
              parts: partsOf(measured, scaledParts(prediction.parts, factor)),
            },
      slow:
        slow === null
          ? null
          : {
              expectedSeconds: slow.expectedSeconds,
              excessShare: slow.excessShare,
              responsible: slow.responsible ?? null,
              ground: slow.ground ?? null,
              // Runs that an older version judged have no such list.
              missing: slow.responsible === undefined ? (slow.missing ?? []).map((part) => partMetrics[part]) : [],
              otherRuns: slow.otherRuns,
            },
    };
  }
}

const isPredicted = (attempt: StoredAttempt): attempt is PredictedAttempt => attempt.prediction.kind === "predicted";
const isMeasured = (attempt: StoredAttempt): attempt is MeasuredAttempt =>
  isPredicted(attempt) && attempt.measured !== null;

function fleetRunOf({ workloadId, owner, prediction, measured }: MeasuredAttempt): FleetRun {
  const { acceleratorType, family, acceleratorCount, seconds } = prediction;
  return {
    workload: workloadId,
    owner,
    acceleratorType,
    family,
    acceleratorCount,
    predictedSeconds: seconds,
    measuredSeconds: measured.seconds,
  };
}

/** The attempt, and whether it is slow in comparison with runs of other workloads. */
function judgedBy(attempt: PredictedAttempt, counted: readonly FleetRun[]): PredictedAttempt {
  const { prediction, measured, slow: before } = attempt;
  const isIdle = measured === null;
  if (isIdle) return before === null ? attempt : { ...attempt, slow: null, slowLooks: 0 };
  const { acceleratorType, family, parts, isCalibrated } = prediction;
  const others = counted.filter(
    (run) => run.acceleratorType === acceleratorType && run.workload !== attempt.workloadId && !isCalibrated,
  );
  const correction = fitCorrection(others);
  const { runCount } = correctionFactor(correction, acceleratorType, family);
  const run = fleetRunOf({ ...attempt, measured });
  const found = slowRunOf(run, correction, { predicted: parts, observed: observedOf(measured) });
  if (found === undefined) return before === null ? attempt : { ...attempt, slow: null, slowLooks: 0 };
  return { ...attempt, slow: { ...found, otherRuns: runCount }, slowLooks: attempt.slowLooks + 1 };
}

const observedOf = ({ reported, idleShare }: MeasuredAttempt["measured"]): ObservedParts => ({
  reported,
  idleShare: idleShare ?? undefined,
});

type MeasuredParts = NonNullable<MeasuredRun["measured"]>["parts"];

function partsOf(measured: MeasuredAttempt["measured"], expected: StepParts): MeasuredParts {
  const known = knownParts(measured.seconds, expected, observedOf(measured));
  const secondsOf = (part: keyof StepParts): number | null => known.get(part)?.seconds ?? null;
  return { compute: secondsOf("compute"), network: secondsOf("network"), storage: secondsOf("storage") };
}
