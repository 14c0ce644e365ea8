/** One attempt as this process has seen it. */
import type { AttemptId } from "@headroom/model";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import type { ProgressReports } from "../../job-protocol/progress-reports.ts";

/** Times are from `performance.now()`. `null`: not so at present. */
export interface WatchedJob {
  readonly name: string;
  readonly attemptId: AttemptId;
  readonly files: AttemptFiles;
  readonly isAdopted: boolean;
  isRunningTold: boolean;
  /** Name of the attempt for whose job it runs; its own, until a claim says another. */
  host: string;
  /** When a job was passed on to it that has not claimed it yet. */
  passedOnAtMs: number | null;
  progress: ProgressReports | null;
  /** Since when no complete answer of Slurm shows a job that waits or runs, and how many did not. */
  goneSinceMs: number | null;
  goneCount: number;
  /** Since when the job waits in Slurm. */
  pendingSinceMs: number | null;
  /** Signs of life as last read, by the first part of each look, and when they last changed. */
  readonly signs: Map<number, string>;
  /** First part whose signs are read next. */
  signsFrom: number;
  signChangedAtMs: number;
  submissions: number;
  isSubmitting: boolean;
  /** No submission before this time. */
  submitAtMs: number;
  /** Ended jobs that never claimed the attempt. */
  unclaimedEnds: number;
  /** No question about the nodes of the job before this time. */
  checkNodesAtMs: number;
  /** No sweep looks at its records before this time. */
  sweepAtMs: number;
  /** When the job is cancelled in Slurm, should its supervisors not have ended it. */
  cancelAtMs: number | null;
  /** Resolved when the upload of what the attempt made begins, which can take an hour. */
  readonly uploading: PromiseWithResolvers<void>;
}

export function watchedAttempt(attemptId: AttemptId, files: AttemptFiles, isAdopted: boolean): WatchedJob {
  return {
    name: files.key.name,
    attemptId,
    files,
    isAdopted,
    isRunningTold: false,
    host: files.key.name,
    passedOnAtMs: null,
    progress: null,
    goneSinceMs: null,
    goneCount: 0,
    pendingSinceMs: null,
    signs: new Map(),
    signsFrom: 0,
    signChangedAtMs: performance.now(),
    submissions: 0,
    isSubmitting: false,
    submitAtMs: 0,
    unclaimedEnds: 0,
    checkNodesAtMs: 0,
    sweepAtMs: 0,
    cancelAtMs: null,
    uploading: Promise.withResolvers(),
  };
}
