/**
 * What the engine asks of an executor. Every effect may be asked again after a restart, so executors treat them as
 * idempotent by attempt: launching an attempt that was ever claimed, or stopping one that has ended, does nothing.
 */
import type { AttemptId, WorkloadId } from "../model/ids.ts";
import type { ExecutorKind } from "../model/fleet.ts";
import type { Artifact, StopReason, WorkerAllocation, WorkloadSpec } from "../model/workload.ts";

export interface LaunchGang {
  readonly kind: "launchGang";
  readonly executor: ExecutorKind;
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly task: number;
  readonly number: number;
  readonly spec: WorkloadSpec;
  /** In rank order. */
  readonly workers: readonly WorkerAllocation[];
  /** What it waited for and was produced by others; absent: nothing. */
  readonly artifacts?: readonly Artifact[];
  /** The journal sequence of the `gangPlaced` behind it; executors keep it with the attempt and give it back in `inventory`. */
  readonly sequence: number;
}

export interface StopGang {
  readonly kind: "stopGang";
  readonly executor: ExecutorKind;
  readonly attemptId: AttemptId;
  readonly graceTimeoutMs: number;
  readonly reason: StopReason;
}

/** The gang is asked to write a checkpoint and to report it; it goes on meanwhile, and is stopped by a `stopGang` of its own. */
export interface CheckpointGang {
  readonly kind: "checkpointGang";
  readonly executor: ExecutorKind;
  readonly attemptId: AttemptId;
  /** How long it will be waited for. */
  readonly untilMs: number;
}

/** More workers for a gang that runs, with the ranks from `firstRank` on. A rank that it has is left alone: so this may be asked again. */
export interface GrowGang {
  readonly kind: "growGang";
  readonly executor: ExecutorKind;
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly firstRank: number;
  readonly workers: readonly WorkerAllocation[];
  /** As the gang would be launched at its new size: what the further workers are to find is told from it. */
  readonly launch: LaunchGang;
}

/** The gang goes on with its first `workers` workers; the others get SIGTERM and, after the grace period, SIGKILL. */
export interface ShrinkGang {
  readonly kind: "shrinkGang";
  readonly executor: ExecutorKind;
  readonly attemptId: AttemptId;
  readonly workers: number;
  readonly graceTimeoutMs: number;
  /** The gang is asked for a checkpoint first, and the others are told to leave when it has reported one, or after this time; absent: at once. */
  readonly checkpointTimeoutMs?: number;
}

export interface ReplacedWorker {
  readonly rank: number;
  readonly worker: WorkerAllocation;
}

/**
 * Workers were lost with their node, or leave it before it goes: these start in their places, with the same ranks, while the others
 * wait for them or go on. What still runs of the old ones is stopped first, and where the node is only cut off it must not come
 * back: the executor sees to that.
 */
export interface ReplaceWorkers {
  readonly kind: "replaceWorkers";
  readonly executor: ExecutorKind;
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly workers: readonly ReplacedWorker[];
}

export type Effect = LaunchGang | StopGang | CheckpointGang | GrowGang | ShrinkGang | ReplaceWorkers;
