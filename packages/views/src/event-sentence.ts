/** Every event as one sentence, for lists of events; the complete record is shown on request. */
import { rolloutEventText } from "./rollout-text.ts";
import { groundText, typesText } from "./scale-text.ts";
import type { Event } from "@headroom/protocol";
import { acceleratorCount } from "@headroom/model";
import { writeCron } from "@headroom/protocol";
import { endpointBudgetSentence, spentText } from "./budget-text.ts";
import { calendarSentence } from "./calendar-view.ts";
import { artifactEventSentence, isArtifactEvent } from "./artifact-text.ts";
import type { ArtifactEvent } from "./artifact-text.ts";
import { isQualification, qualificationSentence } from "./qualification-text.ts";
import { isOrderEvent, orderEventSentence } from "./capacity-order-text.ts";
import { checkpointWaitText, planSentence, stopReasonText, stopText } from "./eviction-text.ts";
import { healthEventSentence, isHealthEvent } from "./health-event-text.ts";
import { isPipelineEvent, pipelineEventSentence } from "./pipeline-text.ts";
import { coresText, durationText, memoryText, metricText, plural } from "./plain-text.ts";
import { isProposalEvent, proposalEventSentence } from "./proposal-text.ts";
import { storeEventSentence } from "./store-event-text.ts";
import { exitSentence } from "./workload-view.ts";
import { execText } from "./exec-text.ts";
import { changesText } from "./workload-changes.ts";

const hotSpareEnds = {
  taken: "work that had lost a node took it",
  lost: "the node was lost",
  drained: "the node takes no new work",
  calendar: "a calendar entry needs it",
  fewer: "its pool declares fewer hot spares",
  foreignWork: "work that Headroom does not run uses it",
} as const;

export interface EventText {
  readonly sentence: string;
  readonly workloadId: string | null;
  readonly nodeId: string | null;
}

export function eventText(event: Event): EventText {
  const nodeId = "nodeId" in event ? event.nodeId : event.kind === "nodeJoined" ? event.node.id : null;
  const sentence = isArtifactEvent(event) ? artifactEventSentence(event) : sentenceOf(event);
  return { workloadId: workloadOf(event), nodeId, sentence };
}

function workloadOf(event: Event): string | null {
  if (event.kind === "placementNominated") return event.nomination.workloadId;
  return "workloadId" in event ? event.workloadId : null;
}

const by = ({ actor }: { readonly actor?: string | undefined }): string => (actor === undefined ? "" : ` by ${actor}`);

type RemovalEvent = Extract<
  Event,
  { readonly kind: `${"node" | "pool" | "site"}${"RemovalRequested" | "RemovalCancelled" | "Removed"}` }
>;

const isRemoval = (event: Event): event is RemovalEvent => /^(?:node|pool|site)Remov/.test(event.kind);

function removalSentence(event: RemovalEvent): string {
  const { actor, kind } = event;
  const what =
    "nodeId" in event ? `node ${event.nodeId}` : "pool" in event ? `pool ${event.pool}` : `site ${event.site}`;
  if (kind.endsWith("Requested")) return `${actor} removes ${what}; it leaves when its last work has ended.`;
  return kind.endsWith("Cancelled") ? `${actor} cancelled the removal of ${what}.` : `${actor} removed ${what}.`;
}

type ExecutorEvent = Extract<
  Event,
  { readonly kind: `executor${"Declared" | "Lost" | "Returned" | "Removed" | "Abandoned"}` | "historyImported" }
>;

const isOfExecutor = (event: Event): event is ExecutorEvent =>
  /^executor(?:Declared|Lost|Returned|Removed|Abandoned)$|^historyImported$/.test(event.kind);

function executorSentence(event: ExecutorEvent): string {
  switch (event.kind) {
    case "executorDeclared":
      return `${event.actor} declared the executor ${event.executor}${event.mode === "follow" ? ", which is only followed" : ""}.`;
    case "executorLost":
      return `The executor ${event.executor} is unreachable: ${event.detail}.`;
    case "historyImported":
      return `${event.actor} imported ${plural(event.history.jobCount, "past job")} of the executor ${event.history.executor}.`;
    case "executorReturned":
      return `The executor ${event.executor} answers.`;
    case "executorRemoved":
      return `${event.actor} removed the executor ${event.executor}; its attempts stay as recorded.`;
    case "executorAbandoned":
      return `${event.actor} gave up ${plural(event.attempts, "attempt")} of the executor ${event.executor}${event.reason === "" ? "" : `: ${event.reason}`}.`;
  }
}

