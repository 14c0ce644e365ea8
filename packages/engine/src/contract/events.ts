/**
 * Everything the engine records: facts in the past tense. The journal holds them in this form, as JSON. A kind's
 * `version` grows when its fields change; `apply/` still reads the older ones, and an unknown kind prevents the start.
 */
import type { AttemptId, NodeId, TeamName, WorkloadId } from "../model/ids.ts";
import type { IdleChange, ProgressEstimate, UtilizationReport } from "./inputs.ts";
import type { ExecutorSpec, NodeSpec, Pool, Site } from "../model/fleet.ts";
import type { Team } from "../model/team.ts";
import type {
  Artifact,
  AttemptOutcome,
  EndReason,
  EvictionReason,
  EvictionRight,
  Prediction,
  Nomination,
  StopReason,
  WaitsFor,
  WorkerAllocation,
  WorkerExit,
  WorkloadSpec,
} from "../model/workload.ts";
import type { CommandResult } from "./replies.ts";
import type { Schedule } from "../model/schedule.ts";
import type { CalendarEntry, ClosedBy } from "../model/calendar.ts";
import type { Policy } from "../policy/policy.ts";

interface Fact<Kind extends string, Version extends number = 1> {
  readonly kind: Kind;
  readonly version: Version;
  readonly atMs: number;
}

export type FleetEvent =
  | (Fact<"siteDefined"> & { readonly site: Site })
  /** A new executor, or other capabilities of a known one. */
  | (Fact<"executorRegistered"> & { readonly executor: ExecutorSpec })
  | (Fact<"poolDefined", 3> & { readonly pool: Pool })
  | (Fact<"nodeJoined", 2> & { readonly node: NodeSpec })
  | (Fact<"nodeChanged", 2> & { readonly node: NodeSpec })
  | (Fact<"nodeLost"> & { readonly nodeId: NodeId; readonly detail: string })
  | (Fact<"nodeReturned"> & { readonly nodeId: NodeId })
  | (Fact<"nodeDrainStarted"> & { readonly nodeId: NodeId; readonly actor: string })
  | (Fact<"nodeResumed"> & { readonly nodeId: NodeId; readonly actor: string })
  /** The node becomes a hot spare for work that loses nodes. */
  | (Fact<"hotSpareReserved"> & { readonly nodeId: NodeId })
  /** The node is no longer a hot spare. `workloadId`: the workload that took it. */
  | (Fact<"hotSpareReleased"> & {
      readonly nodeId: NodeId;
      readonly reason: HotSpareEnd;
      readonly workloadId: WorkloadId | null;
    });

/**
 * `taken` by work that lost a node; `lost` or `drained`: the node itself; `calendar`: a window has it; `fewer`: its
 * pool declares fewer.
 */
export type HotSpareEnd = "taken" | "lost" | "drained" | "calendar" | "fewer";

export type GovernanceEvent =
  | (Fact<"teamDefined", 4> & { readonly team: Team })
  | (Fact<"teamRemoved"> & { readonly team: TeamName })
  | (Fact<"policySet", 5> & { readonly policy: Policy })
  /** A part of a team's budget of this period is used up. `spent` and `limit` of the resource with the larger part. */
  | (Fact<"budgetCrossed"> & {
      readonly team: TeamName;
      readonly percent: number;
      readonly resource: "gpuHours" | "money";
      readonly limit: number;
      readonly spent: number;
      readonly periodStartMs: number;
    })
  | (Fact<"budgetRenewed", 2> & { readonly team: TeamName })
  /** Stores the answer to a command with an idempotency key; `fingerprint` tells a retry from a reused key. */
  | (Fact<"commandAnswered"> & { readonly key: string; readonly fingerprint: string; readonly result: CommandResult });

