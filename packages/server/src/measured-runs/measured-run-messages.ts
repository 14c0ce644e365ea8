import type { FleetCorrection, PlacedRun, StepPoint } from "@headroom/perf";
import type { FleetPredictions, MeasuredRun, WorkloadPredictions } from "@headroom/protocol";

export interface MeasuredRunThreadData {
  readonly file: string;
  /** See `measuredWindowMinMs` of the performance model. */
  readonly windowMinMs: number;
}

/** What a workload trains, as it was declared. */
export interface DeclaredModel {
  readonly workloadId: string;
  readonly workload: string;
  readonly team: string;
  /** Of the person who submitted it. */
  readonly owner: string;
  readonly training: PlacedRun["training"];
}

/** An attempt with everything that it reported. */
export interface ObservedAttempt {
  readonly attemptId: string;
  readonly workloadId: string;
  readonly acceleratorType: string;
  readonly acceleratorsPerWorker: number;
  readonly workers: number;
  readonly points: readonly StepPoint[];
  /** Mean share of time in which none of its accelerators was busy; `null`: it reports no use. */
  readonly idleShare: number | null;
  readonly hasEnded: boolean;
}

export type OwnedRun = MeasuredRun & { readonly owner: string };

export type MeasuredRunRequest =
  /** Workloads with a model, and attempts of them that have not been seen to end. */
  | { readonly kind: "begin" }
  | { readonly kind: "declare"; readonly model: DeclaredModel; readonly nowMs: number }
  | { readonly kind: "observe"; readonly attempts: readonly ObservedAttempt[]; readonly nowMs: number }
  /** Their owners know that these attempts are slow. */
  | { readonly kind: "told"; readonly attemptIds: readonly string[] }
  | { readonly kind: "predictions"; readonly workloadId: string }
  | { readonly kind: "report" }
  | { readonly kind: "close" };

export interface MeasuredRunAnswer {
  readonly problems: readonly string[];
  readonly correction: FleetCorrection;
  /** After `begin`. */
  readonly workloadIds?: readonly string[];
  readonly unfinished?: readonly { readonly attemptId: string; readonly workloadId: string }[];
  /** After `observe`: slow attempts whose owners do not know yet. */
  readonly slow?: readonly OwnedRun[];
  readonly predictions?: WorkloadPredictions;
  readonly report?: FleetPredictions;
}