type NodeUseEvent = Extract<Event, { readonly kind: "nodeCacheChanged" | "foreignUseChanged" | "storesChanged" }>;

const isNodeUse = (event: Event): event is NodeUseEvent =>
  event.kind === "nodeCacheChanged" || event.kind === "foreignUseChanged" || event.kind === "storesChanged";

function nodeUseText(event: NodeUseEvent): string {
  if (event.kind === "storesChanged") return storeEventSentence(event);
  return event.kind === "nodeCacheChanged" ? nodeCacheText(event) : foreignUseText(event.nodeId, event.use);
}

function nodeCacheText({ nodeId, added, removed }: Event & { readonly kind: "nodeCacheChanged" }): string {
  const mib = added.reduce((sum, each) => sum + each.mib, 0);
  const came = added.length === 0 ? [] : [`got ${plural(added.length, "input")} of ${memoryText(mib)}`];
  const left = removed.length === 0 ? [] : [`dropped ${plural(removed.length, "input")}`];
  return `The cache of node ${nodeId} ${[...came, ...left].join(" and ")}.`;
}

function foreignUseText(node: string, use: (Event & { readonly kind: "foreignUseChanged" })["use"]): string {
  const count = acceleratorCount(use?.accelerators ?? "");
  return use === null
    ? `Work that Headroom does not run left node ${node}.`
    : `Work that Headroom does not run uses ${plural(count, "accelerator")}, ${coresText(use.coresMilli)} and ${memoryText(use.memoryMib)} of node ${node}.`;
}

const hotSpareReleaseText = ({ nodeId, workloadId, reason }: Event & { readonly kind: "hotSpareReleased" }): string =>
  workloadId === null
    ? `Node ${nodeId} is no longer a hot spare: ${hotSpareEnds[reason]}.`
    : `Workload ${workloadId}, which had lost a node, took the hot spare ${nodeId}.`;

function sentenceOf(event: Exclude<Event, ArtifactEvent>): string {
  if (isOfExecutor(event)) return executorSentence(event);
  if (isRemoval(event)) return removalSentence(event);
  if (isNodeUse(event)) return nodeUseText(event);
  if (isQualification(event)) return qualificationSentence(event);
  if (isProposalEvent(event)) return proposalEventSentence(event);
  if (isOrderEvent(event)) return orderEventSentence(event);
  if (isHealthEvent(event)) return healthEventSentence(event);
  if (isPipelineEvent(event)) return pipelineEventSentence(event);
  switch (event.kind) {
    case "siteDefined":
      return `Site ${event.site.name} was defined${by(event)}.`;
    case "executorRegistered":
      return `Executor ${event.executor.id} (${event.executor.kind}) registered.`;
    case "poolDefined":
      return `Pool ${event.pool.name} was defined at ${event.pool.site}${event.pool.acceleratorType === "" ? "" : ` with accelerators of type ${event.pool.acceleratorType}`}${by(event)}.`;
    case "nodeJoined":
      return `Node ${event.node.id} joined pool ${event.node.pool} with ${plural(event.node.acceleratorCount, "accelerator")}.`;
    case "nodeChanged":
      return `Node ${event.node.id} changed: it has ${plural(event.node.acceleratorCount, "accelerator")}.`;
    case "nodeLost":
      return `Node ${event.nodeId} was lost${event.detail === "" ? "" : `: ${event.detail}`}.`;
    case "nodeReturned":
      return `Node ${event.nodeId} came back.`;
    case "nodeDrainStarted":
      return `${event.actor} began to drain node ${event.nodeId}.`;
    case "nodeResumed":
      return `${event.actor} let node ${event.nodeId} take work again.`;
    case "hotSpareReserved":
      return `Node ${event.nodeId} is kept as a hot spare.`;
    case "hotSpareReleased":
      return hotSpareReleaseText(event);
    case "teamDefined":
      return `Team ${event.team.name} was defined${by(event)}.`;
    case "teamRemoved":
      return `Team ${event.team} was removed${by(event)}.`;
    case "policySet":
      return `Policy ${event.policy.name} was activated${by(event)}.`;
    case "calendarSet":
      return `${event.actor} planned: ${calendarSentence(event.entry)}.`;
    case "calendarRemoved":
      return `${event.actor} removed ${event.name} from the calendar.`;
    case "windowBegan":
      return `Window ${event.name} has begun.`;
    case "windowEnded":
      return `Window ${event.name} is over.`;
    case "scheduleSet":
      return `${event.actor} declared schedule ${event.schedule.name}: ${event.schedule.spec.name} at ${writeCron(event.schedule.times)}.`;
    case "scheduleRemoved":
      return `${event.actor} removed schedule ${event.name}.`;
    case "scheduleRan":
      return event.submittedId === null
        ? `Schedule ${event.name} was due but submitted nothing: ${event.left}.`
        : `Schedule ${event.name} was due and submitted workload ${event.submittedId}.`;
    case "budgetCrossed":
      return `Team ${event.team} has used up ${event.percent}% of its budget: ${spentText(event.resource, event.spent)} of ${spentText(event.resource, event.limit)}.`;
    case "budgetRenewed":
      return `The budget of team ${event.team} was renewed.`;
    case "commandAnswered":
      return `The answer to a command with key ${event.key} was stored.`;
    case "eventHidden":
      return "An event of another team.";
    case "progressEstimated":
      return `The expected end of ${plural(event.estimates.length, "attempt")} moved.`;
    case "idleChanged":
      return idleSentence(event.changes);
    default:
      return workSentence(event);
  }
}

