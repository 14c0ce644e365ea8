/**
 * All events: facts in the past tense, stored in the journal as JSON in this form. The `version` of a kind grows when
 * its fields change. `apply/` also reads older versions. A journal with an unknown kind is refused at the start.
 */
import type { GatewayCounter } from "../resources/endpoint-budget.ts";
import type { AttemptId, NodeId, TeamName, WorkloadId } from "../resources/ids.ts";
import type { IdleChange, ProgressEstimate, UtilizationReport } from "./inputs.ts";
import type { ArtifactChange, ArtifactVersion } from "../resources/artifact.ts";
import type { ProposalEffect, ProposalRule, ProposalScore, ProposalSpec } from "../resources/proposal.ts";
import type { ByteTransfer } from "../resources/store.ts";
import type { Team } from "../resources/team.ts";
import type {
  AttemptOutcome,
  EvictionReason,
  PreemptionGround,
  Prediction,
  Nomination,
  StopReason,
  WorkerAllocation,
  WorkerExit,
} from "../resources/attempt.ts";
import type { ProducedArtifact, EndReason, ScaleGround, WaitsFor, WorkloadSpec } from "../resources/workload.ts";
import type { RevisionChanges, Rollout, RolloutAction, RolloutGround } from "../resources/rollout.ts";
import type { CommandResult } from "./replies.ts";
import type { WorkloadChanges } from "../resources/workload-changes.ts";
import type { Schedule } from "../resources/schedule.ts";
import type { CalendarEntry, ClosedBy } from "../resources/calendar.ts";
import type { Policy } from "../policy/policy.ts";
import type { DeclaredBy, Fact } from "./fact.ts";
import type { CapacityOrderEvent, ExecutorEvent, FleetEvent, IncidentEvent } from "./fleet-events.ts";
import type { PipelineEvent } from "./pipeline-events.ts";

export type ProposalEvent =
  | (Fact<"proposalCreated"> & { readonly proposal: ProposalSpec })
  | (Fact<"proposalSimulated"> & { readonly id: string; readonly effect: ProposalEffect })
  /** `actor: null`: the rule of the kind approves by itself. */
  | (Fact<"proposalApproved"> & { readonly id: string; readonly actor: string | null; readonly reason: string })
  | (Fact<"proposalRejected"> & { readonly id: string; readonly actor: string; readonly reason: string })
  | (Fact<"proposalWithdrawn"> & { readonly id: string; readonly actor: string; readonly reason: string })
  | (Fact<"proposalExpired"> & { readonly id: string })
  /** The change is made; its own events are before this one. `migrations`: of a defragmentation. */
  | (Fact<"proposalActed"> & { readonly id: string; readonly migrations?: number })
  /** The change was refused when it was to be made. `code`: the code of the refusal. */
  | (Fact<"proposalFailed"> & { readonly id: string; readonly code: string })
  | (Fact<"proposalScored"> & { readonly id: string; readonly score: ProposalScore })
  | (Fact<"proposalRuleSet"> & { readonly rule: ProposalRule; readonly actor: string });

export type ArtifactEvent =
  /** A user registered a version, or the attempt that made it succeeded (`producer`). */
  | (Fact<"artifactRegistered"> & { readonly artifact: RegisteredVersion })
  /** An attempt succeeded without an artifact that its workload declares to register. */
  | (Fact<"artifactNotRegistered"> & {
      readonly attemptId: AttemptId;
      readonly name: string;
      readonly detail: string;
    })
  /** `actor: null`: the retention of the name. `artifact`: the key of the name. */
  | (Fact<"artifactChanged"> & {
      readonly artifact: string;
      readonly change: ArtifactChange;
      readonly actor: string | null;
      readonly reason: string;
    });

/** A version without the fields that are derived from the event, and those that only changes set. */
export type RegisteredVersion = Omit<ArtifactVersion, "id" | "registeredAtMs" | "tags" | "hold" | "deleted">;

