/**
 * All inputs of the engine. A command requests a change and gets a reply; an observation reports what an executor saw;
 * a signal reports what a workload's process says of itself; a tick reports that time passed. Inputs were validated at
 * the edge.
 */
import type { AttemptId, CommandId, NodeId, PoolName, TeamName, WorkloadId } from "../model/ids.ts";
import type { ExecutorSpec, NodeSpec, Pool, Site } from "../model/fleet.ts";
import type { Team } from "../model/team.ts";
import type { Artifact, LossCause, WorkerExit, WorkloadSpec } from "../model/workload.ts";
import type { Schedule } from "../model/schedule.ts";
import type { CalendarEntry } from "../model/calendar.ts";
import type { Policy } from "../policy/policy.ts";

interface CommandCommon {
  readonly commandId: CommandId;
  readonly actor: string;
  /** A retry with the same key gets the first answer again; `null`: no such guarantee. */
  readonly idempotencyKey: string | null;
}

export type Command =
  | (CommandCommon & { readonly kind: "submitWorkload"; readonly spec: WorkloadSpec })
  | (CommandCommon & { readonly kind: "stopWorkload"; readonly workloadId: WorkloadId })
  /** No further task starts until it is released; running tasks continue. */
  | (CommandCommon & { readonly kind: "holdWorkload"; readonly workloadId: WorkloadId })
  | (CommandCommon & { readonly kind: "releaseWorkload"; readonly workloadId: WorkloadId })
  /** The tasks of an ended workload that did not succeed run again, under its id and behind its earlier attempts. */
  | (CommandCommon & { readonly kind: "rerunWorkload"; readonly workloadId: WorkloadId })
  /**
   * All or nothing. A workload that exists under its team and name with the same spec, ended or not, is left unchanged.
   */
  | (CommandCommon & {
      readonly kind: "apply";
      readonly sites: readonly Site[];
      readonly pools: readonly Pool[];
      readonly teams: readonly Team[];
      readonly workloads: readonly WorkloadSpec[];
      readonly calendar?: readonly CalendarEntry[] | undefined;
      readonly schedules?: readonly Schedule[] | undefined;
    })
  | (CommandCommon & { readonly kind: "removeSchedule"; readonly name: string })
  | (CommandCommon & { readonly kind: "removeCalendarEntry"; readonly name: string })
  | (CommandCommon & { readonly kind: "removeTeam"; readonly team: TeamName })
  /** `requeue` stops running work (with its grace period) and puts it back in the queue; `wait` lets it finish. */
  | (CommandCommon & { readonly kind: "drainNode"; readonly nodeId: NodeId; readonly running: "wait" | "requeue" })
  | (CommandCommon & { readonly kind: "resumeNode"; readonly nodeId: NodeId })
  /**
   * Notice that the provider takes the node away: at an instant, or a duration after the command is decided. A later
   * notice replaces an earlier one.
   */
  | (CommandCommon & {
      readonly kind: "noticeNode";
      readonly nodeId: NodeId;
      readonly gone: { readonly atMs: number } | { readonly inMs: number };
      readonly reason?: string | undefined;
    })
  /** Withdraws the notice. */
  | (CommandCommon & { readonly kind: "withdrawNotice"; readonly nodeId: NodeId })
  | (CommandCommon & { readonly kind: "setPolicy"; readonly policy: Policy });

