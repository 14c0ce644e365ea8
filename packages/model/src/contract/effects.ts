/**
 * Requests of the engine to an executor. Every effect may be repeated after a restart, so executors must treat effects
 * as idempotent for each attempt: to launch an attempt again, or to stop an attempt that has ended, does nothing.
 */
import type { AttemptId, WorkloadId } from "../resources/ids.ts";
import type { ExecutorId } from "../resources/fleet.ts";
import type { StopReason, WorkerAllocation } from "../resources/attempt.ts";
import type { ProducedArtifact, WorkloadSpec } from "../resources/workload.ts";

export interface LaunchGang {
  readonly kind: "launchGang";
  readonly executor: ExecutorId;
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly task: number;
  readonly number: number;
  /** The submitting user. Executors that run work as users of another system map it. */
  readonly actor: string;
  readonly spec: WorkloadSpec;
  readonly workers: readonly WorkerAllocation[];
  /** Artifacts of other workloads for which this workload waited, and versions that it uses. Absent: none. */
  readonly artifacts?: readonly LaunchArtifact[];
  /**
   * Checkpoints from which the work can resume. Absent: the workload names no store for them, or there are none. `reported`:
   * the newest that an attempt wrote, on the machine of that attempt. `stored`: the newest that is complete in a store.
   */
  readonly resume?: {
    readonly reported?: { readonly step: number; readonly path: string };
    readonly stored?: StoredCheckpoint;
  };
  /** Time between checkpoints. Absent: the workload decides. */
  readonly checkpointEveryMs?: number;
  /**
   * Journal sequence of the attempt's `gangPlaced`. Executors store it with the attempt and return it in `attempts()`.
   */
  readonly sequence: number;
}

/** An artifact with what is needed to bring its bytes to the node. */
export interface LaunchArtifact extends ProducedArtifact {
  /** Absent: unknown. */
  readonly digest?: string;
  /** Rule of its data. Absent: none. */
  readonly rule?: string;
  /** Places beside `path`. Absent: none. */
  readonly places?: readonly string[];
  /** Places in declared stores, the cheapest for the node first. Absent: there is at most one. */
  readonly nearest?: readonly string[];
}

/** A checkpoint in a store. `path`: its name in the checkpoint directory; empty: the directory itself. */
export interface StoredCheckpoint {
  readonly version: string;
  readonly step: number;
  readonly uri: string;
  readonly digest: string;
  /** Rule of its data. Absent: none. */
  readonly rule?: string;
  readonly bytes: number;
  readonly path: string;
}

export interface StopGang {
  readonly kind: "stopGang";
  readonly executor: ExecutorId;
  readonly attemptId: AttemptId;
  readonly graceTimeoutMs: number;
  readonly reason: StopReason;
}

/** Requests a checkpoint from the gang, which continues to run. It is stopped only by a separate `stopGang`. */
export interface CheckpointGang {
  readonly kind: "checkpointGang";
  readonly executor: ExecutorId;
  readonly attemptId: AttemptId;
  /** Instant until which the engine waits for the checkpoint. */
  readonly untilMs: number;
}

/**
 * Starts further workers of a running gang. Their ranks begin with `firstRank`. The ranks of running workers do not
 * change, so the effect may be repeated.
 */
export interface GrowGang {
  readonly kind: "growGang";
  readonly executor: ExecutorId;
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly firstRank: number;
  readonly workers: readonly WorkerAllocation[];
  /** The launch of the gang at its new size. The environment of the further workers is derived from it. */
  readonly launch: LaunchGang;
}

/**
 * Shrinks the gang to its first `workers` workers. The other workers get SIGTERM and, after the grace period, SIGKILL.
 */
export interface ShrinkGang {
  readonly kind: "shrinkGang";
  readonly executor: ExecutorId;
  readonly attemptId: AttemptId;
  readonly workers: number;
  readonly graceTimeoutMs: number;
  /**
   * Time limit of a checkpoint that is requested first. The workers are stopped when the checkpoint is reported or the
   * time is over. Absent: the workers are stopped at once.
   */
  readonly checkpointTimeoutMs?: number;
}

export interface ReplacedWorker {
  readonly rank: number;
  readonly worker: WorkerAllocation;
}

/**
 * Replaces workers whose node was lost or is about to leave: new workers start with the same ranks while the others
 * continue. Old processes that still run are stopped first. If the node is not lost but only disconnected, the executor
 * must prevent the old processes from rejoining the gang.
 */
export interface ReplaceWorkers {
  readonly kind: "replaceWorkers";
  readonly executor: ExecutorId;
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly workers: readonly ReplacedWorker[];
}

export type Effect = LaunchGang | StopGang | CheckpointGang | GrowGang | ShrinkGang | ReplaceWorkers;