export type GovernanceEvent =
  | (Fact<"teamDefined"> & DeclaredBy & { readonly team: Team })
  | (Fact<"teamRemoved"> & DeclaredBy & { readonly team: TeamName })
  | (Fact<"policySet"> & DeclaredBy & { readonly policy: Policy })
  /**
   * A team's usage reached a warning percentage of its budget in this period. `spent` and `limit` are amounts of the
   * resource with the larger percentage.
   */
  | (Fact<"budgetCrossed"> & {
      readonly team: TeamName;
      readonly percent: number;
      readonly resource: "gpuHours" | "money";
      readonly limit: number;
      readonly spent: number;
      readonly periodStartMs: number;
    })
  | (Fact<"budgetRenewed"> & { readonly team: TeamName })
  /**
   * Stores the answer to a command with an idempotency key. `fingerprint` distinguishes a retry of the command from
   * another command with the same key.
   */
  | (Fact<"commandAnswered"> & { readonly key: string; readonly fingerprint: string; readonly result: CommandResult });

export type CalendarEvent =
  /**
   * A calendar entry was declared. It replaces an entry of the same name. `nodes`: the nodes chosen for a reservation
   * of a number of accelerators.
   */
  | (Fact<"calendarSet"> & {
      readonly entry: CalendarEntry;
      readonly actor: string;
      readonly nodes?: readonly NodeId[];
    })
  | (Fact<"calendarRemoved"> & { readonly name: string; readonly actor: string })
  | (Fact<"windowBegan"> & { readonly name: string })
  /** A calendar window is over and is removed from the calendar. */
  | (Fact<"windowEnded"> & {
      readonly name: string;
      /**
       * Fingerprint of the entry (`entryFingerprint`). It identifies the document of the entry if the document is
       * applied again. Absent: no document declared the entry.
       */
      readonly fingerprint?: string;
    });

export type ScheduleEvent =
  | (Fact<"scheduleSet"> & { readonly schedule: Schedule; readonly actor: string })
  | (Fact<"scheduleRemoved"> & { readonly name: string; readonly actor: string })
  /**
   * A schedule was due. `submittedId`: the submitted workload, or `null` if none was submitted, for the reason `left`.
   */
  | (Fact<"scheduleRan"> & {
      readonly name: string;
      readonly dueAtMs: number;
      readonly submittedId: WorkloadId | null;
      readonly left: string;
    });