type WorkEvent = Exclude<
  Extract<
    Event,
    { readonly workloadId: string } | { readonly attemptId: string } | { readonly kind: "placementNominated" }
  >,
  ArtifactEvent
>;
type PlaceEvent = Extract<
  Event,
  {
    readonly kind:
      | "endpointBudgetCrossed"
      | "endpointBudgetRenewed"
      | "overflowCharged"
      | "gangShrinkRequested"
      | "workersLeft"
      | "gangGrown"
      | "joinFailed"
      | "gangDegraded"
      | "workersReplaced"
      | "workersJoined"
      | "placementNominated"
      | "nominationWithdrawn"
      | "opportunisticJobRelabelled"
      | "evictionPlanned";
  }
>;

function workSentence(event: WorkEvent): string {
  switch (event.kind) {
    case "workloadSubmitted":
      return `${event.actor} submitted ${event.spec.name} for ${event.spec.team}.`;
    case "startWindowOpened":
      return `Workload ${event.workloadId} can start: its start window is open.`;
    case "startWindowClosed":
      return `Workload ${event.workloadId} waits for its start window: power is too expensive or too carbon-intensive.`;
    case "workloadRerun":
      return `${event.actor} ran workload ${event.workloadId} again.`;
    case "workloadChanged":
      return `${event.actor} changed workload ${event.workloadId}: ${changesText(event.changes)}.`;
    case "workloadHeld":
      return `${event.actor} held workload ${event.workloadId}.`;
    case "workloadReleased":
      return `${event.actor} released workload ${event.workloadId}.`;
    case "workloadStopRequested":
      return `${event.actor} stopped workload ${event.workloadId}.`;
    case "taskStopRequested":
      return `${event.actor} stopped task ${event.task} of workload ${event.workloadId}.`;
    case "rolloutStarted":
    case "rolloutSteered":
    case "rolloutSized":
    case "rolloutEnded":
      return `Endpoint ${event.workloadId}: ${rolloutEventText(event)}`;
    case "endpointScaled":
      return `${event.actor} set ${plural(event.replicas, "replica")} for endpoint ${event.workloadId}${groundText(event.ground)}${typesText(event.acceleratorTypes)}.`;
    case "replicaReady":
      return `Replica ${event.attemptId} takes requests at ${event.address}.`;
    case "replicaNotReady":
      return `Replica ${event.attemptId} answers no more: ${event.detail}`;
    case "workloadEnded":
      return `Workload ${event.workloadId} ended: ${event.phase}.`;
    case "gangPlaced":
      return `Attempt ${event.attemptId} was placed: ${plural(event.workers.length, "worker")} on ${nodesText(event.workers)}.`;
    case "backoffEnded":
      return `Attempt ${event.attemptId} is launched: its back-off is over.`;
    case "attemptStarted":
      return `Attempt ${event.attemptId} started.`;
    case "execStarted":
      return `${event.actor} ran ${execText(event)} in worker ${event.worker} of attempt ${event.attemptId}.`;
    case "predictionCorrected":
      return `Attempt ${event.attemptId} has run longer than predicted; its expected run time is now ${durationText(event.prediction.durationMs)}.`;
    case "attemptStopRequested":
      return `Attempt ${event.attemptId} is being stopped: ${stopText(event)}.`;
    case "checkpointRequested":
      return `Attempt ${event.attemptId} was asked for a checkpoint before it stops.`;
    case "checkpointWaitEnded":
      return `Attempt ${event.attemptId} is stopped now: ${checkpointWaitText[event.outcome]}.`;
    case "attemptEnded":
      return `Attempt ${event.attemptId} ended: ${event.outcome}${event.exit === null ? "" : `, ${exitSentence(event.exit)}`}${event.detail === "" ? "" : ` (${event.detail})`}.`;
    case "progressRecorded":
      return `Attempt ${event.attemptId} is at step ${stepText(event)}${metricsText(event.metrics)}.`;
    case "utilizationRecorded":
      return `Attempt ${event.attemptId} had ${event.busyAccelerators} of ${plural(event.accelerators, "accelerator")} busy.`;
    case "artifactRecorded":
      return `Attempt ${event.attemptId} produced ${event.name}: ${event.path}.`;
    case "checkpointRecorded":
      return `Attempt ${event.attemptId} wrote a checkpoint at step ${event.step}.`;
    case "pipelineStepStarted":
      return pipelineEventSentence(event);
    case "bytesTransferred":
      return storeEventSentence(event);
    default:
      return placeSentence(event);
  }
}

