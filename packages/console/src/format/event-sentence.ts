/** Every event in one plain sentence; the whole record is a click away. */
import type { Event } from "@headroom/protocol";
import { exitSentence, plural } from "@headroom/views";
import { metricText } from "./amounts.ts";

export interface EventText {
  readonly sentence: string;
  readonly workloadId: string | null;
  readonly nodeId: string | null;
}

const none = { workloadId: null, nodeId: null };

export function eventText(event: Event): EventText {
  const workloadId = "workloadId" in event ? event.workloadId : null;
  const nodeId = "nodeId" in event ? event.nodeId : event.kind === "nodeJoined" ? event.node.id : null;
  return { ...none, workloadId, nodeId, sentence: sentenceOf(event) };
}

function sentenceOf(event: Event): string {
  switch (event.kind) {
    case "siteDefined":
      return `Site ${event.site.name} was defined.`;
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
    case "teamDefined":
      return `Team ${event.team.name} was defined.`;
    case "teamRemoved":
      return `Team ${event.team} was removed.`;
    case "policySet":
      return `Policy ${event.policy.name} came into force.`;
    case "commandAnswered":
      return `A command with key ${event.key} was answered.`;
    default:
      return workSentence(event);
  }
}

type WorkEvent = Extract<Event, { readonly workloadId: string } | { readonly attemptId: string }>;

function workSentence(event: WorkEvent): string {
  switch (event.kind) {
    case "workloadSubmitted":
      return `${event.actor} submitted ${event.spec.name} for ${event.spec.team}.`;
    case "workloadStopRequested":
      return `${event.actor} asked to stop workload ${event.workloadId}.`;
    case "workloadEnded":
      return `Workload ${event.workloadId} ended: ${event.phase}.`;
    case "gangPlaced":
      return `Attempt ${event.attemptId} was placed: ${plural(event.workers.length, "worker")} on ${nodesText(event.workers)}.`;
    case "attemptStarted":
      return `Attempt ${event.attemptId} started.`;
    case "attemptStopRequested":
      return `Attempt ${event.attemptId} is being stopped: ${stopReasons[event.reason]}.`;
    case "attemptEnded":
      return `Attempt ${event.attemptId} ended: ${event.outcome}${event.exit === null ? "" : `, ${exitSentence(event.exit)}`}${event.detail === "" ? "" : ` (${event.detail})`}.`;
    case "progressRecorded":
      return `Attempt ${event.attemptId} is at step ${stepText(event)}${metricsText(event.metrics)}.`;
    case "checkpointRecorded":
      return `Attempt ${event.attemptId} wrote a checkpoint at step ${event.step}.`;
    default:
      return unreachable(event);
  }
}

const stopReasons = {
  cancelled: "someone asked for it",
  walltimeExceeded: "it ran longer than its walltime",
  nodeDrained: "its node is drained",
  nodeLost: "its node was lost",
} as const;

function nodesText(workers: readonly { readonly node: string }[]): string {
  const names = [...new Set(workers.map(({ node }) => node))];
  return names.length <= 3 ? names.join(", ") : plural(names.length, "node");
}

const stepText = ({ step, totalSteps }: { readonly step: number; readonly totalSteps: number | null }): string =>
  totalSteps === null ? `${step}` : `${step} of ${totalSteps}`;

function metricsText(metrics: Readonly<Record<string, number>>): string {
  const parts = Object.entries(metrics).map(([name, value]) => `${name} ${metricText(value)}`);
  return parts.length === 0 ? "" : `, ${parts.join(", ")}`;
}

function unreachable(value: never): never {
  throw new Error(`unhandled: ${JSON.stringify(value)}`);
}
