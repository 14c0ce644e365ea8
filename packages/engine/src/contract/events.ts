/**
 * Everything the engine records: facts in the past tense. The journal is these, in this form, as JSON. A kind's `version`
 * grows when its fields change; `apply/` still reads the older ones, and a kind it does not know refuses to start.
 */
import type { AttemptId, NodeId, TeamName, WorkloadId } from "../model/ids.ts";
import type { UtilizationReport } from "./inputs.ts";
import type { NodeSpec, Pool, Site } from "../model/fleet.ts";
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
  | (Fact<"poolDefined", 3> & { readonly pool: Pool })
  | (Fact<"nodeJoined", 2> & { readonly node: NodeSpec })
  | (Fact<"nodeChanged", 2> & { readonly node: NodeSpec })
  | (Fact<"nodeLost"> & { readonly nodeId: NodeId; readonly detail: string })
  | (Fact<"nodeReturned"> & { readonly nodeId: NodeId })
  | (Fact<"nodeDrainStarted"> & { readonly nodeId: NodeId; readonly actor: string })
  | (Fact<"nodeResumed"> & { readonly nodeId: NodeId; readonly actor: string })
  /** From now on the node is kept for work that loses nodes. */
  | (Fact<"hotSpareReserved"> & { readonly nodeId: NodeId })
  /** It is a node like any other again. `workloadId`: for whom, where it was taken. */
  | (Fact<"hotSpareReleased"> & {
      readonly nodeId: NodeId;
      readonly reason: HotSpareEnd;
      readonly workloadId: WorkloadId | null;
    });

/** `taken` by work that lost a node; the node itself was lost or drained, or the `calendar` has it; its pool wants `fewer`. */
export type HotSpareEnd = "taken" | "lost" | "drained" | "calendar" | "fewer";

export type GovernanceEvent =
  | (Fact<"teamDefined", 4> & { readonly team: Team })
  | (Fact<"teamRemoved"> & { readonly team: TeamName })
  | (Fact<"policySet", 3> & { readonly policy: Policy })
  /** So much of a team's budget of this period is used up. `spent` and `limit` of the resource of which the larger part is. */
  | (Fact<"budgetCrossed"> & {
      readonly team: TeamName;
      readonly percent: number;
      readonly resource: "gpuHours" | "money";
      readonly limit: number;
      readonly spent: number;
      readonly periodStartMs: number;
    })
  | (Fact<"budgetRenewed", 2> & { readonly team: TeamName })
  /** Remembers the answer to a command with an idempotency key; `fingerprint` tells a retry from a reused key. */
  | (Fact<"commandAnswered"> & { readonly key: string; readonly fingerprint: string; readonly result: CommandResult });

export type CalendarEvent =
  /** `nodes`: those chosen for a reservation by amount. An entry of the same name is replaced. */
  | (Fact<"calendarSet"> & {
      readonly entry: CalendarEntry;
      readonly actor: string;
      readonly nodes?: readonly NodeId[];
    })
  | (Fact<"calendarRemoved"> & { readonly name: string; readonly actor: string })
  | (Fact<"windowBegan"> & { readonly name: string })
  /** The window's time is over, and it is no longer in the calendar. */
  | (Fact<"windowEnded"> & {
      readonly name: string;
      /** Of the entry (`entryFingerprint`), by which its document is known when it is applied again; absent: nobody declared it in one. */
      readonly fingerprint?: string;
    });

