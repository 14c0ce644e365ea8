/** Decides which events can change the data on a screen. An unnecessary fetch is allowed; a missed change is not. */
import type { Event } from "@headroom/protocol";

type EventKind = Event["kind"];
type Interest = (event: Event) => boolean;

const oneOf = (kinds: readonly EventKind[]): Interest => {
  const set = new Set<EventKind>(kinds);
  return (event) => set.has(event.kind);
};

const nodeKinds: readonly EventKind[] = [
  "nodeJoined",
  "nodeChanged",
  "nodeRelabelled",
  "nodeLost",
  "nodeReturned",
  "foreignUseChanged",
  "nodeCacheChanged",
  "nodeQualificationRequired",
  "nodeQualificationStarted",
  "nodeQualificationEnded",
  "storesChanged",
  "nodeDrainStarted",
  "nodeResumed",
  "nodeRemovalRequested",
  "nodeRemovalCancelled",
  "nodeRemoved",
  "poolRemoved",
  "siteRemoved",
  "executorDeclared",
  "executorLost",
  "executorReturned",
  "executorRemoved",
  "executorAbandoned",
  "historyImported",
  "hotSpareReserved",
  "hotSpareReleased",
];
const holdingKinds: readonly EventKind[] = [
  "gangPlaced",
  "gangGrown",
  "joinFailed",
  "gangDegraded",
  "workersReplaced",
  "gangShrinkRequested",
  "workersLeft",
  "placementNominated",
  "nominationWithdrawn",
  "bytesTransferred",
  "attemptStarted",
  "predictionCorrected",
  "attemptStopRequested",
  "checkpointWaitEnded",
  "attemptEnded",
];
const workloadKinds: readonly EventKind[] = [
  "workloadSubmitted",
  "workloadChanged",
  "workloadStopRequested",
  "workloadEnded",
];

export const changesFleet = oneOf([...nodeKinds, ...holdingKinds, "siteDefined", "poolDefined"]);
export const changesQueue = oneOf([...nodeKinds, ...holdingKinds, ...workloadKinds, "teamDefined", "policySet"]);
export const changesWorkloads = oneOf([...holdingKinds, ...workloadKinds]);
export const changesStatus = oneOf([...nodeKinds, ...holdingKinds, ...workloadKinds, "policySet"]);
export const changesTeams = oneOf([...holdingKinds, "teamDefined", "teamRemoved", "budgetCrossed", "budgetRenewed"]);
const calendarKinds: readonly EventKind[] = ["calendarSet", "calendarRemoved", "windowBegan", "windowEnded"];
export const changesCalendar = oneOf([...nodeKinds, ...holdingKinds, ...calendarKinds]);
export const changesSchedules = oneOf([
  ...holdingKinds,
  ...workloadKinds,
  "scheduleSet",
  "scheduleRemoved",
  "scheduleRan",
]);
export const changesOrders = oneOf([
  "capacityOrderCreated",
  "capacityOrderAdvanced",
  "capacityOrderCancelled",
  "capacityOrderNodeJoined",
  "capacityOrderQualifying",
  "capacityOrderFilled",
  "capacityOrderEmptied",
  "nodeRemoved",
]);
export const changesProposals = oneOf([
  "proposalCreated",
  "proposalSimulated",
  "proposalApproved",
  "proposalRejected",
  "proposalWithdrawn",
  "proposalExpired",
  "proposalActed",
  "proposalFailed",
  "proposalScored",
  "proposalRuleSet",
]);
export const changesArtifacts = oneOf(["artifactRegistered", "artifactChanged"]);
export const changesWaste = oneOf(["idleChanged", "attemptEnded", "workloadEnded"]);
export const changesPolicy = oneOf(["policySet"]);

/** Events of one workload and its known attempts. The event of a new attempt contains the workload's id. */
export function changesWorkload(workloadId: string, attemptIds: ReadonlySet<string>): Interest {
  return (event) => {
    if (event.kind === "placementNominated") return event.nomination.workloadId === workloadId;
    if ("workloadId" in event) return event.workloadId === workloadId;
    return "attemptId" in event && attemptIds.has(event.attemptId);
  };
}
