import type { AttemptId } from "@headroom/model";
import type { AcceleratorHistory, AttemptMetrics, Page, SubjectSeries } from "@headroom/protocol";
import type { NodeReadings } from "@headroom/protocol";
import type { OtlpBody } from "../metric-sources/otlp-body.ts";
import type { RemoteWriteState, RemoteWriteTarget } from "../metric-sources/remote-writer.ts";
import type { WriteOutcome } from "../metric-sources/written-readings.ts";
import type { FollowedValue, TargetCounts, TargetPlan, TargetState } from "../metric-sources/target-messages.ts";
import type { ListedDeviations } from "./peer-comparison.ts";
import type { MetricsRange, NewestReport, SubjectSample, TelemetrySample } from "@headroom/views";

export interface TelemetryRules {
  /** Maximum age in ms of a series' newest report; older series are removed. */
  readonly keptMs: number;
  /**
   * Maximum size of the database's content in bytes. Beyond it, the series whose newest reports are oldest are removed.
   */
  readonly bytesMax: number;
}

export interface TelemetryThreadData {
  readonly file: string;
  readonly rules: TelemetryRules;
  /** True: a missing file is logged. */
  readonly isExpected: boolean;
}

/** The largest deviations first. */
export interface PeerComparison extends ListedDeviations {
  /** Nodes and accelerators with enough recent samples. */
  readonly comparedCount: number;
  /** Units of metrics. */
  readonly units: Readonly<Record<string, string>>;
}

export type AttemptSample = readonly [attemptId: AttemptId, workloadId: string, sample: TelemetrySample];

export interface ReadingsRequest extends MetricsRange {
  readonly node: string;
}

export interface SeriesRequest extends MetricsRange {
  readonly subject: string;
}

export interface MetricsRequest extends MetricsRange {
  readonly workloadId: string;
  /** Only this attempt; `null`: all attempts. */
  readonly attemptId: string | null;
  /** Position in the store after which the page begins; 0: at the beginning. */
  readonly after: number;
  readonly limit: number;
}

export type TelemetryRequest =
  | { readonly kind: "add"; readonly samples: readonly AttemptSample[] }
  | { readonly kind: "addSubjects"; readonly samples: readonly SubjectSample[] }
  | { readonly kind: "readings"; readonly request: ReadingsRequest }
  | { readonly kind: "series"; readonly request: SeriesRequest }
  /** Writes due reports; `all`: all reports that are not written yet. */
  | { readonly kind: "flush"; readonly nowMs: number; readonly all: boolean }
  | { readonly kind: "read"; readonly request: MetricsRequest }
  | { readonly kind: "newest"; readonly attemptIds: readonly AttemptId[] }
  /** Replaces the targets that are read. */
  | { readonly kind: "targets"; readonly plan: TargetPlan }
  /** Compares nodes and accelerators with their sets: `sets` has the set of each node by id. */
  | { readonly kind: "peers"; readonly sets: ReadonlyMap<string, string>; readonly nowMs: number }
  | { readonly kind: "targetStates" }
  | { readonly kind: "targetCounts" }
  /** The body of a remote write. */
  | { readonly kind: "write"; readonly body: Uint8Array }
  | { readonly kind: "writeOtlp"; readonly body: OtlpBody }
  /** Where metrics and series are written to from now on. */
  | { readonly kind: "export"; readonly target: RemoteWriteTarget }
  /** The text of `/metrics`, which is written to the receiver. */
  | { readonly kind: "exportText"; readonly text: string; readonly atMs: number; readonly instance: string }
  | { readonly kind: "close" };

export interface TelemetryAnswer {
  /** Problems that the store has had since the last answer, for the log. */
  readonly problems: readonly string[];
  readonly page?: Page<AttemptMetrics>;
  readonly history?: readonly AcceleratorHistory[];
  readonly series?: SubjectSeries;
  readonly peers?: PeerComparison;
  readonly newest?: readonly (readonly [AttemptId, NewestReport])[];
  readonly bytes: number;
  readonly targets?: readonly TargetState[];
  readonly targetCounts?: TargetCounts;
  /** `null`: nothing is written anywhere. */
  readonly remoteWrite?: RemoteWriteState | null;
  /** `damaged`: the body is no write request. `noSource`: no source takes what is written. */
  readonly write?: WriteOutcome | "damaged" | "noSource";
  /** Readings of accelerators by exporters since the last flush. */
  readonly readings?: readonly NodeReadings[];
  /** Values of metric sources that endpoints follow, since the last flush. */
  readonly followed?: readonly FollowedValue[];
}
