/**
 * How a gang that runs comes to another size. The control plane writes down which size it is to have and what further workers
 * find (`resize.json`), the supervisor what has become of it (`size.json`). Both are states and not orders: read again, or read
 * late, they ask for nothing twice, and whoever dies in between leaves nothing half done.
 */
import type { ProcessIdentity } from "./process-table.ts";

export interface ResizeRecord {
  /** Counts up with each change; the supervisor says which one it has dealt with. */
  readonly request: number;
  /** The workers with lower ranks are those that it is to have. */
  readonly size: number;
  /** For those that are to leave. */
  readonly graceTimeoutMs: number;
  /** Those below `size` that were not launched with the gang, in rank order. */
  readonly joiners: readonly Joiner[];
  /** How many numbers were given to joiners. */
  readonly joinerCount: number;
  /** The most workers that it ever was to have: so many have logs. */
  readonly sizeMax: number;
}

/** A worker that is to join a gang that runs. */
export interface Joiner {
  readonly rank: number;
  /** From 1 on, each given once in an attempt: by it a joiner is started at most once. */
  readonly number: number;
  /** Everything but `MASTER_PORT`. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface SizeRecord {
  /**
   * All records up to this one are processed: the stopped workers and their children have ended; the added workers run
   * or failed to start.
   */
  readonly request: number;
  readonly size: number;
  /** The last one that nobody has joined since; `null`: none. */
  readonly failure: FailedJoin | null;
}

export interface FailedJoin {
  /** Joiners up to this number are not tried again. */
  readonly number: number;
  /** Number of workers with which the gang continues, counted from rank 0. */
  readonly workers: number;
  readonly detail: string;
}

/** Of a gang that runs, by rank, and of workers that are on their way out of it. */
export interface WorkersRecord {
  readonly workers: readonly ProcessIdentity[];
  /** Absent: none. */
  readonly leaving?: readonly ProcessIdentity[];
}
