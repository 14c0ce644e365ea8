/**
 * Requests of the engine to an executor. Every effect may be repeated after a restart, so executors treat them as
 * idempotent by attempt: launching an attempt that was ever claimed, or stopping one that has ended, does nothing.
 */
import type { AttemptId, WorkloadId } from "../model/ids.ts";
import type { ExecutorId } from "../model/fleet.ts";
import type { Artifact, StopReason, WorkerAllocation, WorkloadSpec } from "../model/workload.ts";

export interface LaunchGang {
  readonly kind: "launchGang";
  readonly executor: ExecutorId;
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly task: number;
  readonly number: number;
  readonly spec: WorkloadSpec;
  /** In rank order. */
  readonly workers: readonly WorkerAllocation[];
  /** Artifacts of other work that it waited for; absent: none. */
  readonly artifacts?: readonly Artifact[];
  /** Time between checkpoints; absent: the work decides. */
  readonly checkpointEveryMs?: number;
  /** The journal sequence of its `gangPlaced`; executors store it with the attempt and return it in `inventory`. */
  readonly sequence: number;
}

export interface StopGang {
  readonly kind: "stopGang";
  readonly executor: ExecutorId;
  readonly attemptId: AttemptId;
  readonly graceTimeoutMs: number;
  readonly reason: StopReason;
}

/** Asks the gang to write and report a checkpoint; it continues meanwhile, and a separate `stopGang` stops it. */
export interface CheckpointGang {
  readonly kind: "checkpointGang";
  readonly executor: ExecutorId;
  readonly attemptId: AttemptId;
  /** How long the engine waits for the checkpoint. */
  readonly untilMs: number;
}

/**
 * Starts more workers for a running gang, with the ranks from `firstRank` on. Existing ranks are left alone, so this
 * may be repeated.
 */
export interface GrowGang {
  readonly kind: "growGang";
  readonly executor: ExecutorId;
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly firstRank: number;
  readonly workers: readonly WorkerAllocation[];
  /** The launch of the gang at its new size, from which the environment of the further workers is derived. */
  readonly launch: LaunchGang;
}

/** The gang continues with its first `workers` workers; the others get SIGTERM and, after the grace period, SIGKILL. */
export interface ShrinkGang {
  readonly kind: "shrinkGang";
  readonly executor: ExecutorId;
  readonly attemptId: AttemptId;
  readonly workers: number;
  readonly graceTimeoutMs: number;
  /**
   * The gang is first asked for a checkpoint, and the other workers are stopped when it reports one, or after this
   * time; absent: at once.
   */
  readonly checkpointTimeoutMs?: number;
}

export interface ReplacedWorker {
  readonly rank: number;
  readonly worker: WorkerAllocation;
}

/**
 * Replaces workers that were lost with their node, or that leave it before it goes: new ones start with the same ranks,
 * while the others wait or continue. Remaining old processes are stopped first. If the node is only cut off, the
 * executor must prevent it from coming back.
 */
export interface ReplaceWorkers {
  readonly kind: "replaceWorkers";
  readonly executor: ExecutorId;
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly workers: readonly ReplacedWorker[];
}

export type Effect = LaunchGang | StopGang | CheckpointGang | GrowGang | ShrinkGang | ReplaceWorkers;
