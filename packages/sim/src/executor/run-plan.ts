import type { GangSpec } from "@headroom/model";

/** The run of an attempt if nothing interrupts it. */
export interface RunPlan {
  readonly durationMs: number;
  /** Exit code of the worker that ends first; the other workers end at the same instant. 0: the attempt succeeds. */
  readonly exitCode: number;
  /** Time in ms from the request for a checkpoint to its report; absent: the attempt never writes one on request. */
  readonly checkpointMs?: number;
  /** Checkpoints that the attempt reports without a request, in the order of time; absent: none. */
  readonly checkpoints?: readonly PlannedCheckpoint[];
  /**
   * Throughput by number of workers. Absent: the gang's throughput curve, or else throughput in proportion to the
   * workers.
   */
  readonly throughputMilli?: GangSpec["throughputMilli"];
}

export interface PlannedCheckpoint {
  /**
   * Time in ms since the start of the run, if the gang keeps the size of its launch. Another size changes this time
   * like the duration.
   */
  readonly afterMs: number;
  readonly step: number;
  readonly path: string;
}
