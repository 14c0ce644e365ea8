/** Attempts: runs of tasks, their workers, stops, exits and records. Durations and times in ms. */
import type { AcceleratorSet } from "./accelerator-set.ts";
import type { ClosedBy } from "./calendar.ts";
import type { AttemptId, NodeId, WorkloadId } from "./ids.ts";

/**
 * Allocation of one worker, in rank order within `Attempt.workers`. A worker with a part of an accelerator names
 * exactly one.
 */
export interface WorkerAllocation {
  readonly node: NodeId;
  readonly accelerators: AcceleratorSet;
  /** First memory slice of its MIG instance; absent: it has none. */
  readonly slice?: number;
  /** Thousandths of the accelerator that `acceleratorMemoryMib` takes on the node; absent: it requested no memory. */
  readonly shareMilli?: number;
  /** Index of its group in `GangSpec.taskGroups`; absent without task groups. */
  readonly taskGroup?: number;
}

/** A place that is reserved for a task until terminating work has ended. */
export interface Nomination {
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly task: number;
  readonly number: number;
  readonly acceleratorType: string;
  readonly workers: readonly WorkerAllocation[];
  /** True: for further workers of the running attempt with this id. False: for the start of the attempt. */
  readonly growth: boolean;
  readonly atMs: number;
  /** End of the back-off: not launched before; absent: launched at once. */
  readonly notBeforeMs?: number;
  /** The migrating attempt of the same task, which must end first; absent: none, or it has ended. */
  readonly afterAttempt?: AttemptId;
}

/**
 * Reason for stopping an attempt before it ends by itself. `scaledDown`: its endpoint needs fewer replicas. `notReady`:
 * the replica did not become ready in time. `restarted`: a proposal to restart the workload was approved.
 */
export type StopReason =
  | "cancelled"
  | "walltimeExceeded"
  | "nodeDrained"
  | "nodeLost"
  | "budgetSpent"
  | "scaledDown"
  | "notReady"
  | "restarted"
  | EvictionReason;

/**
 * Reason of an eviction. `preempted`: by higher priority in its own team. `reclaimed`: for a guarantee or a fair share.
 * `migrated`: moved to free capacity. `incomplete`: its gang fell below its minimum.
 */
export type EvictionReason = (typeof EVICTION_REASONS)[number];

const EVICTION_REASONS = ["preempted", "reclaimed", "migrated", "incomplete"] as const;
const evictionReasons: ReadonlySet<string> = new Set(EVICTION_REASONS);

/** Whether a stop for this reason is an eviction: the work stops counting for its team at once. */
export const isEviction = (reason: string): reason is EvictionReason => evictionReasons.has(reason);

/** Whether the reason is that of a preemption plan; a gang that fell below its minimum is evicted without a plan. */
export const isPlannedEviction = (reason: string): boolean => reason !== "incomplete" && isEviction(reason);

/** Ranks of an attempt's workers, in the order of `workers`: all except missing ones. */
export function ranksOf({ workers, missing = [] }: Pick<Attempt, "workers" | "missing">): readonly number[] {
  const all = Array.from({ length: workers.length + missing.length }, (_, rank) => rank);
  return missing.length === 0 ? all : all.filter((rank) => !missing.includes(rank));
}

/** The node of the worker with a rank; `null`: the rank is missing, or does not exist. */
export function nodeOfRank(attempt: Pick<Attempt, "workers" | "missing">, rank: number): NodeId | null {
  const { workers, missing = [] } = attempt;
  const position = missing.length === 0 ? rank : ranksOf(attempt).indexOf(rank);
  return workers[position]?.node ?? null;
}

/** A stop in progress: its time and reason. */
export interface AttemptStop {
  readonly reason: StopReason;
  readonly atMs: number;
  /**
   * Time limit of the requested checkpoint; absent: no checkpoint was requested, and the executor was asked to stop the
   * attempt at `atMs`.
   */
  readonly checkpointUntilMs?: number;
  /** The window or notice that causes the stop; absent: none, or an older version of the event. */
  readonly closedBy?: ClosedBy;
}

/** Latest time at which the attempt ends if its executor stops it as requested. */
export const stoppedByMs = ({ atMs, checkpointUntilMs }: AttemptStop, graceTimeoutMs: number): number =>
  (checkpointUntilMs ?? atMs) + graceTimeoutMs;

export type WorkerExit =
  | {
      readonly kind: "exited";
      readonly worker: number;
      readonly code: number;
      readonly outOfMemoryMib?: number | undefined;
    }
  /** `outOfMemoryMib`: the worker's limit of memory, if the kernel killed a process of it there. Absent: it did not. */
  | {
      readonly kind: "signalled";
      readonly worker: number;
      readonly signal: string;
      readonly outOfMemoryMib?: number | undefined;
    };

/**
 * `records`: the executor's records of the attempt are unreadable or not authentic. `supervisor`: the supervisor
 * process was killed. A workload can cause both, so the number of retries is bounded. `store`: a store did not give the
 * bytes of an input. `inputs`: an input does not exist, has other bytes than its version, or must not be on the node.
 */
export type LossCause = "records" | "supervisor" | "store" | "inputs";

/**
 * `failed`: by its own exit. `stopped`: on request of the control plane. `lost`: by the fleet (node, launch,
 * supervisor).
 */