export type CalendarEvent =
  /** `nodes`: those chosen for a reservation by amount. Replaces an entry of the same name. */
  | (Fact<"calendarSet"> & {
      readonly entry: CalendarEntry;
      readonly actor: string;
      readonly nodes?: readonly NodeId[];
    })
  | (Fact<"calendarRemoved"> & { readonly name: string; readonly actor: string })
  | (Fact<"windowBegan"> & { readonly name: string })
  /** The window is over, and it is removed from the calendar. */
  | (Fact<"windowEnded"> & {
      readonly name: string;
      /**
       * Fingerprint of the entry (`entryFingerprint`), by which its document is recognised when it is applied again;
       * absent: no document declared it.
       */
      readonly fingerprint?: string;
    });

export type ScheduleEvent =
  | (Fact<"scheduleSet", 2> & { readonly schedule: Schedule; readonly actor: string })
  | (Fact<"scheduleRemoved"> & { readonly name: string; readonly actor: string })
  /** A schedule was due and submitted this; `null`: nothing, and `left` says why. */
  | (Fact<"scheduleRan", 2> & {
      readonly name: string;
      readonly dueAtMs: number;
      readonly submittedId: WorkloadId | null;
      readonly left: string;
    });

export type WorkloadEvent =
  | (Fact<"workloadSubmitted", 3> & {
      readonly workloadId: WorkloadId;
      readonly spec: WorkloadSpec;
      readonly actor: string;
      /** Dependencies of `spec.after` that had not ended yet; absent: none. */
      readonly waitsFor?: readonly WaitsFor[];
      /** Artifacts it waits for that existed already; absent: none. */
      readonly given?: readonly Artifact[];
    })
  /** An ended workload waits again with the tasks that did not succeed. It stands in the queue as if submitted now. */
  | (Fact<"workloadRerun"> & {
      readonly workloadId: WorkloadId;
      readonly actor: string;
      /** As in `workloadSubmitted`. */
      readonly waitsFor?: readonly WaitsFor[];
      readonly given?: readonly Artifact[];
    })
  | (Fact<"workloadHeld"> & { readonly workloadId: WorkloadId; readonly actor: string })
  | (Fact<"workloadReleased"> & { readonly workloadId: WorkloadId; readonly actor: string })
  /** Power is cheap and clean enough for it, or its latest start has come. */
  | (Fact<"startWindowOpened"> & { readonly workloadId: WorkloadId })
  /** Power is no longer cheap or clean enough: tasks that have not started wait for the next window. */
  | (Fact<"startWindowClosed"> & { readonly workloadId: WorkloadId })
  | (Fact<"workloadStopRequested"> & { readonly workloadId: WorkloadId; readonly actor: string })
  | (Fact<"workloadEnded"> & {
      readonly workloadId: WorkloadId;
      readonly phase: "succeeded" | "failed" | "cancelled";
      readonly reason: EndReason;
    });

