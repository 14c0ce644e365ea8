import type { AttemptId } from "@headroom/engine";
import type { AcceleratorHistory, AttemptMetrics, Page } from "@headroom/protocol";
import type { MetricsRange, NewestReport, ReadingValues, TelemetrySample } from "@headroom/views";

export interface TelemetryRules {
  /** Series whose newest report is older are removed. */
  readonly keptMs: number;
  /** Of the database's content; beyond it the series whose newest reports are oldest are removed. */
  readonly bytesMax: number;
}

export interface TelemetryThreadData {
  readonly file: string;
  readonly rules: TelemetryRules;
  /** A missing file is reported. */
  readonly isExpected: boolean;
}

export type AttemptSample = readonly [attemptId: AttemptId, workloadId: string, sample: TelemetrySample];

export type AcceleratorSample = readonly [node: string, accelerator: number, atMs: number, values: ReadingValues];

export interface ReadingsRequest extends MetricsRange {
  readonly node: string;
}

export interface MetricsRequest extends MetricsRange {
  readonly workloadId: string;
  /** Of this attempt alone; `null`: of all. */
  readonly attemptId: string | null;
  /** The store's position after which the page begins; 0: at the first. */
  readonly after: number;
  readonly limit: number;
}

export type TelemetryRequest =
  | { readonly kind: "add"; readonly samples: readonly AttemptSample[] }
  | { readonly kind: "addReadings"; readonly samples: readonly AcceleratorSample[] }
  | { readonly kind: "readings"; readonly request: ReadingsRequest }
  /** Writes what is due; `all`: everything that was not written yet. */
  | { readonly kind: "flush"; readonly nowMs: number; readonly all: boolean }
  | { readonly kind: "read"; readonly request: MetricsRequest }
  | { readonly kind: "newest"; readonly attemptIds: readonly AttemptId[] }
  | { readonly kind: "close" };

export interface TelemetryAnswer {
  /** What happened to the store since the last answer, for the log. */
  readonly problems: readonly string[];
  readonly page?: Page<AttemptMetrics>;
  readonly history?: readonly AcceleratorHistory[];
  readonly newest?: readonly (readonly [AttemptId, NewestReport])[];
  readonly bytes: number;
}
