/** Pipelines in sentences: refusals, events, and why a step waits or how it ended. */
import type { Rejection, StepReason as EngineReason } from "@headroom/model";
import type { StepWait } from "@headroom/pipelines";
import type { Event, RunTrigger, StepReason } from "@headroom/protocol";
import { writeInstant } from "@headroom/protocol";
import { durationText, grouped, plural } from "./plain-text.ts";

const pipelineCodes = [
  "unknownPipeline",
  "unknownPipelineRun",
  "unknownPipelineStep",
  "pipelineInvalid",
  "pipelineParam",
  "pipelineNotTriggered",
  "pipelineRunNotEnded",
  "pipelineRunEnded",
  "stepNotAwaitingApproval",
  "stepAwaitsProposal",
  "tooManyPipelines",
] as const;
export type PipelineRejection = Extract<Rejection, { readonly code: (typeof pipelineCodes)[number] }>;

export const isPipelineRejection = (rejection: Rejection): rejection is PipelineRejection =>
  pipelineCodes.some((code) => code === rejection.code);

/** `steps[3].after`. */
const fieldText = (path: readonly (string | number)[]): string =>
  path.map((part, at) => (typeof part === "number" ? `[${part}]` : `${at === 0 ? "" : "."}${part}`)).join("");

export function pipelineRejectionSentence(rejection: PipelineRejection): string {
  switch (rejection.code) {
    case "unknownPipeline":
      return `There is no pipeline ${rejection.name}. headroom pipeline list shows all.`;
    case "unknownPipelineRun":
      return `There is no pipeline run ${rejection.runId}; it may have ended long ago. headroom pipeline runs shows those that are kept.`;
    case "unknownPipelineStep":
      return `Run ${rejection.runId} has no step ${rejection.step}. headroom pipeline show ${rejection.runId} lists its steps.`;
    case "pipelineInvalid":
      return `Pipeline ${rejection.name} cannot run: ${fieldText(rejection.path)}: ${rejection.message}.`;
    case "pipelineParam":
      return paramSentence(rejection);
    case "pipelineNotTriggered":
      return `Pipeline ${rejection.name} has no trigger ${rejection.trigger}. Add it to its triggers, or start it with headroom pipeline run ${rejection.name}.`;
    case "pipelineRunNotEnded":
      return `Run ${rejection.runId} is ${rejection.phase}: only ended runs are retried. Cancel it first (headroom pipeline cancel ${rejection.runId}).`;
    case "pipelineRunEnded":
      return `Run ${rejection.runId} has already ended (${rejection.phase}).`;
    case "stepNotAwaitingApproval":
      return `Step ${rejection.step} of run ${rejection.runId} waits for no approval: it is ${rejection.phase}.`;
    case "stepAwaitsProposal":
      return `Step ${rejection.step} of run ${rejection.runId} waits for proposal ${rejection.proposal}. Decide it: headroom proposal approve ${rejection.proposal}, or reject.`;
    case "tooManyPipelines":
      return tooManySentence(rejection);
  }
}

function paramSentence({ name, param, cause }: PipelineRejection & { readonly code: "pipelineParam" }): string {
  switch (cause) {
    case "unknown":
      return `Pipeline ${name} has no parameter ${param}. headroom pipeline list --json shows its parameters.`;
    case "missing":
      return `Pipeline ${name} needs a value of the parameter ${param}: --param ${param}=VALUE.`;
    case "date":
      return `Pipeline ${name} has no parameter ${param}, so it cannot be run for dates. Add { name: ${param} } to its params.`;
  }
}

const tooManySentence = ({ of, count, maxCount }: PipelineRejection & { readonly code: "tooManyPipelines" }): string =>
  of === "pipelines"
    ? `There are ${grouped(count)} pipelines, and the limit is ${grouped(maxCount)}. Remove some with headroom pipeline remove.`
    : `${grouped(count)} ${of} of pipelines have not ended, and the limit is ${grouped(maxCount)}. Wait for some to end, or cancel some.`;

type PipelineEvent = Extract<Event, { readonly kind: `pipeline${string}` }>;

export const isPipelineEvent = (event: Event): event is PipelineEvent => event.kind.startsWith("pipeline");

const because = (text: string): string => (text === "" ? "" : `: ${text}`);

export function triggerText(trigger: RunTrigger): string {
  switch (trigger.kind) {
    case "manual":
      return "by hand";
    case "webhook":
      return "by webhook";
    case "clock":
      return `by its clock, due ${writeInstant(trigger.dueAtMs)}`;
    case "backfill":
      return `for ${trigger.date}`;
    case "file":
      return `by the file ${trigger.uri}`;
    case "metric":
      return `by ${trigger.metric} of ${trigger.subject}, which was ${trigger.value} since ${writeInstant(trigger.sinceMs)}`;
    case "artifact":
      return `by the new version ${trigger.version}`;
    case "alias":
      return `by the alias ${trigger.alias}, which points to ${trigger.version}`;
  }
}

