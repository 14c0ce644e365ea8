/**
 * Everything that reaches the engine. A command asks and gets a reply; an observation reports what an executor saw; a signal
 * reports what a workload's process says of itself; a tick says that time passed. Inputs were validated at the edge.
 */
import type { AttemptId, CommandId, NodeId, TeamName, WorkloadId } from "../model/ids.ts";
import type { NodeSpec, Pool, Site } from "../model/fleet.ts";
import type { Team } from "../model/team.ts";
import type { Artifact, LossCause, WorkerExit, WorkloadSpec } from "../model/workload.ts";
import type { Schedule } from "../model/schedule.ts";
import type { CalendarEntry } from "../model/calendar.ts";
import type { Policy } from "../policy/policy.ts";

interface CommandCommon {
  readonly commandId: CommandId;
  readonly actor: string;
  /** A retry with the same key gets the first answer again; `null`: no such promise. */
  readonly idempotencyKey: string | null;
}

export type Command =
  | (CommandCommon & { readonly kind: "submitWorkload"; readonly spec: WorkloadSpec })
  | (CommandCommon & { readonly kind: "stopWorkload"; readonly workloadId: WorkloadId })
  /** Nothing of it starts until it is released; what runs goes on. */
  | (CommandCommon & { readonly kind: "holdWorkload"; readonly workloadId: WorkloadId })
  | (CommandCommon & { readonly kind: "releaseWorkload"; readonly workloadId: WorkloadId })
  /** The tasks of an ended workload that did not succeed run again, under its id and behind its earlier attempts. */
  | (CommandCommon & { readonly kind: "rerunWorkload"; readonly workloadId: WorkloadId })
  /** All or nothing. A workload that exists under its team and name with the same spec, ended or not, is left as it is. */
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
  /** `requeue` stops what runs there (with its grace) and puts it back in the queue; `wait` lets it finish. */
  | (CommandCommon & { readonly kind: "drainNode"; readonly nodeId: NodeId; readonly running: "wait" | "requeue" })
  | (CommandCommon & { readonly kind: "resumeNode"; readonly nodeId: NodeId })
  /** Whoever lends the node takes it away: at an instant, or so long after the command is decided. Said again, the latest word counts. */
  | (CommandCommon & {
      readonly kind: "noticeNode";
      readonly nodeId: NodeId;
      readonly gone: { readonly atMs: number } | { readonly inMs: number };
      readonly reason?: string | undefined;
    })
  /** The node stays. */
  | (CommandCommon & { readonly kind: "withdrawNotice"; readonly nodeId: NodeId })
  | (CommandCommon & { readonly kind: "setPolicy"; readonly policy: Policy });

export type Observation =
  | { readonly kind: "nodeSeen"; readonly node: NodeSpec }
  | { readonly kind: "nodeUnreachable"; readonly nodeId: NodeId; readonly detail: string }
  /** Whoever lends the node takes it away at this instant; told again, the latest word counts. */
  | { readonly kind: "nodeNotice"; readonly nodeId: NodeId; readonly goneAtMs: number }
  | { readonly kind: "attemptRunning"; readonly attemptId: AttemptId }
  /** All workers have ended: their exits in the order in which they happened. */
  | {
      readonly kind: "attemptExited";
      readonly attemptId: AttemptId;
      readonly exits: readonly WorkerExit[];
      /** What it produced, where nothing was reported while it ran; absent: nothing. */
      readonly artifacts?: readonly Artifact[];
    }
  /**
   * Of a gang that was asked to shrink, the workers that were to leave have left. `workers`: so many go on, so that an answer that
   * crosses another request is known as such; absent: as many as were last asked for.
   */
  | { readonly kind: "workersLeft"; readonly attemptId: AttemptId; readonly workers?: number }
  /** Of a gang that lost workers with a node, those in new places work with the others. */
  | { readonly kind: "workersJoined"; readonly attemptId: AttemptId }
  /**
   * Of a gang that was to grow, a further worker could not be started or ended at once: the gang goes on with its first `workers`
   * workers, and nothing runs of the others.
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
      /** Set where the workload itself may be the cause; absent: the machine is. */
      readonly cause?: LossCause;
    };

/** How busy an attempt's accelerators were since the report before, of those whose workers report it. */
export interface UtilizationReport {
  /** How many are reported on. */
  readonly accelerators: number;
  /** How many of them did anything worth speaking of. */
  readonly busyAccelerators: number;
  /** The mean share of time in which they were busy, in thousandths. */
  readonly busyMilli: number;
  /** Most memory of one accelerator in use, and how much the smallest has; `null`: not told. */
  readonly peakMemoryMib: number | null;
  readonly capacityMib: number | null;
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
  | {
      readonly kind: "artifactReported";
      readonly attemptId: AttemptId;
      readonly name: string;
      readonly path: string;
    }
  | {
      readonly kind: "checkpointReported";
      readonly attemptId: AttemptId;
      readonly step: number;
      readonly path: string;
    };

export type Tick = { readonly kind: "tick" };

export type Input = Command | Observation | Signal | Tick;