export type AttemptEvent =
  | (Fact<"gangPlaced", 2> & {
      readonly attemptId: AttemptId;
      readonly workloadId: WorkloadId;
      readonly task: number;
      readonly number: number;
      readonly acceleratorType: string;
      readonly workers: readonly WorkerAllocation[];
      /** Absent: its expected run time is its walltime. */
      readonly prediction?: Prediction;
      /** It keeps the place of the attempt before it until its back-off is over, and is launched then; absent: at once. */
      readonly launchAtMs?: number;
    })
  /** The back-off of an attempt that kept its place is over: it is launched now. */
  | (Fact<"backoffEnded"> & { readonly attemptId: AttemptId })
  | (Fact<"attemptStarted"> & { readonly attemptId: AttemptId })
  /** It outlived its prediction: this is the new expected run time in total, and protected starts may move back. */
  | (Fact<"predictionCorrected"> & { readonly attemptId: AttemptId; readonly prediction: Prediction })
  | (Fact<"attemptStopRequested", 2> & {
      readonly attemptId: AttemptId;
      readonly reason: StopReason;
      /** The window or notice that it is stopped for; absent: none, or an older version. */
      readonly closedBy?: ClosedBy;
    })
  /** The attempt is asked for a checkpoint before it is stopped, and has until then. */
  | (Fact<"checkpointRequested"> & { readonly attemptId: AttemptId; readonly untilMs: number })
  /** Its executor is asked to stop it now: a checkpoint was written, the time is over, or waiting became pointless. */
  | (Fact<"checkpointWaitEnded"> & {
      readonly attemptId: AttemptId;
      readonly outcome: CheckpointWaitOutcome;
      readonly reason: StopReason;
    })
  | (Fact<"attemptEnded"> & {
      readonly attemptId: AttemptId;
      readonly outcome: AttemptOutcome;
      readonly exit: WorkerExit | null;
      readonly detail: string;
      /** When the task may be retried; `null`: it is not retried. */
      readonly retryAtMs: number | null;
      /**
       * Consecutive losses of the task that its workload may have caused, this one included; absent: the workload did
       * not cause it.
       */
      readonly losses?: number;
      /** A task of an array ended without success and is not tried again; absent: it succeeded, is retried, or is no array's. */
      readonly givenUp?: true;
    })
  /** Expected ends moved by more than a tenth of the time left (`preemption/remaining-time.ts`). */
  | (Fact<"progressEstimated"> & { readonly estimates: readonly ProgressEstimate[] })
  /** Attempts whose accelerators all became idle, or of which one is busy again. */
  | (Fact<"idleChanged"> & { readonly changes: readonly IdleChange[] })
  /** Only in journals from before telemetry had a store of its own. */
  | (Fact<"progressRecorded"> & {
      readonly attemptId: AttemptId;
      readonly step: number;
      readonly totalSteps: number | null;
      readonly metrics: Readonly<Record<string, number>>;
    })
  /** An elastic gang continues with its first `workers` workers; the others are stopped. */
  | (Fact<"gangShrinkRequested"> & {
      readonly attemptId: AttemptId;
      readonly workers: number;
      readonly reason: EvictionReason;
    })
  /** The stopped workers have ended. */
  | (Fact<"workersLeft"> & { readonly attemptId: AttemptId })
  /** Workers of a gang that continues were lost with their node. */
  | (Fact<"ranksLost"> & {
      readonly attemptId: AttemptId;
      readonly nodeId: NodeId;
      readonly ranks: readonly number[];
      /** They are given up before the node is away, because replacements start elsewhere; absent: the node is gone. */
      readonly ahead?: true;
    })
  /** New places for all lost ranks, in their order. */
  | (Fact<"workersReplaced", 2> & { readonly attemptId: AttemptId; readonly workers: readonly WorkerAllocation[] })
  /** The replacement workers have joined the gang. */
  | (Fact<"workersJoined"> & { readonly attemptId: AttemptId })
  /** Further workers for a running gang, with ranks after the existing ones. */
  | (Fact<"gangGrown", 2> & { readonly attemptId: AttemptId; readonly workers: readonly WorkerAllocation[] })
  /** Further workers did not start: the gang continues with its first `workers` workers and requests no more. */
  | (Fact<"joinFailed"> & { readonly attemptId: AttemptId; readonly workers: number; readonly detail: string })
  | (Fact<"placementNominated"> & { readonly nomination: Nomination })
  /** It continues as an opportunistic job on idle capacity: its team's reserved cells are given to this workload. */
  | (Fact<"opportunisticJobRelabelled"> & { readonly attemptId: AttemptId; readonly workloadId: WorkloadId })
  | (Fact<"nominationWithdrawn"> & { readonly attemptId: AttemptId; readonly reason: string })
  /** The preemption ground of the evictions that follow: the preemptor, and the shares of both sides. */
  | (Fact<"evictionPlanned", 2> & {
      readonly workloadId: WorkloadId;
      readonly task: number;
      readonly reason: EvictionReason;
      readonly victims: readonly PlannedVictim[];
      /** The preemptor team's share, without the place and with it; absent in older journals. */
      readonly preemptor?: RecordedTeamShare;
      /**
       * A migration that gathers idle capacity and has no preemptor; number of pairs of idle accelerators that it
       * brings onto one node.
       */
      readonly pairsGathered?: number;
    })
  /** Only in journals from before telemetry had a store of its own. */
  | (Fact<"utilizationRecorded"> & { readonly attemptId: AttemptId } & UtilizationReport)
  /** It has produced one of its declared artifacts. */
  | (Fact<"artifactRecorded"> & { readonly attemptId: AttemptId; readonly name: string; readonly path: string })
  | (Fact<"checkpointRecorded"> & { readonly attemptId: AttemptId; readonly step: number; readonly path: string });

