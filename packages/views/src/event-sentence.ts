/** Every event as one sentence, for lists of events; the complete record is shown on request. */
import type { Event } from "@headroom/protocol";
import { writeCron } from "@headroom/protocol";
import { spentText } from "./budget-text.ts";
import { calendarSentence } from "./calendar-view.ts";
import { checkpointWaitText, planSentence, stopReasonText, stopText } from "./eviction-text.ts";
import { durationText, metricText, plural } from "./plain-text.ts";
import { exitSentence } from "./workload-view.ts";

const hotSpareEnds = {
  taken: "it was taken",
  lost: "it was lost",
  drained: "it takes no work",
  calendar: "the calendar has it for something else",
  fewer: "its pool keeps fewer",
} as const;

export interface EventText {
  readonly sentence: string;
  readonly workloadId: string | null;
  readonly nodeId: string | null;
}

export function eventText(event: Event): EventText {
  const nodeId = "nodeId" in event ? event.nodeId : event.kind === "nodeJoined" ? event.node.id : null;
  return { workloadId: workloadOf(event), nodeId, sentence: sentenceOf(event) };
}

function workloadOf(event: Event): string | null {
  if (event.kind === "placementNominated") return event.nomination.workloadId;
  return "workloadId" in event ? event.workloadId : null;
}

function sentenceOf(event: Event): string {
  switch (event.kind) {
    case "siteDefined":
      return `Site ${event.site.name} was defined.`;
    case "executorRegistered":
      return `Executor ${event.executor.id} (${event.executor.kind}) registered.`;
    case "poolDefined":
      return `Pool ${event.pool.name} was defined at ${event.pool.site}.`;
    case "nodeJoined":
      return `Node ${event.node.id} joined pool ${event.node.pool} with ${plural(event.node.acceleratorCount, "accelerator")}.`;
    case "nodeChanged":
      return `Node ${event.node.id} changed.`;
    case "nodeLost":
      return `Node ${event.nodeId} was lost${event.detail === "" ? "" : `: ${event.detail}`}.`;
    case "nodeReturned":
      return `Node ${event.nodeId} came back.`;
    case "nodeDrainStarted":
      return `${event.actor} began to drain node ${event.nodeId}.`;
    case "nodeResumed":
      return `${event.actor} put node ${event.nodeId} back to work.`;
    case "hotSpareReserved":
      return `Node ${event.nodeId} is kept as a spare.`;
    case "hotSpareReleased":
      return event.workloadId === null
        ? `Node ${event.nodeId} is no spare any more: ${hotSpareEnds[event.reason]}.`
        : `Spare ${event.nodeId} was taken for ${event.workloadId}, which had lost a node.`;
    case "teamDefined":
      return `Team ${event.team.name} was defined.`;
    case "teamRemoved":
      return `Team ${event.team} was removed.`;
    case "policySet":
      return `Policy ${event.policy.name} came into force.`;
    case "calendarSet":
      return `${event.actor} planned: ${calendarSentence(event.entry)}.`;
    case "calendarRemoved":
      return `${event.actor} took ${event.name} out of the calendar.`;
    case "windowBegan":
      return `The time of ${event.name} has begun.`;
    case "windowEnded":
      return `The time of ${event.name} is over.`;
    case "scheduleSet":
      return `${event.actor} declared schedule ${event.schedule.name}: ${event.schedule.spec.name} at ${writeCron(event.schedule.times)}.`;
    case "scheduleRemoved":
      return `${event.actor} removed schedule ${event.name}.`;
    case "scheduleRan":
      return event.submittedId === null
        ? `Schedule ${event.name} was due and submitted nothing: ${event.left}.`
        : `Schedule ${event.name} was due and submitted workload ${event.submittedId}.`;
    case "budgetCrossed":
      return `Team ${event.team} has used up ${event.percent}% of its budget: ${spentText(event.resource, event.spent)} of ${spentText(event.resource, event.limit)}.`;
    case "budgetRenewed":
      return `The budget of team ${event.team} begins anew.`;
    case "commandAnswered":
      return `A command with key ${event.key} was answered.`;
    case "progressEstimated":
      return `The expected end of ${plural(event.estimates.length, "attempt")} moved.`;
    case "idleChanged":
      return idleSentence(event.changes);
    default:
      return workSentence(event);
  }
}

type WorkEvent = Extract<
  Event,
  { readonly workloadId: string } | { readonly attemptId: string } | { readonly kind: "placementNominated" }