export type Observation =
  /** An executor introduces itself at each start of the control plane. */
  | { readonly kind: "executorSeen"; readonly executor: ExecutorSpec }
  /** The accelerators that the executor finds on the nodes of a pool; absent family: the type has none. */
  | {
      readonly kind: "acceleratorsSeen";
      readonly pool: PoolName;
      readonly acceleratorType: string;
      readonly acceleratorFamily?: string;
    }
  | { readonly kind: "nodeSeen"; readonly node: NodeSpec }
  | { readonly kind: "nodeUnreachable"; readonly nodeId: NodeId; readonly detail: string }
  /** The executor's notice that the node goes at this instant; a later notice replaces an earlier one. */
  | { readonly kind: "nodeNotice"; readonly nodeId: NodeId; readonly goneAtMs: number }
  | { readonly kind: "attemptRunning"; readonly attemptId: AttemptId }
  /** All workers have ended: their exits in the order in which they happened. */
  | {
      readonly kind: "attemptExited";
      readonly attemptId: AttemptId;
      readonly exits: readonly WorkerExit[];
      /** Artifacts that were not reported while it ran; absent: none. */
      readonly artifacts?: readonly Artifact[];
    }
  /**
   * The stopped workers of a shrunk gang have ended. `workers`: the number that continues, which identifies an answer
   * that crosses another request; absent: the number last requested.
   */
  | { readonly kind: "workersLeft"; readonly attemptId: AttemptId; readonly workers?: number }
  /** The replacement workers of a gang have joined. */
  | { readonly kind: "workersJoined"; readonly attemptId: AttemptId }
  /**
   * A further worker of a growing gang could not be started or ended at once: the gang continues with its first
   * `workers` workers, and none of the others runs.
   */
  | {
      readonly kind: "joinFailed";
      readonly attemptId: AttemptId;
      readonly workers: number;
      readonly detail: string;
    }
  /** It never ran (claim lost, no such directory, executor down) or its supervisor vanished without an exit record. */
  | {
      readonly kind: "attemptLost";
      readonly attemptId: AttemptId;
      readonly detail: string;
      /** Set if the workload itself may be the cause; absent: the machine is. */
      readonly cause?: LossCause;
    };

/** An attempt's place in its run: attempt, step, total steps. A tuple, since a batch may hold thousands of them. */
export type ProgressEstimate = readonly [attemptId: AttemptId, step: number, totalSteps: number];

/** An attempt and since when none of its accelerators is busy, ms; `null`: at least one of them is busy again. */
export type IdleChange = readonly [attemptId: AttemptId, idleSinceMs: number | null];

/** Utilisation of an attempt's accelerators since the last report, for workers that report it. */
export interface UtilizationReport {
  /** Number of reported accelerators. */
  readonly accelerators: number;
  /** Number of accelerators above the noise level. */
  readonly busyAccelerators: number;
  /** Mean share of busy time, in thousandths. */
  readonly busyMilli: number;
  /** Largest memory in use of one accelerator, and the smallest capacity; `null`: not reported. */
  readonly peakMemoryMib: number | null;
  readonly capacityMib: number | null;
}

/** A kind of fault in an attempt's progress file, with the first line that has it. */
export interface RejectedLine {
  readonly problem: string;
  /** A line that would be accepted. */
  readonly expected: string;
  /** Cut, without control characters. */
  readonly line: string;
  /** Rank of its worker; `null`: unknown. */
  readonly worker: number | null;
  /** Lines with this fault. */
  readonly count: number;
}

export type Signal =
  | ({ readonly kind: "utilizationReported"; readonly attemptId: AttemptId } & UtilizationReport)
  | {
      readonly kind: "progressReported";
      readonly attemptId: AttemptId;
      readonly step: number;
      readonly totalSteps: number | null;
      readonly metrics: Readonly<Record<string, number>>;
    }
  /** The newest of the above for many attempts: a driver sends these alone and keeps the reports outside the journal. */
  | { readonly kind: "estimatesReported"; readonly estimates: readonly ProgressEstimate[] }
  /** The same for utilization. */
  | { readonly kind: "idleChangesReported"; readonly changes: readonly IdleChange[] }
  | {
      readonly kind: "artifactReported";
      readonly attemptId: AttemptId;
      readonly name: string;
      readonly path: string;
    }
  /** Lines that are not reports, since the executor began to read them. The engine ignores it: drivers keep it with telemetry. */
  | {
      readonly kind: "linesRejected";
      readonly attemptId: AttemptId;
      readonly count: number;
      readonly faults: readonly RejectedLine[];
    }
  | {
      readonly kind: "checkpointReported";
      readonly attemptId: AttemptId;
      readonly step: number;
      readonly path: string;
    };

export type Tick = { readonly kind: "tick" };

export type Input = Command | Observation | Signal | Tick;
