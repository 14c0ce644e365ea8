import type { GangSpec } from "@headroom/engine";

/** How an attempt would run if nobody interfered. */
export interface RunPlan {
  readonly durationMs: number;
  /** Of the worker that ends first; the others follow it at the same instant. 0: the attempt succeeds. */
  readonly exitCode: number;
  /** From the request for a checkpoint to the report of it; left out: it never writes one. */
  readonly checkpointMs?: number;
  /** The checkpoints that it reports on its way, in the order of time; absent: none. */
  readonly checkpoints?: readonly PlannedCheckpoint[];
  /** How its pace goes with its workers; left out: as its gang says, else in proportion. */
  readonly throughputMilli?: GangSpec["throughputMilli"];
}

export interface PlannedCheckpoint {
  /** From the moment the attempt runs; like its duration at the size of its launch, sooner or later at another. */
  readonly afterMs: number;
  readonly step: number;
  readonly path: string;
}