>;
type PlaceEvent = Extract<
  Event,
  {
    readonly kind:
      | "gangShrinkRequested"
      | "workersLeft"
      | "gangGrown"
      | "joinFailed"
      | "ranksLost"
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
      return `Workload ${event.workloadId} may start: power is cheap and clean enough for it, or it can wait no longer.`;
    case "startWindowClosed":
      return `Workload ${event.workloadId} waits for cheaper or cleaner power.`;
    case "workloadRerun":
      return `${event.actor} ran workload ${event.workloadId} again.`;
    case "workloadHeld":
      return `${event.actor} held workload ${event.workloadId}.`;
    case "workloadReleased":
      return `${event.actor} released workload ${event.workloadId}.`;
    case "workloadStopRequested":
      return `${event.actor} asked to stop workload ${event.workloadId}.`;
    case "workloadEnded":
      return `Workload ${event.workloadId} ended: ${event.phase}.`;
    case "gangPlaced":
      return `Attempt ${event.attemptId} was placed: ${plural(event.workers.length, "worker")} on ${nodesText(event.workers)}.`;
    case "backoffEnded":
      return `Attempt ${event.attemptId} is launched: its back-off is over.`;
    case "attemptStarted":
      return `Attempt ${event.attemptId} started.`;
    case "predictionCorrected":
      return `Attempt ${event.attemptId} has run longer than was predicted; it is now taken to run ${durationText(event.prediction.durationMs)} in all.`;
    case "attemptStopRequested":
      return `Attempt ${event.attemptId} is being stopped: ${stopText(event)}.`;
    case "checkpointRequested":
      return `Attempt ${event.attemptId} was asked for a checkpoint before it stops.`;
    case "checkpointWaitEnded":
      return `Attempt ${event.attemptId} is told to stop now: ${checkpointWaitText[event.outcome]}.`;
    case "attemptEnded":
      return `Attempt ${event.attemptId} ended: ${event.outcome}${event.exit === null ? "" : `, ${exitSentence(event.exit)}`}${event.detail === "" ? "" : ` (${event.detail})`}.`;
    case "progressRecorded":
      return `Attempt ${event.attemptId} is at step ${stepText(event)}${metricsText(event.metrics)}.`;
    case "utilizationRecorded":
      return `Attempt ${event.attemptId} had ${event.busyAccelerators} of ${plural(event.accelerators, "accelerator")} busy.`;
    case "artifactRecorded":
      return `Attempt ${event.attemptId} has produced ${event.name}: ${event.path}.`;
    case "checkpointRecorded":
      return `Attempt ${event.attemptId} wrote a checkpoint at step ${event.step}.`;
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
    ...(busy === 0 ? [] : [`those of ${plural(busy, "attempt")} are busy again`]),
  ];
  const text = parts.join("; ");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Events of nominations, growing and shrinking gangs, and evictions. */
function placeSentence(event: PlaceEvent): string {
  switch (event.kind) {
    case "gangShrinkRequested":
      return `Attempt ${event.attemptId} is to go on with ${plural(event.workers, "worker")}: ${stopReasonText[event.reason]}.`;
    case "workersLeft":
      return `The workers of attempt ${event.attemptId} that were asked to leave have left.`;
    case "gangGrown":
      return `Attempt ${event.attemptId} grows by ${plural(event.workers.length, "worker")} on ${nodesText(event.workers)}.`;
    case "joinFailed":
      return `Attempt ${event.attemptId} goes on with ${plural(event.workers, "worker")}: further ones did not come (${event.detail}).`;
    case "ranksLost":
      return event.ahead === true
        ? `Attempt ${event.attemptId} gives up ${ranksText(event.ranks)} on node ${event.nodeId}, which will be away.`
        : `Attempt ${event.attemptId} lost ${ranksText(event.ranks)} with node ${event.nodeId}.`;
    case "workersReplaced":
      return `Attempt ${event.attemptId} goes on with ${plural(event.workers.length, "worker")} on ${nodesText(event.workers)} in the place of those that were lost.`;
    case "workersJoined":
      return `The replaced workers of attempt ${event.attemptId} have joined the others.`;
    case "placementNominated": {
      const { attemptId, workers, growth } = event.nomination;
      const what = growth ? plural(workers.length, "further worker") : plural(workers.length, "worker");
      return `A place for ${what} on ${nodesText(workers)} is kept for attempt ${attemptId} until those who hold it have left.`;
    }
    case "nominationWithdrawn":
      return `The place kept for attempt ${event.attemptId} is given up: ${event.reason}.`;
    case "opportunisticJobRelabelled":
      return `Attempt ${event.attemptId} goes on with what is idle: its team's place is given to ${event.workloadId}.`;
    case "evictionPlanned":
      return planSentence(event);
    default:
      return unreachable(event);
  }
}

/** `n1, n2`, or the number if they are more than three. */
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