type IdleChanges = Extract<Event, { readonly kind: "idleChanged" }>["changes"];

function idleSentence(changes: IdleChanges): string {
  const idle = changes.filter(([, sinceMs]) => sinceMs !== null).length;
  const busy = changes.length - idle;
  const parts = [
    ...(idle === 0 ? [] : [`all accelerators of ${plural(idle, "attempt")} are idle`]),
    ...(busy === 0 ? [] : [`the accelerators of ${plural(busy, "attempt")} are busy again`]),
  ];
  const text = parts.join("; ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Events of nominations, growing and shrinking gangs, and evictions. */
function placeSentence(event: PlaceEvent): string {
  switch (event.kind) {
    case "endpointBudgetCrossed":
    case "endpointBudgetRenewed":
    case "overflowCharged":
      return endpointBudgetSentence(event);
    case "gangShrinkRequested":
      return `Attempt ${event.attemptId} shrinks to ${plural(event.workers, "worker")}: ${stopReasonText[event.reason]}.`;
    case "workersLeft":
      return `The stopped workers of attempt ${event.attemptId} have ended.`;
    case "gangGrown":
      return `Attempt ${event.attemptId} grows by ${plural(event.workers.length, "worker")} on ${nodesText(event.workers)}.`;
    case "joinFailed":
      return `Attempt ${event.attemptId} stays at ${plural(event.workers, "worker")}: further workers did not start (${event.detail}).`;
    case "gangDegraded":
      return event.ahead === true
        ? `Attempt ${event.attemptId} gives up ${ranksText(event.lostRanks)} on node ${event.nodeId}, which is going away.`
        : `Attempt ${event.attemptId} lost ${ranksText(event.lostRanks)} with node ${event.nodeId}.`;
    case "workersReplaced":
      return `Attempt ${event.attemptId} gets ${plural(event.workers.length, "replacement worker")} on ${nodesText(event.workers)}.`;
    case "workersJoined":
      return `The replacement workers of attempt ${event.attemptId} have joined.`;
    case "placementNominated": {
      const { attemptId, workers, growth } = event.nomination;
      const what = growth ? plural(workers.length, "further worker") : plural(workers.length, "worker");
      return `Attempt ${attemptId} is nominated for ${what} on ${nodesText(workers)}, which are being freed.`;
    }
    case "nominationWithdrawn":
      return `The nomination of attempt ${event.attemptId} is withdrawn: ${event.reason}.`;
    case "opportunisticJobRelabelled":
      return `Attempt ${event.attemptId} continues as an opportunistic job: its team's cells are given to ${event.workloadId}.`;
    case "evictionPlanned":
      return planSentence(event);
    default:
      return unreachable(event);
  }
}

/** Names such as `n1, n2`, or the number of nodes if there are more than three. */
export function nodesText(workers: readonly { readonly node: string }[]): string {
  const names = [...new Set(workers.map(({ node }) => node))];
  return names.length <= 3 ? names.join(", ") : plural(names.length, "node");
}

export const ranksText = (ranks: readonly number[]): string =>
  `${ranks.length === 1 ? "rank" : "ranks"} ${ranks.join(", ")}`;

const stepText = ({ step, totalSteps }: { readonly step: number; readonly totalSteps: number | null }): string =>
  totalSteps === null ? `${step}` : `${step} of ${totalSteps}`;

function metricsText(metrics: Readonly<Record<string, number>>): string {
  const parts = Object.entries(metrics).map(([name, value]) => `${name} ${metricText(value)}`);
  return parts.length === 0 ? "" : `, ${parts.join(", ")}`;
}

function unreachable(value: never): never {
  throw new Error(`unhandled: ${JSON.stringify(value)}`);
}
