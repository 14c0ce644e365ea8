/** The newest reports of running attempts. Bounded by the attempts that the engine counts as active. */
import type { AttemptId, ReadonlyState } from "@headroom/engine";
import type { AttemptTelemetry } from "../idle-resources.ts";
import { withSample } from "./attempt-series.ts";
import type { NewestReport, TelemetrySample } from "./attempt-series.ts";

/** Ended attempts are forgotten when so many more than twice the active ones are known. */
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

  /** Restores a report that an earlier process stored; a report of this process counts more. */
  restore(id: AttemptId, newest: NewestReport): void {
    if (!this.#byAttempt.has(id)) this.#byAttempt.set(id, newest);
  }

  /** As the report on idle resources asks for it. */
  readonly telemetryOf = (id: AttemptId): AttemptTelemetry | null => {
    const newest = this.#byAttempt.get(id);
    if (newest === undefined) return null;
    return { progressAtMs: newest.progress?.atMs ?? null, utilization: newest.utilization };
  };
}
