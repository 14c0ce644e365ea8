/** One attempt as its records state it, and what this process has seen of it. */
import type { AttemptId } from "@headroom/model";
import type { KnownAttempt } from "../../executor.ts";
import type { AttemptFiles, ExitRecord, LaunchRecord } from "../../job-protocol/attempt-files.ts";
import { UnreadableRecord } from "../../job-protocol/attempt-files.ts";
import { partFiles, partsOf } from "../../job-protocol/attempt-parts.ts";
import type { ProgressReports } from "./progress-reports.ts";

export type RecordedState =
  | { readonly kind: "absent" }
  /** No job has claimed it: none was submitted, it waits in Slurm, or it is starting. */
  | { readonly kind: "unclaimed"; readonly launch: LaunchRecord }
  | { readonly kind: "starting"; readonly launch: LaunchRecord }
  | { readonly kind: "running"; readonly launch: LaunchRecord }
  | { readonly kind: "ended"; readonly launch: LaunchRecord | null; readonly exit: ExitRecord }
  | { readonly kind: "unreadable"; readonly detail: string };

/** Throws only temporary errors of the file system. */
export function readState(files: AttemptFiles): RecordedState {
  try {
    const launch = files.read("launch.json");
    const exit = files.read("exit.json");
    if (exit !== null) return { kind: "ended", launch, exit };
    if (launch === null) return { kind: "absent" };
    if (files.read("claim.json") === null) return { kind: "unclaimed", launch };
    const isRunning = partsOf(launch).every((_, part) => partFiles(files.key, part).has("running.json"));
    return { kind: isRunning ? "running" : "starting", launch };
  } catch (error) {
    // A shared file system that fails (EIO, ESTALE, an expired ticket) says nothing about the content of a record.
    if (!(error instanceof UnreadableRecord) || hasFailed(error.cause)) throw error;
    const exit = files.readIfSound("exit.json");
    if (exit !== null) return { kind: "ended", launch: files.readIfSound("launch.json"), exit };
    return { kind: "unreadable", detail: `A record of the attempt is unreadable: ${error.message}.` };
  }
}

/** Whether an error of the file system kept a record from being read. A link in its place (ELOOP) is none of Headroom's. */
const hasFailed = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code !== "ELOOP";

/** `null`: the attempt was never launched here. */
export function knownAttempt(attemptId: AttemptId, state: RecordedState): KnownAttempt | null {
  if (state.kind === "absent") return null;
  const launch = "launch" in state ? state.launch : null;
  const { workloadId = null, sequence = 0 } = launch ?? {};
  return { attemptId, workloadId, sequence, phase: phaseOf(state) };
}

function phaseOf(state: Exclude<RecordedState, { kind: "absent" }>): KnownAttempt["phase"] {
  if (state.kind === "unclaimed") return { kind: "launching" };
  if (state.kind !== "ended") return { kind: "running" };
  const { exit } = state;
  if (exit.kind === "exited") return { kind: "ended", endedAtMs: exit.endedAtMs, exits: exit.exits };
  const { endedAtMs, detail, cause } = exit;
  return { kind: "lost", endedAtMs, detail, ...(cause === undefined ? {} : { cause }) };
}

/** Times are from `performance.now()`. `null`: not so at present. */
export interface WatchedJob {
  readonly name: string;
  readonly attemptId: AttemptId;
  readonly files: AttemptFiles;
  readonly isAdopted: boolean;
  isRunningTold: boolean;
  progress: ProgressReports | null;
  /** Since when no complete answer of Slurm shows a job that waits or runs, and how many did not. */
  goneSinceMs: number | null;
  goneCount: number;
  /** Since when the job waits in Slurm. */
  pendingSinceMs: number | null;
  /** Signs of life of the parts, as last read, and when they last changed. */
  signs: string;
  signChangedAtMs: number;
  submissions: number;
  isSubmitting: boolean;
  /** No submission before this time. */
  submitAtMs: number;
  /** Ended jobs that never claimed the attempt. */
  unclaimedEnds: number;
  /** No question about the nodes of the job before this time. */
  checkNodesAtMs: number;
  /** When the job is cancelled in Slurm, should its supervisors not have ended it. */
  cancelAtMs: number | null;
}

export function watchedAttempt(attemptId: AttemptId, files: AttemptFiles, isAdopted: boolean): WatchedJob {
  return {
    name: files.key.name,
    attemptId,
    files,
    isAdopted,
    isRunningTold: false,
    progress: null,
    goneSinceMs: null,
    goneCount: 0,
    pendingSinceMs: null,
    signs: "",
    signChangedAtMs: performance.now(),
    submissions: 0,
    isSubmitting: false,
    submitAtMs: 0,
    unclaimedEnds: 0,
    checkNodesAtMs: 0,
    cancelAtMs: null,
  };
}
