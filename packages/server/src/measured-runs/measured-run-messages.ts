import type { FleetCorrection, PlacedRun, StepPoint } from "@headroom/perf";
import type { FleetPredictions, MeasuredRun, WorkloadPredictions } from "@headroom/protocol";

export interface MeasuredRunThreadData {
  readonly file: string;
  /** Shortest period in ms over which steps are measured; see `measuredWindowMinMs` of the performance model. */
  readonly windowMinMs: number;
}

/** The model that a workload trains, as declared at submission. */
export interface DeclaredModel {
  readonly workloadId: string;
  readonly workload: string;
  readonly team: string;
  /** The user who submitted the workload. */
  readonly owner: string;
  readonly training: PlacedRun["training"];
}

/** An attempt with all its progress reports. */
export interface ObservedAttempt {
  readonly attemptId: string;
  readonly workloadId: string;
  readonly acceleratorType: string;
  readonly acceleratorsPerWorker: number;
  readonly workers: number;
  readonly points: readonly StepPoint[];
  /**
   * Mean share of time in which none of the attempt's accelerators was busy; `null`: the attempt reports no
   * utilization.
   */
  readonly idleShare: number | null;
  readonly hasEnded: boolean;
}

export type OwnedRun = MeasuredRun & { readonly owner: string };

export type MeasuredRunRequest =
  /** Asks for the workloads with a model, and for those of their attempts that have not been seen to end. */
  | { readonly kind: "begin" }
  | { readonly kind: "declare"; readonly model: DeclaredModel; readonly nowMs: number }
  | { readonly kind: "observe"; readonly attempts: readonly ObservedAttempt[]; readonly nowMs: number }
  /** States that the owners of these attempts have been notified. */
  | { readonly kind: "told"; readonly attemptIds: readonly string[] }
  | { readonly kind: "predictions"; readonly workloadId: string }
  | { readonly kind: "report" }
  | { readonly kind: "close" };

export interface MeasuredRunAnswer {
  readonly problems: readonly string[];
  readonly correction: FleetCorrection;
  /** Answer to `begin`. */
  readonly workloadIds?: readonly string[];
  readonly unfinished?: readonly { readonly attemptId: string; readonly workloadId: string }[];
  /** Answer to `observe`: slow attempts whose owners have not been notified. */
  readonly slow?: readonly OwnedRun[];
  readonly predictions?: WorkloadPredictions;
  readonly report?: FleetPredictions;
}
