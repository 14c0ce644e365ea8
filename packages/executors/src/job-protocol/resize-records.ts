/**
 * Records that change the size of a running gang. The control plane writes the requested size and the environments of
 * new workers (`resize.json`); the supervisor writes the result (`size.json`). Both describe a state and not a command.
 * So reading them twice or late has no further effect, and a crash in between leaves no change half done.
 */
import type { WorkerLimits } from "../processes/isolation/cgroups.ts";
import type { ProcessIdentity } from "../processes/process-table.ts";

export interface ResizeRecord {
  /** Number of the request, which grows with each change. The supervisor states which request it has processed. */
  readonly request: number;
  /** Requested number of workers. The workers with lower ranks stay. */
  readonly size: number;
  /** Grace period of workers that this change stops. */
  readonly graceTimeoutMs: number;
  /** Workers below `size` that were not launched with the gang, in the order of their ranks. */
  readonly joiners: readonly Joiner[];
  /** Number of workers that have joined or been told to join so far. */
  readonly joinerCount: number;
  /** The largest size that was ever requested: each rank below it may have logs. */
  readonly sizeMax: number;
}

/** A worker that joins a running gang. */
export interface Joiner {
  readonly rank: number;
  /** Number of the joining worker within the attempt, from 1 on. A joining worker is started at most once. */
  readonly number: number;
  /** Environment without `MASTER_PORT`. */
  readonly environment: Readonly<Record<string, string>>;
  /** Absent: the request was written by an older release. */
  readonly limits?: WorkerLimits;
}

export interface SizeRecord {
  /**
   * Number of the newest request that is complete: stopped workers and their children have ended, and added workers run
   * or have failed to start.
   */
  readonly request: number;
  readonly size: number;
  /** The newest failed join since the last successful one; `null`: none. */
  readonly failure: FailedJoin | null;
}

export interface FailedJoin {
  /** Joining workers up to this number are not started again. */
  readonly number: number;
  /** Number of workers with which the gang continues, counted from rank 0. */
  readonly workers: number;
  readonly detail: string;
}

/** Processes of a running gang by rank, and those of workers that are being removed. */
export interface WorkersRecord {
  readonly workers: readonly ProcessIdentity[];
  /** Absent: none. */
  readonly leaving?: readonly ProcessIdentity[];
}
