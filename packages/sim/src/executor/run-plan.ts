import type { GangSpec } from "@headroom/engine";

/** The undisturbed run of an attempt. */
export interface RunPlan {
  readonly durationMs: number;
  /** Exit code of the worker that ends first; the others follow at the same instant. 0: the attempt succeeds. */
  readonly exitCode: number;
  /** Time from the request for a checkpoint to its report; absent: it never writes one. */
  readonly checkpointMs?: number;
  /** Checkpoints that it reports, in the order of time; absent: none. */
  readonly checkpoints?: readonly PlannedCheckpoint[];
  /** Its pace by number of workers; absent: the gang's throughput curve, else proportional. */
  readonly throughputMilli?: GangSpec["throughputMilli"];
}

export interface PlannedCheckpoint {
  /** Measured from the start of the run, at the size of its launch; another size shifts it like the duration. */
  readonly afterMs: number;
  readonly step: number;
  readonly path: string;
}
