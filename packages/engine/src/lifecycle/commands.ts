/** Commands. Each is accepted with a result, or rejected with a reason and without any effect. */
import { canonicalJson, hashText, unreachable } from "@headroom/model";
import type { Command } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { Decision } from "./decision.ts";
import { apply } from "./apply-documents.ts";
import { changeArtifact, registerArtifact } from "./artifacts.ts";
import { advanceCapacityOrder, cancelCapacityOrder, createCapacityOrder } from "./capacity-orders.ts";
import { changeWorkload } from "./change-workload.ts";
import { chargeOverflow, scaleEndpoint } from "./scale-endpoint.ts";
import { steerRollout } from "./rollouts.ts";
import { removeCalendarEntry } from "./calendar.ts";
import { setExecutor } from "./executors.ts";
import { annotateIncident, reportFaults } from "./health-records.ts";
import { drainNode, removeTeam, resumeNode, setPolicy } from "./govern.ts";
import { holdWorkload, stopWorkload, submitWorkload } from "./submit.ts";
import { noticeNode, withdrawNotice } from "./notices.ts";
import { createProposal, decideProposal, setProposalRule, simulateProposal } from "./proposals.ts";
import { qualifyNode } from "./qualification.ts";
import { removeNode, removePool, removeSite } from "./remove.ts";
import { startExec } from "./exec.ts";
import { rerunWorkload } from "./rerun.ts";
import { restartWorkload } from "./restart-workload.ts";
import { stopTask } from "./stop-task.ts";
import {
  cancelPipelineRun,
  decidePipelineStep,
  removePipeline,
  retryPipelineRun,
  startPipelineRun,
} from "./pipelines.ts";
import { removeSchedule } from "./schedules.ts";

export function decideCommand(batch: Batch, command: Command): void {
  const { commandId, idempotencyKey } = command;
  if (idempotencyKey === null) return answer(batch, command, decide(batch, command));
  const key = `${command.actor} ${idempotencyKey}`;
  const fingerprint = fingerprintOf(command);
  const earlier = batch.world.state.answers.get(key);
  if (earlier !== undefined) {
    if (earlier.fingerprint === fingerprint) batch.accept(commandId, earlier.result);
    else batch.reject(commandId, { code: "idempotencyKeyReused", key: idempotencyKey });
    return;
  }
  const decision = decide(batch, command);
  answer(batch, command, decision);
  if (decision.kind === "done") {
    batch.emit({ kind: "commandAnswered", version: 1, atMs: batch.nowMs, key, fingerprint, result: decision.result });
  }
}

/** Hash of the fields that must be equal in a repetition of the command. */
function fingerprintOf(command: Command): string {
  return hashText(canonicalJson({ ...command, commandId: null, idempotencyKey: null }));
}

function answer(batch: Batch, { commandId }: Command, decision: Decision): void {
  if (decision.kind === "done") batch.accept(commandId, decision.result);
  else batch.reject(commandId, decision.rejection);
}

type RecordCommand = Extract<
  Command,
  {
    readonly kind:
      | `${string}CapacityOrder`
      | `${string}Proposal${string}`
      | `${string}Artifact`
      | "setExecutor"
      | "setPolicy"
      | "annotateIncident"
      | "reportFaults";
  }
>;

function decide(batch: Batch, command: Command): Decision {
  switch (command.kind) {
    case "submitWorkload":
      return submitWorkload(batch, command.spec, command.actor);
    case "stopWorkload":
      return stopWorkload(batch, command.workloadId, command.actor);
    case "stopTask":
      return stopTask(batch, command);
    case "holdWorkload":
    case "releaseWorkload":
      return holdWorkload(batch, command);
    case "changeWorkload":
      return changeWorkload(batch, command);
    case "scaleEndpoint":
      return scaleEndpoint(batch, command);
    case "chargeOverflow":
      return chargeOverflow(batch, command);
    case "steerRollout":
      return steerRollout(batch, command);
    case "startExec":
      return startExec(batch, command);
    case "rerunWorkload":
      return rerunWorkload(batch, command);
    case "apply":
      return apply(batch, command);
    case "removeTeam":
      return removeTeam(batch, command);
    case "drainNode":
      return drainNode(batch, command);
    case "restartWorkload":
      return restartWorkload(batch, command);
    case "resumeNode":
      return resumeNode(batch, command);
    case "qualifyNode":
      return qualifyNode(batch, command);
    case "removeNode":
      return removeNode(batch, command);
    case "removePool":
      return removePool(batch, command);
    case "removeSite":
      return removeSite(batch, command);
    case "noticeNode":
      return noticeNode(batch, command);
    case "withdrawNotice":
      return withdrawNotice(batch, command);
    case "removeSchedule":
      return removeSchedule(batch, command);
    case "removePipeline":
      return removePipeline(batch, command);
    case "startPipelineRun":
      return startPipelineRun(batch, command);
    case "cancelPipelineRun":
      return cancelPipelineRun(batch, command);
    case "retryPipelineRun":
      return retryPipelineRun(batch, command);
    case "decidePipelineStep":
      return decidePipelineStep(batch, command);
    case "removeCalendarEntry":
      return removeCalendarEntry(batch, command);
    default:
      return decideRecord(batch, command);
  }
}

/** Commands about orders, executors, proposals, artifacts and the policy. */
function decideRecord(batch: Batch, command: RecordCommand): Decision {
  switch (command.kind) {
    case "createCapacityOrder":
      return createCapacityOrder(batch, command);
    case "advanceCapacityOrder":
      return advanceCapacityOrder(batch, command);
    case "cancelCapacityOrder":
      return cancelCapacityOrder(batch, command);
    case "setExecutor":
      return setExecutor(batch, command);
    case "createProposal":
      return createProposal(batch, command);
    case "simulateProposal":
      return simulateProposal(batch, command);
    case "decideProposal":
      return decideProposal(batch, command);
    case "setProposalRule":
      return setProposalRule(batch, command);
    case "registerArtifact":
      return registerArtifact(batch, command);
    case "changeArtifact":
      return changeArtifact(batch, command);
    case "setPolicy":
      return setPolicy(batch, command);
    case "annotateIncident":
      return annotateIncident(batch, command);
    case "reportFaults":
      return reportFaults(batch, command);
    default:
      return unreachable(command);
  }
}