export type WorkloadEvent =
  | (Fact<"workloadSubmitted"> & {
      readonly workloadId: WorkloadId;
      readonly spec: WorkloadSpec;
      readonly actor: string;
      /** Dependencies in `spec.after` that were not met at submission. Absent: none. */
      readonly waitsFor?: readonly WaitsFor[];
      /** Artifacts in `spec.after` that existed at submission. Absent: none. */
      readonly given?: readonly ProducedArtifact[];
    })
  /**
   * The unsuccessful tasks of an ended workload wait again. Their position in the queue is that of a new submission.
   */
  | (Fact<"workloadRerun"> & {
      readonly workloadId: WorkloadId;
      readonly actor: string;
      /** As in `workloadSubmitted`. */
      readonly waitsFor?: readonly WaitsFor[];
      readonly given?: readonly ProducedArtifact[];
    })
  /** Fields of a workload changed. It keeps its position in the order of submission. */
  | (Fact<"workloadChanged"> & {
      readonly workloadId: WorkloadId;
      readonly actor: string;
      readonly changes: WorkloadChanges;
      /** If `changes` has dependencies: those that are not met. Absent: none. */
      readonly waitsFor?: readonly WaitsFor[];
      readonly given?: readonly ProducedArtifact[];
    })
  /**
   * The number of replicas of an endpoint changed; recorded after its submission too. Surplus replicas are stopped, and
   * missing ones are placed.
   */
  | (Fact<"endpointScaled"> & {
      readonly workloadId: WorkloadId;
      readonly actor: string;
      readonly replicas: number;
      readonly ground: ScaleGround;
      /** See `EndpointScale.stopFirst`. */
      readonly stopFirst?: readonly AttemptId[];
      /** See `EndpointScale.acceleratorTypes`. Absent: the order stays. */
      readonly acceleratorTypes?: readonly string[];
      /** Tasks whose back-off ends, because it began when the endpoint needed fewer replicas. Absent: none. */
      readonly due?: readonly number[];
    })
  /** The endpoint spent this percentage of its budget. Amounts in micro-dollars. */
  | (Fact<"endpointBudgetCrossed"> & {
      readonly workloadId: WorkloadId;
      readonly percent: number;
      readonly limit: number;
      readonly spent: number;
      readonly periodStartMs: number;
    })
  /** Another period of the budget began. */
  | (Fact<"endpointBudgetRenewed"> & { readonly workloadId: WorkloadId })
  /** A gateway reported the cost of the requests that left the endpoint since its start. */
  | (Fact<"overflowCharged"> & { readonly workloadId: WorkloadId } & GatewayCounter)
  /** The endpoint begins to run another revision. */
  | (Fact<"rolloutStarted"> & {
      readonly workloadId: WorkloadId;
      readonly actor: string;
      readonly number: number;
      readonly changes: RevisionChanges;
      readonly given?: readonly ProducedArtifact[];
      readonly cause: Rollout["cause"];
      readonly deadlineAtMs: number;
      /** Absent: replicas are replaced one after another. */
      readonly steps?: readonly number[];
      /** Share of the requests that are copied during the step of 0%, from version 2. */
      readonly shadow?: number;
    })
  /** The rollout takes a step, is paused or resumed, or turns back. */
  | (Fact<"rolloutSteered"> & {
      readonly workloadId: WorkloadId;
      readonly actor: string;
      readonly action: RolloutAction;
      readonly ground: RolloutGround;
    })
  /** The number of replicas that each revision should have changed. */
  | (Fact<"rolloutSized"> & { readonly workloadId: WorkloadId; readonly stable: number; readonly canary: number })
  /** `completed`: the new revision is the present one. `rolledBack`: the present one stays, and new replicas are stopped. */
  | (Fact<"rolloutEnded"> & {
      readonly workloadId: WorkloadId;
      readonly actor: string;
      readonly outcome: "completed" | "rolledBack";
      readonly ground: RolloutGround;
    })
  | (Fact<"workloadHeld"> & { readonly workloadId: WorkloadId; readonly actor: string })
  | (Fact<"workloadReleased"> & { readonly workloadId: WorkloadId; readonly actor: string })
  /** Power became cheap and clean enough for the workload, or its latest start was reached. */
  | (Fact<"startWindowOpened"> & { readonly workloadId: WorkloadId })
  /**
   * Power is no longer cheap or clean enough for the workload. Its tasks that have not started wait for the next
   * window.
   */
  | (Fact<"startWindowClosed"> & { readonly workloadId: WorkloadId })
  | (Fact<"workloadStopRequested"> & { readonly workloadId: WorkloadId; readonly actor: string })
  /** A user stopped one task of an array. If it has no attempt, it is given up with this event. */
  | (Fact<"taskStopRequested"> & { readonly workloadId: WorkloadId; readonly task: number; readonly actor: string })
  | (Fact<"workloadEnded"> & {
      readonly workloadId: WorkloadId;
      readonly phase: "succeeded" | "failed" | "cancelled";
      readonly reason: EndReason;
    });

