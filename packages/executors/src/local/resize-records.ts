/**
 * Records that change the size of a running gang. The control plane writes the wanted size and the environments of
 * further workers (`resize.json`); the supervisor writes the result (`size.json`). Both are states and not commands, so
 * reading them twice or late has no further effect, and a crash in between leaves no change half done.
 */
import type { ProcessIdentity } from "./process-table.ts";

export interface ResizeRecord {
  /** Incremented with each change; the supervisor states which request it has processed. */
  readonly request: number;
  /** Wanted number of workers: the workers with lower ranks stay. */
  readonly size: number;
  /** Grace period of workers that are stopped by the resize. */
  readonly graceTimeoutMs: number;
  /** Workers below `size` that were not launched with the gang, in rank order. */
  readonly joiners: readonly Joiner[];
  /** Number of joining workers so far. */
  readonly joinerCount: number;
  /** The largest size that was ever requested: each rank below it may have logs. */
  readonly sizeMax: number;
}

/** A worker that joins a running gang. */
export interface Joiner {
  readonly rank: number;
  /** Number within the attempt, counted from 1: a joining worker is started at most once. */
  readonly number: number;
  /** Environment without `MASTER_PORT`. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface SizeRecord {
  /**
   * Number of the newest request that is complete: stopped workers and their children have ended; added workers run or
   * failed to start.
   */
  readonly request: number;
  readonly size: number;
  /** The newest failed join since the last successful one; `null`: none. */
  readonly failure: FailedJoin | null;
}

export interface FailedJoin {
  /** Joining workers up to this number are not tried again. */
  readonly number: number;
  /** Number of workers with which the gang continues, counted from rank 0. */
  readonly workers: number;
  readonly detail: string;
}

/** Processes of a running gang by rank, and of workers that are leaving it. */
export interface WorkersRecord {
  readonly workers: readonly ProcessIdentity[];
  /** Absent: none. */
  readonly leaving?: readonly ProcessIdentity[];
}
