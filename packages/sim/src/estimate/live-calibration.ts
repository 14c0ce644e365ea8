/**
 * Calibrates the ranges of a live engine from its states, whenever estimates are requested. The range of recently
 * submitted work is recorded; later states show when the work started.
 */
import type { ReadonlyState } from "@headroom/engine";
import type { Workload, WorkloadId } from "@headroom/model";
import { RangeCalibration } from "./calibration.ts";
import type { StartEstimate } from "./estimate-starts.ts";

/**
 * Maximum age in ms of work whose ranges are recorded. The start of older work is less uncertain, and its outcome says
 * little about ranges at submission.
 */
const youngMs = 10 * 60_000;
/**
 * Maximum number of recorded ranges. More ranges add nothing, because one outcome moves an end of the range by a
 * hundredth.
 */
const nominatedMax = 10_000;
/** Number of newest starts whose forecast errors are kept. */
const errorsMax = 200;

/** Accuracy of the forecasts of work that was submitted to this control plane, measured at the real starts. */
export interface ForecastAccuracy {
  /** Number of the newest starts of work with a forecast, at most 200. */
  readonly startCount: number;
  /** Median distance in ms between the middle of the forecast and the start. */
  readonly medianErrorMs: number;
}

export class LiveCalibration {
  /** For `EstimateOptions.calibration`. */
  readonly ranges: RangeCalibration = new RangeCalibration();
  /** Middle of the first forecast of each workload, in ms. */
  readonly #nominated = new Map<WorkloadId, number>();
  readonly #errorsMs: number[] = [];

  /** `null`: no workload with a forecast has started yet. */
  get accuracy(): ForecastAccuracy | null {
    if (this.#errorsMs.length === 0) return null;
    const sorted = this.#errorsMs.toSorted((left, right) => left - right);
    return { startCount: sorted.length, medianErrorMs: sorted[sorted.length >> 1]! };
  }

  /** Learns from the starts since the last call, in their order. Call it before estimates of that state are made. */
  learn({ workloads }: ReadonlyState, nowMs: number): void {
    const started: { readonly id: WorkloadId; readonly atMs: number; readonly ordinal: number }[] = [];
    for (const id of this.#nominated.keys()) {
      const workload = workloads.get(id);
      if (workload === undefined || isKept(workload)) this.#withdraw(id);
      else if (workload.firstStartedAtMs !== null)
        started.push({ id, atMs: workload.firstStartedAtMs, ordinal: workload.ordinal });
      else if (workload.endedAtMs !== null) this.#withdraw(id);
    }
    started.sort((left, right) => left.atMs - right.atMs || left.ordinal - right.ordinal);
    for (const { id, atMs } of started) {
      this.ranges.passed(atMs);
      this.ranges.started(id, atMs);
      this.#errorsMs.push(Math.abs(atMs - this.#nominated.get(id)!));
      if (this.#errorsMs.length > errorsMax) this.#errorsMs.shift();
      this.#nominated.delete(id);
    }
    this.ranges.passed(nowMs);
  }

  /**
   * Records ranges that were shown. Nothing is learned from work without an instant, with an unfinished simulation, or
   * with an earlier start, because the state contains only first starts.
   */
  recordRange({ workloads }: ReadonlyState, estimates: readonly StartEstimate[], nowMs: number): void {
    for (const { workloadId, p10AtMs, p50AtMs, p90AtMs, playedUntilMs } of estimates) {
      const isTold = p10AtMs !== null && p50AtMs !== null && playedUntilMs === undefined;
      const workload = workloads.get(workloadId);
      if (!isTold || workload === undefined || workload.firstStartedAtMs !== null) continue;
      if (nowMs - workload.submittedAtMs > youngMs) continue;
      if (this.#nominated.size >= nominatedMax || isKept(workload) || this.#nominated.has(workloadId)) continue;
      this.#nominated.set(workloadId, p50AtMs);
      const p90Ms = p90AtMs === null ? Number.POSITIVE_INFINITY : p90AtMs - nowMs;
      this.ranges.recordRange(workloadId, nowMs, { p10Ms: p10AtMs - nowMs, p50Ms: p50AtMs - nowMs, p90Ms });
    }
  }

  #withdraw(id: WorkloadId): void {
    this.ranges.withdrawn(id);
    this.#nominated.delete(id);
  }
}

/** False for work whose start depends on an action of a person, which no estimate can predict. */
function isKept({ held, stopRequested, firstStartedAtMs }: Workload): boolean {
  return firstStartedAtMs === null && (held === true || stopRequested);
}