/**
 * `saved`: it reported a newer checkpoint. `timedOut`: it did not in time. `cutShort`: another reason did not allow
 * waiting.
 */
export type CheckpointWaitOutcome = "saved" | "timedOut" | "cutShort";

/** A team's dominant share before and after, as parts of its entitlement, in thousandths. */
export interface RecordedTeamShare {
  readonly team: TeamName;
  readonly shareBeforeMilli: number;
  readonly shareAfterMilli: number;
}

/**
 * The part of one attempt that a plan takes, and its team's share without and with that, as parts of its entitlement in
 * thousandths.
 */
export interface PlannedVictim {
  readonly attemptId: AttemptId;
  /** Remaining workers; 0: it is evicted completely. */
  readonly keeps: number;
  readonly team: TeamName;
  readonly teamShareBeforeMilli: number;
  readonly teamShareAfterMilli: number;
  readonly right?: EvictionRight;
  /** The plan gives it a place elsewhere, so that its team's usage stays the same. */
  readonly moves?: true;
}

export type Event = FleetEvent | GovernanceEvent | CalendarEvent | ScheduleEvent | WorkloadEvent | AttemptEvent;
export type EventKind = Event["kind"];

/** The newest version of every kind that this engine writes; it reads all from 1 on. */
export const EVENT_VERSIONS: { readonly [Kind in EventKind]: (Event & { readonly kind: Kind })["version"] } = {
  siteDefined: 1,
  executorRegistered: 1,
  poolDefined: 3,
  nodeJoined: 2,
  nodeChanged: 2,
  nodeLost: 1,
  nodeReturned: 1,
  nodeDrainStarted: 1,
  nodeResumed: 1,
  hotSpareReserved: 1,
  hotSpareReleased: 1,
  teamDefined: 4,
  teamRemoved: 1,
  policySet: 5,
  budgetCrossed: 1,
  budgetRenewed: 2,
  commandAnswered: 1,
  calendarSet: 1,
  calendarRemoved: 1,
  windowBegan: 1,
  windowEnded: 1,
  scheduleSet: 2,
  scheduleRemoved: 1,
  scheduleRan: 2,
  workloadSubmitted: 3,
  workloadRerun: 1,
  workloadHeld: 1,
  workloadReleased: 1,
  startWindowOpened: 1,
  startWindowClosed: 1,
  workloadStopRequested: 1,
  workloadEnded: 1,
  gangPlaced: 2,
  backoffEnded: 1,
  attemptStarted: 1,
  predictionCorrected: 1,
  attemptStopRequested: 2,
  checkpointRequested: 1,
  checkpointWaitEnded: 1,
  attemptEnded: 1,
  gangShrinkRequested: 1,
  workersLeft: 1,
  gangGrown: 2,
  joinFailed: 1,
  ranksLost: 1,
  workersReplaced: 2,
  workersJoined: 1,
  placementNominated: 1,
  nominationWithdrawn: 1,
  opportunisticJobRelabelled: 1,
  evictionPlanned: 2,
  progressEstimated: 1,
  idleChanged: 1,
  progressRecorded: 1,
  artifactRecorded: 1,
  checkpointRecorded: 1,
  utilizationRecorded: 1,
};