export type ScheduleEvent =
  | (Fact<"scheduleSet", 2> & { readonly schedule: Schedule; readonly actor: string })
  | (Fact<"scheduleRemoved"> & { readonly name: string; readonly actor: string })
  /** It was due and submitted this; `null`: nothing, and `left` says why. */
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
      /** What of `spec.after` had not ended yet, as it was resolved; absent: nothing. */
      readonly waitsFor?: readonly WaitsFor[];
      /** What it waits for and was produced before; absent: nothing. */
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
  /** Power is cheap and clean enough for it, or it can wait no longer. */
  | (Fact<"startWindowOpened"> & { readonly workloadId: WorkloadId })
  /** It is not any more: what of the work has not started waits for the next time. */
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
      /** Absent: it is taken to run as long as its walltime says. */
      readonly prediction?: Prediction;
    })
  | (Fact<"attemptStarted"> & { readonly attemptId: AttemptId })
  /** It has run longer than was predicted: from now on it is taken to run that long in all, and protected starts may move back. */
  | (Fact<"predictionCorrected"> & { readonly attemptId: AttemptId; readonly prediction: Prediction })
  | (Fact<"attemptStopRequested", 2> & {
      readonly attemptId: AttemptId;
      readonly reason: StopReason;
      /** Which window or notice it makes way for; absent: none, or recorded before this was. */
      readonly closedBy?: ClosedBy;
    })
  /** What is to stop is asked for a checkpoint first, and may take until then. */
  | (Fact<"checkpointRequested"> & { readonly attemptId: AttemptId; readonly untilMs: number })
  /** Its executor is asked to stop it now: it wrote one, the time is over, or there was a reason not to wait any longer. */
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
      /** When the task may be tried again; `null`: it is not tried again. */
      readonly retryAtMs: number | null;
      /** Consecutive losses of the task that its workload may have caused, this one included; absent: it was no such loss. */
      readonly losses?: number;
      /** A task of an array ended without success and is not tried again; absent: it succeeded, is retried, or is no array's. */
      readonly givenUp?: true;
    })
  | (Fact<"progressRecorded"> & {
      readonly attemptId: AttemptId;
      readonly step: number;
      readonly totalSteps: number | null;
      readonly metrics: Readonly<Record<string, number>>;
    })
  /** An elastic gang goes on with its first `workers` workers; the others are asked to leave. */
  | (Fact<"gangShrinkRequested"> & {
      readonly attemptId: AttemptId;
      readonly workers: number;
      readonly reason: EvictionReason;
    })
  /** The workers that were asked to leave have left. */
  | (Fact<"workersLeft"> & { readonly attemptId: AttemptId })
  /** Workers of a gang that goes on without them were lost with their node. */
  | (Fact<"ranksLost"> & {
      readonly attemptId: AttemptId;
      readonly nodeId: NodeId;
      readonly ranks: readonly number[];
      /** They are given up before the node is away, since others take their places; absent: it is gone. */
      readonly ahead?: true;
    })
  /** New places for all ranks that were lost, in their order. */
  | (Fact<"workersReplaced", 2> & { readonly attemptId: AttemptId; readonly workers: readonly WorkerAllocation[] })
  /** The workers in new places have joined the others. */
  | (Fact<"workersJoined"> & { readonly attemptId: AttemptId })
  /** Further workers for a gang that runs, behind those it has. */
  | (Fact<"gangGrown", 2> & { readonly attemptId: AttemptId; readonly workers: readonly WorkerAllocation[] })
  /** Further workers did not come: it goes on with its first `workers` workers, and asks for no more. */
  | (Fact<"joinFailed"> & { readonly attemptId: AttemptId; readonly workers: number; readonly detail: string })
  | (Fact<"placementNominated"> & { readonly nomination: Nomination })
  /** It goes on where it is, as a loan of what is idle: the cells of its team are given to this workload. */
  | (Fact<"opportunisticJobRelabelled"> & { readonly attemptId: AttemptId; readonly workloadId: WorkloadId })
  | (Fact<"nominationWithdrawn"> & { readonly attemptId: AttemptId; readonly reason: string })
  /** By what right what is evicted next is evicted: for whom, and how both sides stood. */
  | (Fact<"evictionPlanned", 2> & {
      readonly workloadId: WorkloadId;
      readonly task: number;
      readonly reason: EvictionReason;
      readonly victims: readonly PlannedVictim[];
      /** How the team for which it is stands, without the place and with it, by itself; journals from before this was recorded do not say. */
      readonly preemptor?: RecordedTeamShare;
      /** It is moved to gather what is idle, for nobody who waits: so many pairs of idle accelerators come to lie on one node. */
      readonly pairsGathered?: number;
    })
  | (Fact<"utilizationRecorded"> & { readonly attemptId: AttemptId } & UtilizationReport)
  /** It has produced something that it declared. */
  | (Fact<"artifactRecorded"> & { readonly attemptId: AttemptId; readonly name: string; readonly path: string })
  | (Fact<"checkpointRecorded"> & { readonly attemptId: AttemptId; readonly step: number; readonly path: string });

/** `saved`: it reported a newer checkpoint. `timedOut`: it did not in time. `cutShort`: something came up that does not wait. */
export type CheckpointWaitOutcome = "saved" | "timedOut" | "cutShort";

/** A team's dominant share before and after, as parts of what it may claim, in thousandths. */
export interface RecordedTeamShare {
  readonly team: TeamName;
  readonly shareBeforeMilli: number;
  readonly shareAfterMilli: number;
}

/** What a plan takes from one attempt, and how its team stood without that and with it, by itself, as parts of its claim in thousandths. */
export interface PlannedVictim {
  readonly attemptId: AttemptId;
  /** Workers that it keeps; 0: it is evicted whole. */
  readonly keeps: number;
  readonly team: TeamName;
  readonly teamShareBeforeMilli: number;
  readonly teamShareAfterMilli: number;
  readonly right?: EvictionRight;
  /** What it gives up has a place elsewhere in the plan, so that its team holds as much as before. */
  readonly moves?: true;
}

export type Event = FleetEvent | GovernanceEvent | CalendarEvent | ScheduleEvent | WorkloadEvent | AttemptEvent;
export type EventKind = Event["kind"];

/** The newest version of every kind that this engine writes; it reads all from 1 on. */
export const EVENT_VERSIONS: { readonly [Kind in EventKind]: (Event & { readonly kind: Kind })["version"] } = {
  siteDefined: 1,
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
  policySet: 3,
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
  progressRecorded: 1,
  artifactRecorded: 1,
  checkpointRecorded: 1,
  utilizationRecorded: 1,
};