export function pipelineEventSentence(event: PipelineEvent): string {
  switch (event.kind) {
    case "pipelineSet":
      return `${event.actor} declared pipeline ${event.pipeline.name} with ${plural(event.pipeline.steps.length, "step")}.`;
    case "pipelineRemoved":
      return `${event.actor} removed pipeline ${event.name}.`;
    case "pipelineRunCreated":
      return `Run ${event.runId} of pipeline ${event.name} was created ${triggerText(event.trigger)} (${event.actor}).`;
    case "pipelineDue":
      return event.runId === null
        ? `Pipeline ${event.name} was due and did not run: ${event.left}.`
        : `Pipeline ${event.name} was due: run ${event.runId}.`;
    case "pipelineNotTriggered":
      return `Pipeline ${event.name} was not started ${triggerText(event.trigger)}: ${event.left}.`;
    case "pipelineRunStarted":
      return `Run ${event.runId} started.`;
    case "pipelineStepExpanded":
      return `Step ${event.step} of run ${event.runId} has ${plural(event.items.length, "item")}.`;
    case "pipelineStepStarted":
      return `Step ${event.step} of run ${event.runId} submitted ${event.workloadId}.`;
    case "pipelineApprovalRequested":
      return `Step ${event.step} of run ${event.runId} waits for ${event.proposal === undefined ? "approval" : `proposal ${event.proposal}`}.`;
    case "pipelineStepDecided":
      return `${event.actor} ${event.isApproved ? "approved" : "rejected"} step ${event.step} of run ${event.runId}${because(event.reason)}.`;
    case "pipelineStepEnded":
      return `Step ${event.step} of run ${event.runId} is ${event.phase}${event.reason === null ? "" : `: ${stepReasonText(event.reason)}`}.`;
    case "pipelineRunCancelRequested":
      return `${event.actor} cancels run ${event.runId}.`;
    case "pipelineRunRetried":
      return `${event.actor} retried run ${event.runId}${event.from === null ? "" : ` from step ${event.from}`}.`;
    case "pipelineRunEnded":
      return `Run ${event.runId} ended: ${event.phase}.`;
  }
}

const fanOutTexts = {
  missing: "a step before it did not report the items",
  notAList: "the reported items are no JSON list of texts",
  tooMany: "it would have more items than a run may",
} as const;

/** Why a step has its phase, as a part of a sentence. */
function stepReasonText(reason: StepReason | EngineReason): string {
  switch (reason.kind) {
    case "workload":
      return reason.phase === "failed" ? "its workload failed" : "its workload was stopped";
    case "upstream":
      return `step ${reason.step} did not succeed`;
    case "condition":
      return `condition ${reason.index + 1} does not hold (${reason.found === null ? "there is no value" : `the value is ${reason.found}`})`;
    case "timedOut":
      return `it took longer than ${durationText(reason.timeoutMs)}`;
    case "cached":
      return `run ${reason.runId} made the same`;
    case "approved":
      return `approved by ${reason.actor}${because(reason.reason)}`;
    case "rejected":
      return `rejected by ${reason.actor}${because(reason.reason)}`;
    case "refused":
      return `it was refused (${reason.code})`;
    case "fanOut":
      return fanOutTexts[reason.cause];
    case "tooManyArtifacts":
      return `its workload would get ${grouped(reason.count)} artifacts`;
    case "cancelled":
      return "the run was cancelled";
    case "aliasSet":
      return `${reason.alias} points to ${reason.version}`;
    case "noVersion":
      return `the steps before it registered no version for ${reason.artifact}`;
  }
}

/** As `stepReasonText`, as a sentence. */
export function stepReasonSentence(reason: EngineReason): string {
  const text = stepReasonText(reason);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** The wait of a step, as a sentence. */
export function stepWaitSentence(wait: StepWait, runId: string, step: string): string {
  switch (wait.kind) {
    case "runsAtOnce":
      return `Waits for another run: the pipeline runs at most ${plural(wait.limit, "run")} at one time.`;
    case "after":
      return `Waits for ${wait.steps.join(", ")}${wait.count > wait.steps.length ? ` (${grouped(wait.count)} have not ended)` : ""}.`;
    case "stepsAtOnce":
      return `Waits for a free place: at most ${plural(wait.limit, "workload")} of the run at one time.`;
    case "atOnce":
      return `Waits for a free place: at most ${plural(wait.limit, "item")} of the step at one time.`;
    case "approval":
      return wait.proposal === undefined
        ? `Waits for approval: headroom pipeline approve ${runId} ${step}.`
        : `Waits for another user to decide proposal ${wait.proposal}: headroom proposal approve ${wait.proposal}.`;
  }
}
