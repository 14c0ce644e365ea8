/**
 * Keeps the ranges of a live engine honest with what is seen of it: its state, whenever somebody asks for estimates. What was
 * submitted shortly before is promised the range that is then given; later states tell when it started.
 */
import type { ReadonlyState, Workload, WorkloadId } from "@headroom/engine";
import { RangeCalibration } from "./calibration.ts";
import type { StartEstimate } from "./estimate-starts.ts";

/** Of what has waited for longer, less is uncertain: what comes of it says little of the ranges at submission. */
const youngMs = 10 * 60_000;
/** More would be no news: an outcome moves an end by a hundredth. */
const nominatedMax = 10_000;

export class LiveCalibration {
  /** For `EstimateOptions.calibration`. */
  readonly ranges: RangeCalibration = new RangeCalibration();
  readonly #nominated = new Set<WorkloadId>();

  /** Starts that came since it looked last, in the order in which they came. Call it before estimates are made of that state. */
  learn({ workloads }: ReadonlyState, nowMs: number): void {
    const started: { readonly id: WorkloadId; readonly atMs: number; readonly ordinal: number }[] = [];
    for (const id of this.#nominated) {
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
      this.#nominated.delete(id);
    }
    this.ranges.passed(nowMs);
  }

  /**
   * That these ranges were given. Nothing is learned of what is given no instant, of what was not played to its end, or of what has
   * started before: the state tells first starts only.
   */
  recordRange({ workloads }: ReadonlyState, estimates: readonly StartEstimate[], nowMs: number): void {
    for (const { workloadId, p10AtMs, p50AtMs, p90AtMs, playedUntilMs } of estimates) {
      const isTold = p10AtMs !== null && p50AtMs !== null && playedUntilMs === undefined;
      const workload = workloads.get(workloadId);
      if (!isTold || workload === undefined || workload.firstStartedAtMs !== null) continue;
      if (nowMs - workload.submittedAtMs > youngMs) continue;
      if (this.#nominated.size >= nominatedMax || isKept(workload) || this.#nominated.has(workloadId)) continue;
      this.#nominated.add(workloadId);
      const p90Ms = p90AtMs === null ? Number.POSITIVE_INFINITY : p90AtMs - nowMs;
      this.ranges.recordRange(workloadId, nowMs, { p10Ms: p10AtMs - nowMs, p50Ms: p50AtMs - nowMs, p90Ms });
    }
  }

  #withdraw(id: WorkloadId): void {
    this.ranges.withdrawn(id);
    this.#nominated.delete(id);
  }
}

/** Its start depends on people, of whom no estimate knows anything. */
function isKept({ held, stopRequested, firstStartedAtMs }: Workload): boolean {
  return firstStartedAtMs === null && (held === true || stopRequested);
}