export type AttemptOutcome = "succeeded" | "failed" | "stopped" | "lost";

export interface Attempt {
  readonly id: AttemptId;
  readonly workloadId: WorkloadId;
  readonly task: number;
  /** 1 for a task's first attempt. */
  readonly number: number;
  readonly phase: "launching" | "running" | "stopping";
  /** Accelerator type; with task groups, the type of the first group that needs accelerators. */
  readonly acceleratorType: string;
  readonly workers: readonly WorkerAllocation[];
  /** Journal sequence of the event that placed the attempt. */
  readonly placedSequence: number;
  readonly placedAtMs: number;
  readonly startedAtMs: number | null;
  readonly stop: AttemptStop | null;
  /** The newest recorded progress estimate; reports between two estimates are in the telemetry store. */
  readonly progress: AttemptProgress | null;
  /** Found only in journals from before the telemetry store. */
  readonly utilization?: AttemptUtilization;
  /** Time since when none of the attempt's accelerators is busy; absent: one is busy, or no report exists. */
  readonly idleSinceMs?: number;
  /** Workers that are being stopped while the gang continues, in rank order; absent: none. */
  readonly terminating?: readonly WorkerAllocation[];
  /**
   * Ranks whose workers were lost with their nodes and have no new place; `workers` contains the other ranks in order.
   * Remains set after a batch only if the attempt is being stopped.
   */
  readonly missing?: readonly number[];
  /** Ranks with a new place whose workers have not joined the gang yet; absent: none. */
  readonly joining?: readonly number[];
  /** Predicted run time, with corrections; absent: the walltime is used. */
  readonly prediction?: Prediction;
  /** The last growth failed; the gang requests no further workers since this time. Absent: it may grow. */
  readonly joinFailure?: JoinFailure;
  /**
   * End of the back-off, during which the attempt keeps its predecessor's place and is not launched; absent: it was
   * launched.
   */
  readonly launchAtMs?: number;
  /** Time in ms that the transfer of its inputs is expected to take at most, from the placement; absent: none, or unknown. */
  readonly stagingMs?: number;
  /** Since when the replica takes requests, and where; absent: it does not. */
  readonly ready?: ReplicaReadiness;
  /** Time at which the replica, which had been ready, stopped answering; absent: it answers, or was never ready. */
  readonly notReadySinceMs?: number;
  /** Number of the revision of its endpoint that it runs; absent: 1. */
  readonly revisionNumber?: number;
  /** True: the attempt gave up its team's cells to other work of the team and continues as opportunistic work. */
  readonly opportunistic?: true;
}

export interface ReplicaReadiness {
  readonly atMs: number;
  /** Host and port of the replica's HTTP server. */
  readonly address: string;
}

/** Predicted run time for plans; never longer than the walltime. */
export interface Prediction {
  readonly durationMs: number;
  /** Number of earlier runs behind the prediction. */
  readonly runs: number;
  /** How often the run exceeded its prediction, which was then extended; absent: never. */
  readonly corrections?: number;
}

export interface JoinFailure {
  readonly atMs: number;
  /** Detail from the executor's report. */
  readonly detail: string;
}

/** Reported utilisation of an attempt's accelerators: the last report, and extremes over all reports. */
export interface AttemptUtilization {
  readonly atMs: number;
  readonly accelerators: number;
  readonly busyAccelerators: number;
  readonly busyMilli: number;
  /** Maximum over all reports. */
  readonly mostBusyAccelerators: number;
  /** Time of the last report with a busy accelerator, or of the start. */
  readonly busyAtMs: number;
  readonly peakMemoryMib: number | null;
  readonly capacityMib: number | null;
}

export interface AttemptProgress {
  readonly atMs: number;
  readonly step: number;
  readonly totalSteps: number | null;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface Checkpoint {
  readonly step: number;
  readonly path: string;
  readonly atMs: number;
  readonly attemptId: AttemptId;
}

/** The record of an ended attempt. */
export interface EndedAttempt {
  readonly id: AttemptId;
  readonly task: number;
  readonly number: number;
  readonly acceleratorType: string;
  readonly workers: readonly WorkerAllocation[];
  readonly placedAtMs: number;
  readonly startedAtMs: number | null;
  readonly endedAtMs: number;
  readonly outcome: AttemptOutcome;
  /** The worker's exit that decided the outcome; null: no exit did. */
  readonly exit: WorkerExit | null;
  /** One sentence for people, such as the launch error; `""` if the outcome needs no detail. */
  readonly detail: string;
  readonly stopReason: StopReason | null;
  /** The window or notice that caused the stop; absent: none, or an older version of the event. */
  readonly closedBy?: ClosedBy;
}

/**
 * Rule by which a victim was chosen if teams borrow. In order: within its own team; for a guarantee of the preemptor's
 * side; for the smaller share of two sides that both borrow; low priority, while the preemptor's team borrows.
 */
export type PreemptionGround = "withinTeam" | "reclaimGuarantee" | "reclaimShare" | "reclaimWhileBorrowing";

/** Number of kept attempts: enough to recognise a restart loop, and small enough for 100,000 workloads. */
export const ENDED_ATTEMPTS_KEPT = 16;