export type AttemptEvent =
  | (Fact<"gangPlaced"> & {
      readonly attemptId: AttemptId;
      readonly workloadId: WorkloadId;
      readonly task: number;
      readonly number: number;
      readonly acceleratorType: string;
      readonly workers: readonly WorkerAllocation[];
      /** Predicted run time. Absent: the walltime is used instead. */
      readonly prediction?: Prediction;
      /**
       * End of the back-off during which the attempt holds the place of its predecessor. Absent: the attempt is
       * launched at once.
       */
      readonly launchAtMs?: number;
      /** Number of the revision of its endpoint that it runs. Absent: 1. */
      readonly revisionNumber?: number;
      /** Time in ms that the transfer of its inputs is expected to take at most. Absent: nothing is transferred, or it is unknown. */
      readonly stagingMs?: number;
    })
  /** Bytes moved between a store and the site of the attempt (`""`: unknown). `egressMicroUsd`: their cost; absent: none. */
  | (Fact<"bytesTransferred"> &
      ByteTransfer & {
        readonly workloadId: WorkloadId;
        readonly attemptId: AttemptId;
        readonly site: string;
        readonly egressMicroUsd?: number;
      })
  /** The back-off of an attempt that holds its place is over, and the attempt is launched. */
  | (Fact<"backoffEnded"> & { readonly attemptId: AttemptId })
  | (Fact<"attemptStarted"> & { readonly attemptId: AttemptId })
  /** The replica takes requests at this address. */
  | (Fact<"replicaReady"> & { readonly attemptId: AttemptId; readonly address: string })
  /** The replica, which was ready, does not answer any more. */
  | (Fact<"replicaNotReady"> & { readonly attemptId: AttemptId; readonly detail: string })
  /** A user runs a command, or a shell, inside a worker of the attempt. The event is the audit record and changes nothing. */
  | (Fact<"execStarted"> & {
      readonly attemptId: AttemptId;
      readonly worker: number;
      readonly run: string;
      readonly terminal: boolean;
      readonly actor: string;
    })
  /**
   * The attempt ran longer than predicted. `prediction`: the new expected total run time. Protected starts may become
   * later.
   */
  | (Fact<"predictionCorrected"> & { readonly attemptId: AttemptId; readonly prediction: Prediction })
  | (Fact<"attemptStopRequested"> & {
      readonly attemptId: AttemptId;
      readonly reason: StopReason;
      /**
       * The calendar window or notice that causes the stop. Absent: neither does, or the stop was recorded by an older
       * version of the event.
       */
      readonly closedBy?: ClosedBy;
    })
  /** A checkpoint was requested from an attempt that will be stopped. `untilMs`: the time limit of the checkpoint. */
  | (Fact<"checkpointRequested"> & { readonly attemptId: AttemptId; readonly untilMs: number })
  /**
   * The executor is asked to stop the attempt now: a checkpoint was written, its time limit has passed, or another
   * reason does not allow waiting.
   */
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
      /** Time of the retry, or `null` if there is no retry. */
      readonly retryAtMs: number | null;
      /**
       * Number of consecutive losses of the task that the workload may have caused, with this loss. Absent: the
       * workload did not cause this loss.
       */
      readonly losses?: number;
      /** Number of ends in a row of the replica of an endpoint, with this one. Absent: the task is no replica. */
      readonly failures?: number;
      /**
       * True if a task of an array ended without success and is not retried. Absent: the task succeeded, is retried, or
       * belongs to no array.
       */
      readonly givenUp?: true;
    });

/** Changes of a running gang's workers. */
export type ResizeEvent =
  /** A running gang gets further workers, with ranks after the existing ones. */
  | (Fact<"gangGrown"> & { readonly attemptId: AttemptId; readonly workers: readonly WorkerAllocation[] })
  /**
   * Further workers of a gang did not start. The gang continues with its first `workers` workers and requests no
   * further ones.
   */
  | (Fact<"joinFailed"> & { readonly attemptId: AttemptId; readonly workers: number; readonly detail: string })
  /** An elastic gang shrinks to its first `workers` workers; the others are stopped. */
  | (Fact<"gangShrinkRequested"> & {
      readonly attemptId: AttemptId;
      readonly workers: number;
      readonly reason: EvictionReason;
    })
  /** The stopped workers of a shrunk gang have ended. */
  | (Fact<"workersLeft"> & { readonly attemptId: AttemptId })
  /** A gang continues without workers that were lost with their node. */
  | (Fact<"gangDegraded"> & {
      readonly attemptId: AttemptId;
      readonly nodeId: NodeId;
      readonly lostRanks: readonly number[];
      /**
       * True if the node is about to leave, and the workers are replaced before it leaves. Absent: the node is lost.
       */
      readonly ahead?: true;
    })
  /** Allocations of the replacement workers for all lost ranks, in rank order. */
  | (Fact<"workersReplaced"> & { readonly attemptId: AttemptId; readonly workers: readonly WorkerAllocation[] })
  | (Fact<"workersJoined"> & { readonly attemptId: AttemptId });

