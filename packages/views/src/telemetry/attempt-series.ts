/** The two series of an attempt and what its newest reports say, in memory and as text. */
import { addUtilization } from "@headroom/engine";
import type { AttemptProgress, AttemptUtilization, Signal, UtilizationReport } from "@headroom/engine";
import type { AttemptMetrics } from "@headroom/protocol";
import { Series, pointsBetween } from "./series.ts";
import type { StoredSeries } from "./series.ts";

/** The newest reports of an attempt, which the journal does not have. */
export interface NewestReport {
  readonly progress: AttemptProgress | null;
  readonly utilization: AttemptUtilization | null;
}

/** One report of an attempt; `startedAtMs`: when its attempt started. */
export type TelemetrySample =
  | ({ readonly kind: "progress" } & AttemptProgress)
  | ({ readonly kind: "utilization"; readonly atMs: number; readonly startedAtMs: number | null } & UtilizationReport);

/** The signals that are telemetry. */
export type TelemetrySignal = Extract<Signal, { readonly kind: "progressReported" | "utilizationReported" }>;

export function sampleOf(signal: TelemetrySignal, atMs: number, startedAtMs: number | null): TelemetrySample {
  if (signal.kind === "progressReported") {
    const { step, totalSteps, metrics } = signal;
    return { kind: "progress", atMs, step, totalSteps, metrics };
  }
  const { kind: _kind, attemptId: _id, ...report } = signal;
  return { kind: "utilization", atMs, startedAtMs, ...report };
}

export interface MetricsRange {
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly points: number;
}

interface StoredAttempt {
  readonly progress: StoredSeries;
  readonly utilization: StoredSeries;
  readonly newest: NewestReport;
}

const nothing: NewestReport = { progress: null, utilization: null };

/** The newest reports with one more. */
export function withSample(newest: NewestReport | undefined, sample: TelemetrySample): NewestReport {
  const before = newest ?? nothing;
  if (sample.kind === "progress") {
    const { kind: _kind, ...progress } = sample;
    return { ...before, progress };
  }
  return { ...before, utilization: addUtilization(before.utilization ?? undefined, sample, sample) };
}

export class AttemptSeries {
  readonly #progress: Series;
  readonly #utilization: Series;
  #newest: NewestReport;

  constructor(stored?: StoredAttempt) {
    this.#progress = new Series(stored?.progress);
    this.#utilization = new Series(stored?.utilization);
    this.#newest = stored?.newest ?? nothing;
  }

  /** Throws where the text is not what `toText` wrote. */
  static fromText(text: string): AttemptSeries {
    return new AttemptSeries(JSON.parse(text) as StoredAttempt);
  }

  get newest(): NewestReport {
    return this.#newest;
  }

  add(sample: TelemetrySample): void {
    this.#newest = withSample(this.#newest, sample);
    if (sample.kind === "progress") this.#progress.add(sample.atMs, sample.step, sample.metrics);
    else this.#utilization.add(sample.atMs, 0, columnsOf(sample));
  }

  toText(): string {
    const stored: StoredAttempt = {
      progress: this.#progress.stored(),
      utilization: this.#utilization.stored(),
      newest: this.#newest,
    };
    return JSON.stringify(stored);
  }

  view(attemptId: string, { fromMs, toMs, points: max }: MetricsRange): AttemptMetrics {
    const { names } = this.#progress;
    return {
      attemptId,
      totalSteps: this.#newest.progress?.totalSteps ?? null,
      progress: pointsBetween(this.#progress, { fromMs, toMs, max }).map(({ atMs, step, count, values }) => ({
        atMs,
        step,
        reports: count,
        metrics: named(names, values),
      })),
      utilization: pointsBetween(this.#utilization, { fromMs, toMs, max }).map(({ atMs, count, values }) => {
        const { busyMilli = 0, busyAccelerators = 0, peakMemoryMib } = named(this.#utilization.names, values);
        return { atMs, reports: count, busyMilli, busyAccelerators, peakMemoryMib: peakMemoryMib ?? null };
      }),
    };
  }
}

function columnsOf({ busyMilli, busyAccelerators, peakMemoryMib }: UtilizationReport): Record<string, number> {
  return { busyMilli, busyAccelerators, ...(peakMemoryMib === null ? {} : { peakMemoryMib }) };
}

function named(names: readonly string[], values: readonly (number | null)[]): Record<string, number> {
  return Object.fromEntries(names.flatMap((name, column) => (values[column] == null ? [] : [[name, values[column]]])));
}
