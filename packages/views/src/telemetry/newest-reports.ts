/**
 * The newest reports of running attempts. Their number is limited by the number of attempts that the engine counts as
 * active.
 */
import type { AttemptId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { AttemptTelemetry } from "../idle-resources.ts";
import { withSample } from "./attempt-series.ts";
import type { NewestReport, TelemetrySample } from "./attempt-series.ts";

/** Number of ended attempts, beyond twice the active ones, at which ended attempts are dropped. */
const FORGET_BEYOND = 1_000;

export class NewestReports {
  readonly #byAttempt = new Map<AttemptId, NewestReport>();

  get(id: AttemptId): NewestReport | undefined {
    return this.#byAttempt.get(id);
  }

  record(id: AttemptId, sample: TelemetrySample, { attempts }: Pick<ReadonlyState, "attempts">): NewestReport {
    const newest = withSample(this.#byAttempt.get(id), sample);
    this.#byAttempt.set(id, newest);
    if (this.#byAttempt.size > 2 * attempts.size + FORGET_BEYOND)
      for (const known of this.#byAttempt.keys()) if (!attempts.has(known)) this.#byAttempt.delete(known);
    return newest;
  }

  /** Restores a report that an earlier process stored. A report of this process has precedence. */
  restore(id: AttemptId, newest: NewestReport): void {
    if (!this.#byAttempt.has(id)) this.#byAttempt.set(id, newest);
  }

  /** The reports in the form that the report on idle resources needs. */
  readonly telemetryOf = (id: AttemptId): AttemptTelemetry | null => {
    const newest = this.#byAttempt.get(id);
    if (newest === undefined) return null;
    return { progressAtMs: newest.progress?.atMs ?? null, utilization: newest.utilization };
  };
}
