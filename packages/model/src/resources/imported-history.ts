/**
 * Past work of a cluster, imported from its accounting before Headroom runs work there. It informs fair shares, predicted run times and
 * start estimates, and is removed with its executor.
 */
import type { ExecutorId } from "./fleet.ts";
import type { TeamName } from "./ids.ts";

/** Accelerators that a user's work held in a period, as accelerator-ms. */
export interface ImportedUse {
  readonly team: TeamName;
  readonly actor: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly acceleratorMs: number;
}

/** A job that ran to its end. */
export interface PastRun {
  readonly team: TeamName;
  readonly actor: string;
  readonly name: string;
  readonly kind: "train" | "batch";
  readonly accelerators: number;
  readonly submittedAtMs: number;
  readonly tookMs: number;
  /** `null`: it had no time limit. */
  readonly walltimeMs: number | null;
}

export interface ImportedHistory {
  readonly executor: ExecutorId;
  /** Name of the file, for people. */
  readonly source: string;
  /** SHA-256 of the content, in hexadecimal. The same content is not recorded twice. */
  readonly digest: string;
  /** Times of the first submission and the last end. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Jobs that were taken in, jobs that were not, and lines that could not be read. */
  readonly jobCount: number;
  readonly leftOutCount: number;
  readonly unreadCount: number;
  /** In the order of their ends. */
  readonly uses: readonly ImportedUse[];
  /** The newest ones, in the order of submission. */
  readonly runs: readonly PastRun[];
}

/** An imported history as it is recorded. */
export interface RecordedHistory extends ImportedHistory {
  readonly importedAtMs: number;
  readonly actor: string;
}