/** Events of plans: nominated places and victims. */
export type PlanEvent =
  | (Fact<"placementNominated"> & { readonly nomination: Nomination })
  | (Fact<"nominationWithdrawn"> & { readonly attemptId: AttemptId; readonly reason: string })
  /** The preemption ground of the evictions that follow: the preemptor, and the shares of the teams involved. */
  | (Fact<"evictionPlanned"> & {
      readonly workloadId: WorkloadId;
      readonly task: number;
      readonly reason: EvictionReason;
      readonly victims: readonly PlannedVictim[];
      /** The share of the preemptor's team before and after its placement. Absent in older journals. */
      readonly preemptor?: RecordedTeamShare;
      /**
       * Number of pairs of idle accelerators that a migration by defragmentation gathers on one node. Such a migration
       * has no preemptor. Absent: another kind of plan.
       */
      readonly pairsGathered?: number;
    })
  /**
   * The attempt continues as an opportunistic job: its team's reserved cells are given to the workload `workloadId`.
   */
  | (Fact<"opportunisticJobRelabelled"> & { readonly attemptId: AttemptId; readonly workloadId: WorkloadId });

/** Events from reports of running work. */
export type ReportEvent =
  /**
   * The expected ends of these attempts moved by more than a tenth of the remaining time
   * (`preemption/remaining-time.ts`).
   */
  | (Fact<"progressEstimated"> & { readonly estimates: readonly ProgressEstimate[] })
  /** All accelerators of an attempt became idle, or one of them is busy again. */
  | (Fact<"idleChanged"> & { readonly changes: readonly IdleChange[] })
  /** The attempt has produced one of its declared artifacts. */
  | (Fact<"artifactRecorded"> & { readonly attemptId: AttemptId; readonly name: string; readonly path: string })
  | (Fact<"checkpointRecorded"> & { readonly attemptId: AttemptId; readonly step: number; readonly path: string })
  /** A report of progress; only journals older than the telemetry store contain this event. */
  | (Fact<"progressRecorded"> & {
      readonly attemptId: AttemptId;
      readonly step: number;
      readonly totalSteps: number | null;
      readonly metrics: Readonly<Record<string, number>>;
    })
  /** A report of utilization; only journals older than the telemetry store contain this event. */
  | (Fact<"utilizationRecorded"> & { readonly attemptId: AttemptId } & UtilizationReport);

/**
 * How the wait for a checkpoint ended. `saved`: the attempt reported a newer checkpoint. `timedOut`: it reported none
 * in time. `cutShort`: the attempt had to be stopped at once for another reason.
 */
export type CheckpointWaitOutcome = "saved" | "timedOut" | "cutShort";

/** A team's dominant share before and after, in thousandths of its entitlement. */
export interface RecordedTeamShare {
  readonly team: TeamName;
  readonly shareBeforeMilli: number;
  readonly shareAfterMilli: number;
}

/**
 * Workers of one attempt that a plan evicts, and its team's share before and after, in thousandths of its entitlement.
 */
export interface PlannedVictim {
  readonly attemptId: AttemptId;
  /** Number of workers that the attempt keeps. 0: the attempt is evicted completely. */
  readonly keeps: number;
  readonly team: TeamName;
  readonly teamShareBeforeMilli: number;
  readonly teamShareAfterMilli: number;
  readonly ground?: PreemptionGround;
  /** True if the plan migrates the workers, so that the team's usage stays the same. Otherwise absent. */
  readonly migrates?: true;
}

export type Event =
  | FleetEvent
  | IncidentEvent
  | ExecutorEvent
  | CapacityOrderEvent
  | ProposalEvent
  | ArtifactEvent
  | GovernanceEvent
  | CalendarEvent
  | ScheduleEvent
  | PipelineEvent
  | WorkloadEvent
  | AttemptEvent
  | ResizeEvent
  | PlanEvent
  | ReportEvent;
export type EventKind = Event["kind"];

/** The event type of one kind. */
export type EventOf<Kind extends EventKind> = Extract<Event, { readonly kind: Kind }>;
