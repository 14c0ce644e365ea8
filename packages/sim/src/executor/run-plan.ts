import type { GangSpec } from "@headroom/engine";

/** The undisturbed run of an attempt. */
export interface RunPlan {
  readonly durationMs: number;
  /** Exit code of the worker that ends first; the others follow at the same instant. 0: the attempt succeeds. */
  readonly exitCode: number;
  /** Time in ms from the request for a checkpoint to its report; absent: the attempt never writes one on request. */
  readonly checkpointMs?: number;
  /** Checkpoints that the attempt reports by itself, in the order of time; absent: none. */
  readonly checkpoints?: readonly PlannedCheckpoint[];
  /** Throughput by number of workers; absent: the gang's throughput curve, or proportional to the workers. */
  readonly throughputMilli?: GangSpec["throughputMilli"];
}

export interface PlannedCheckpoint {
  /** Time since the start of the run in ms, at the size of the launch; another size moves it like the duration. */
  readonly afterMs: number;
  readonly step: number;
  readonly path: string;
}
