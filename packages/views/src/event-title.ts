/**
 * The title of each kind of event, the subject of the event, and whether it is internal. Lists of events hide internal
 * ones by default.
 */
import type { Event } from "@headroom/protocol";

export type EventKind = Event["kind"];

export const eventSubjects = [
  "Workloads",
  "Attempts",
  "Nodes",
  "Teams",
  "Calendar",
  "Policy",
  "Proposals",
  "Bookkeeping",
] as const;
export type EventSubject = (typeof eventSubjects)[number];

export interface EventTitle {
  readonly title: string;
  /** `Bookkeeping`: internal; no user has to act on such an event. */
  readonly subject: EventSubject;
}

const of = (subject: EventSubject, title: string): EventTitle => ({ subject, title });

export const eventTitles: Readonly<Record<EventKind, EventTitle>> = {
  workloadSubmitted: of("Workloads", "Submitted"),
  workloadChanged: of("Workloads", "Changed"),
  workloadHeld: of("Workloads", "Held"),
  workloadReleased: of("Workloads", "Released"),
  workloadStopRequested: of("Workloads", "Stop requested"),
  taskStopRequested: of("Workloads", "Task stopped"),
  endpointScaled: of("Workloads", "Replicas changed"),
  workloadEnded: of("Workloads", "Ended"),
  eventHidden: of("Bookkeeping", "Hidden"),
  workloadRerun: of("Workloads", "Rerun"),
  startWindowOpened: of("Workloads", "Start window opened"),
  startWindowClosed: of("Workloads", "Start window closed"),
  artifactRecorded: of("Workloads", "Artifact"),
  artifactRegistered: of("Workloads", "Artifact registered"),
  artifactNotRegistered: of("Workloads", "Artifact not registered"),
  artifactChanged: of("Workloads", "Artifact changed"),
  checkpointRecorded: of("Workloads", "Checkpoint"),
  gangPlaced: of("Attempts", "Placed"),
  backoffEnded: of("Attempts", "Back-off over"),
  replicaReady: of("Attempts", "Replica ready"),
  replicaNotReady: of("Attempts", "Replica not ready"),
  attemptStarted: of("Attempts", "Started"),
  execStarted: of("Attempts", "Command run inside"),
  attemptStopRequested: of("Attempts", "Stopping"),
  attemptEnded: of("Attempts", "Attempt ended"),
  checkpointRequested: of("Attempts", "Checkpoint requested"),
  gangShrinkRequested: of("Attempts", "Shrinking"),
  gangGrown: of("Attempts", "Grown"),
  workersLeft: of("Attempts", "Workers left"),
  joinFailed: of("Attempts", "Growth failed"),
  gangDegraded: of("Attempts", "Gang degraded"),
  workersReplaced: of("Attempts", "Workers replaced"),
  workersJoined: of("Attempts", "Workers joined"),
  evictionPlanned: of("Attempts", "Preemption"),
  siteDefined: of("Nodes", "Site defined"),
  executorRegistered: of("Nodes", "Executor registered"),
  executorDeclared: of("Nodes", "Executor declared"),
  executorLost: of("Nodes", "Executor unreachable"),
  executorReturned: of("Nodes", "Executor reachable"),
  executorRemoved: of("Nodes", "Executor removed"),
  executorAbandoned: of("Nodes", "Attempts of an executor given up"),
  poolDefined: of("Nodes", "Pool defined"),
  nodeJoined: of("Nodes", "Node joined"),
  nodeChanged: of("Nodes", "Node changed"),
  nodeLost: of("Nodes", "Node lost"),
  nodeReturned: of("Nodes", "Node returned"),
  foreignUseChanged: of("Nodes", "Foreign use"),
  nodeDrainStarted: of("Nodes", "Drain started"),
  nodeResumed: of("Nodes", "Node resumed"),
  nodeRemovalRequested: of("Nodes", "Node removal requested"),
  nodeRemovalCancelled: of("Nodes", "Node removal cancelled"),
  nodeRemoved: of("Nodes", "Node removed"),
  poolRemovalRequested: of("Nodes", "Pool removal requested"),
  poolRemovalCancelled: of("Nodes", "Pool removal cancelled"),
  poolRemoved: of("Nodes", "Pool removed"),
  siteRemovalRequested: of("Nodes", "Site removal requested"),
  siteRemovalCancelled: of("Nodes", "Site removal cancelled"),
  siteRemoved: of("Nodes", "Site removed"),
  capacityOrderCreated: of("Nodes", "Capacity order created"),
  capacityOrderAdvanced: of("Nodes", "Capacity order advanced"),
  capacityOrderCancelled: of("Nodes", "Capacity order cancelled"),
  capacityOrderNodeJoined: of("Nodes", "Node of a capacity order joined"),
  capacityOrderFilled: of("Nodes", "Capacity order in service"),
  capacityOrderEmptied: of("Nodes", "Capacity order gone"),
  hotSpareReserved: of("Nodes", "Hot spare reserved"),
  hotSpareReleased: of("Nodes", "Hot spare released"),
  proposalCreated: of("Proposals", "Proposal created"),
  proposalSimulated: of("Proposals", "Proposal simulated"),
  proposalApproved: of("Proposals", "Proposal approved"),
  proposalRejected: of("Proposals", "Proposal rejected"),
  proposalWithdrawn: of("Proposals", "Proposal withdrawn"),
  proposalExpired: of("Proposals", "Proposal expired"),
  proposalActed: of("Proposals", "Proposed change made"),
  proposalFailed: of("Proposals", "Proposed change refused"),
  proposalScored: of("Proposals", "Proposal scored"),
  proposalRuleSet: of("Proposals", "Rule of proposals set"),
  teamDefined: of("Teams", "Team defined"),
  teamRemoved: of("Teams", "Team removed"),
  budgetCrossed: of("Teams", "Budget threshold"),
  budgetRenewed: of("Teams", "Budget renewed"),
  calendarSet: of("Calendar", "Calendar entry set"),
  calendarRemoved: of("Calendar", "Calendar entry removed"),
  windowBegan: of("Calendar", "Window began"),
  windowEnded: of("Calendar", "Window ended"),
  scheduleSet: of("Calendar", "Schedule set"),
  scheduleRemoved: of("Calendar", "Schedule removed"),
  scheduleRan: of("Calendar", "Schedule ran"),
  policySet: of("Policy", "Policy set"),
  commandAnswered: of("Bookkeeping", "Command answered"),
  predictionCorrected: of("Bookkeeping", "Prediction corrected"),
  checkpointWaitEnded: of("Bookkeeping", "Checkpoint wait ended"),
  placementNominated: of("Bookkeeping", "Placement nominated"),
  nominationWithdrawn: of("Bookkeeping", "Nomination withdrawn"),
  opportunisticJobRelabelled: of("Bookkeeping", "Opportunistic job relabelled"),
  progressEstimated: of("Bookkeeping", "Expected end moved"),
  idleChanged: of("Bookkeeping", "Idle accelerators changed"),
  progressRecorded: of("Bookkeeping", "Progress"),
  utilizationRecorded: of("Bookkeeping", "Utilization"),
};

/** A newer version can have written the journal, so the kind can be unknown. An unknown kind counts as internal. */
export const eventTitle = (kind: string): EventTitle =>
  (eventTitles as Readonly<Record<string, EventTitle | undefined>>)[kind] ?? of("Bookkeeping", "Other");

export const isInternalEvent = ({ kind }: Pick<Event, "kind">): boolean => eventTitle(kind).subject === "Bookkeeping";
