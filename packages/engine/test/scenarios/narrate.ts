/** Describes events, refusals and verdicts in one line each. */
import { acceleratorCount, taskCountOf } from "@headroom/model";
import type {
  Prediction,
  AttemptId,
  BlockedReason,
  CommandResult,
  Event,
  PlannedVictim,
  Rejection,
  Team,
  Verdict,
  WorkerAllocation,
  WorkerExit,
  WorkloadId,
} from "@headroom/model";
import type { Engine } from "../../src/index.ts";
import { artifactText } from "./artifact-words.ts";
import { burstText } from "./order-words.ts";
import { isOfPipeline, pipelineEventText } from "./pipeline-words.ts";
import { durationText } from "./words.ts";

/** Remembers the workload of each attempt, since an ended attempt is no longer in the state. */
export class Narrator {
  readonly #attempts = new Map<AttemptId, string>();
  readonly #names = new Map<WorkloadId, string>();

  name(id: WorkloadId): string {
    return this.#names.get(id) ?? id;
  }

  event(engine: Engine, event: Event): string {
    switch (event.kind) {
      case "workloadSubmitted":
        this.#names.set(event.workloadId, event.spec.name);
        return `${event.spec.name} submitted as ${event.workloadId}`;
      case "workloadStopRequested":
        return `${this.name(event.workloadId)} is to stop`;
      case "workloadEnded":
        return `${this.name(event.workloadId)} is over: ${event.phase} (${fieldsText(event.reason)})`;
      case "gangPlaced": {
        const workload = engine.state.workloads.get(event.workloadId);
        const isArray = workload === undefined || taskCountOf(workload.spec) > 1;
        const task = isArray ? ` task ${event.task}` : "";
        const attempt = event.number > 1 ? ` attempt ${event.number}` : "";
        const who = `${this.name(event.workloadId)}${task}${attempt}`;
        this.#attempts.set(event.attemptId, who);
        return `${who} placed on ${workersText(event.workers)}${event.acceleratorType === "" ? "" : ` (${event.acceleratorType})`}${predictionText(event.prediction)}${event.launchAtMs === undefined ? "" : `, to be launched at ${durationText(event.launchAtMs)}`}${event.stagingMs === undefined ? "" : `, its inputs take ${durationText(event.stagingMs)} at most`}`;
      }
      case "backoffEnded":
        return `${this.#attempts.get(event.attemptId)} is launched`;
      case "bytesTransferred":
        return `${this.#attempts.get(event.attemptId)} read ${event.bytes} bytes from ${event.store} in ${event.tookMs} ms${event.egressMicroUsd === undefined ? "" : ` for ${event.egressMicroUsd} micro-dollars`}`;
      case "attemptStarted":
        return `${this.#attempts.get(event.attemptId)} runs`;
      case "execStarted":
        return `${event.actor} runs ${event.run} in worker ${event.worker} of ${event.attemptId}`;
      case "predictionCorrected":
        return `${this.#attempts.get(event.attemptId)} runs longer than was predicted${predictionText(event.prediction)}`;
      case "attemptStopRequested":
        return `${this.#attempts.get(event.attemptId)} is asked to stop: ${event.reason}${event.closedBy === undefined ? "" : ` for ${fieldsText(event.closedBy)}`}`;
      case "checkpointRequested":
        return `${this.#who(event.attemptId)} may first write a checkpoint, until ${durationText(event.untilMs)}`;
      case "checkpointWaitEnded":
        return `${this.#who(event.attemptId)} is asked to stop now: ${event.outcome}`;
      case "attemptEnded": {
        const exit = event.exit === null ? "" : ` (${exitText(event.exit)})`;
        const detail = event.detail === "" ? "" : ` (${event.detail})`;
        const again = againText(event);
        return `${this.#attempts.get(event.attemptId)} ended: ${event.outcome}${exit}${detail}${again}`;
      }
      case "progressEstimated":
        return event.estimates
          .map(([id, step, totalSteps]) => `${this.#attempts.get(id)} is at step ${step} of ${totalSteps}`)
          .join(", ");
      case "idleChanged":
        return event.changes
          .map(([id, sinceMs]) => `${this.#attempts.get(id)} is ${sinceMs === null ? "busy" : "idle"}`)
          .join(", ");
      case "progressRecorded":
        return `${this.#attempts.get(event.attemptId)} reports step ${event.step} of ${event.totalSteps ?? "?"}`;
      case "utilizationRecorded":
        return `${this.#attempts.get(event.attemptId)} has ${event.busyAccelerators} of ${event.accelerators} busy`;
      case "checkpointRecorded":
        return `${this.#attempts.get(event.attemptId)} has a checkpoint of step ${event.step} at ${event.path}`;
      case "artifactRecorded":
        return `${this.#attempts.get(event.attemptId)} has produced ${event.name} at ${event.path}`;
      case "artifactNotRegistered":
        return `${this.#attempts.get(event.attemptId)} leaves ${event.name} unregistered: ${event.detail}`;
      case "gangShrinkRequested":
        return `${this.#who(event.attemptId)} is asked to go on with ${event.workers} workers: ${event.reason}`;
      case "workersLeft":
        return `${this.#who(event.attemptId)} has shrunk`;
      case "gangGrown":
        return `${this.#who(event.attemptId)} grows by ${workersText(event.workers)}`;
      case "joinFailed":
        return `${this.#who(event.attemptId)} goes on with ${event.workers} workers: ${event.detail}`;
      case "gangDegraded":
        return event.ahead === true
          ? `${this.#who(event.attemptId)} gives up rank ${event.lostRanks.join(", ")} on ${event.nodeId}`
          : `${this.#who(event.attemptId)} lost rank ${event.lostRanks.join(", ")} with ${event.nodeId}`;
      case "workersReplaced":
        return `${this.#who(event.attemptId)} goes on with ${workersText(event.workers)} in their place`;
      case "workersJoined":
        return `${this.#who(event.attemptId)} is whole again`;
      case "placementNominated":
        this.#attempts.set(
          event.nomination.attemptId,
          this.#attempts.get(event.nomination.attemptId) ?? this.name(event.nomination.workloadId),
        );
        return `${this.#who(event.nomination.attemptId)} is promised ${workersText(event.nomination.workers)}`;
      case "nominationWithdrawn":
        return `${this.#who(event.attemptId)} is promised nothing any more: ${event.reason}`;
      case "evictionPlanned": {
        const victims = event.victims.map((victim) => this.#victim(victim));
        if (event.pairsGathered !== undefined)
          return `to gather ${event.pairsGathered} pairs ${event.reason}: ${victims.join(", ")}`;
        return `for ${this.name(event.workloadId)} ${event.reason}: ${victims.join(", ")}`;
      }
      default:
        return otherEvent(event);
    }
  }

  #who(id: AttemptId): string {
    return this.#attempts.get(id) ?? id;
  }

  #victim({ attemptId: id, keeps, migrates, team, teamShareBeforeMilli, teamShareAfterMilli }: PlannedVictim): string {
    const what = `${keeps === 0 ? "" : ` down to ${keeps}`}${migrates === true ? " migrates" : ""}`;
    return `${this.#who(id)}${what} (${team} from ${teamShareBeforeMilli / 10}% to ${teamShareAfterMilli / 10}% of its claim)`;
  }

  verdict(verdict: Verdict): string {
    if (verdict.kind !== "blocked") return verdict.kind;
    const reasons = verdict.reasons.map((reason) => this.#reason(reason)).join("; ");
    const wakeOn = verdict.wakeOn
      .join(" ")
      .replace("attemptEnded workersLeft joinFailed nominationWithdrawn foreignUseChanged policySet", "roomFreed")
      .replace(
        "nodeJoined nodeChanged nodeRelabelled nodeReturned nodeResumed nodeQualificationEnded nodeRemovalCancelled hotSpareReleased executorReturned executorDeclared poolDefined",
        "fleetGrows",
      );
    return wakeOn === "" ? reasons : `${reasons} [until ${wakeOn}]`;
  }

  #reason(reason: BlockedReason): string {
    if (reason.kind === "behindHead")
      return `behindHead head=${this.name(reason.headWorkloadId)} ahead=${reason.aheadCount}`;
    if (reason.kind === "backoff") return `backoff until=${durationText(reason.untilMs)} failures=${reason.failures}`;
    return fieldsText(reason);
  }
}

const predictionText = (prediction: Prediction | undefined): string =>
  prediction === undefined ? "" : `, taken to run ${durationText(prediction.durationMs)}`;

function againText({ retryAtMs, atMs, outcome }: Event & { readonly kind: "attemptEnded" }): string {
  if (retryAtMs === null) return outcome === "succeeded" ? "" : ", not again";
  return retryAtMs === atMs ? ", again at once" : `, again at ${durationText(retryAtMs)}`;
}

type OtherEvent = Exclude<
  Event,
  {
    readonly kind:
      | "workloadSubmitted"
      | "workloadStopRequested"
      | "workloadEnded"
      | "gangPlaced"
      | "backoffEnded"
      | "bytesTransferred"
      | "attemptStarted"
      | "execStarted"
      | "predictionCorrected"
      | "attemptStopRequested"
      | "checkpointRequested"
      | "checkpointWaitEnded"
      | "attemptEnded"
      | "progressEstimated"
      | "idleChanged"
      | "progressRecorded"
      | "checkpointRecorded"
      | "utilizationRecorded"
      | "artifactRecorded"
      | "artifactNotRegistered"
      | "gangShrinkRequested"
      | "workersLeft"
      | "gangGrown"
      | "joinFailed"
      | "gangDegraded"
      | "workersReplaced"
      | "workersJoined"
      | "placementNominated"
      | "nominationWithdrawn"
      | "evictionPlanned";
  }
>;

function otherEvent(event: OtherEvent): string {
  if (isOfPipeline(event)) return pipelineEventText(event);
  switch (event.kind) {
    case "taskStopRequested":
      return `${event.actor} stops task ${event.task} of ${event.workloadId}`;
    case "rolloutStarted":
      return `${event.workloadId} begins revision ${event.number} (${event.cause})`;
    case "rolloutSteered":
      return `the rollout of ${event.workloadId}: ${event.action} (${event.ground.kind})`;
    case "rolloutSized":
      return `${event.workloadId} is to have ${event.stable} present replicas and ${event.canary} new ones`;
    case "rolloutEnded":
      return `the rollout of ${event.workloadId} is ${event.outcome} (${event.ground.kind})`;
    case "endpointScaled":
      return `${event.workloadId} is to have ${event.replicas} replicas (${event.ground.kind})`;
    case "endpointBudgetCrossed":
      return `${event.workloadId} has spent ${event.percent}% of its budget`;
    case "endpointBudgetRenewed":
      return `the budget of ${event.workloadId} begins anew`;
    case "overflowCharged":
      return `${event.gateway} has charged ${event.workloadId} ${event.microUsd} micro-dollars`;
    case "replicaReady":
      return `${event.attemptId} is ready at ${event.address}`;
    case "replicaNotReady":
      return `${event.attemptId} is not ready: ${event.detail}`;
    case "siteDefined":
      return `site ${event.site.name} defined`;
    case "executorRegistered":
      return `executor ${event.executor.id} registered`;
    case "executorDeclared":
      return `executor ${event.executor} declared to ${event.mode}`;
    case "executorLost":
      return `executor ${event.executor} unreachable: ${event.detail}`;
    case "historyImported":
      return `${event.actor} imports ${event.history.jobCount} past jobs of ${event.history.executor}`;
    case "executorReturned":
      return `executor ${event.executor} answers`;
    case "executorRemoved":
      return `executor ${event.executor} removed by ${event.actor}`;
    case "executorAbandoned":
      return `${event.actor} gives up ${event.attempts} attempts of ${event.executor}`;
    case "poolDefined":
      return `pool ${event.pool.name} defined`;
    case "nodeJoined":
      return `${event.node.id} joined with ${event.node.acceleratorCount} accelerators`;
    case "nodeChanged":
      return `${event.node.id} now has ${event.node.acceleratorCount} accelerators`;
    case "nodeRelabelled":
      return `${event.nodeId} is now at ${event.fabric.join("/")} with ${fieldsText({ kind: "", ...event.labels })}`;
    case "faultsReported":
      return `${event.nodeId} has ${event.faults.map(({ code }) => code).join(", ")}`;
    case "incidentAnnotated":
      return `${event.actor}: ${event.annotation.kind} of incident ${event.incident}`;
    case "nodeLost":
      return `${event.nodeId} lost: ${event.detail}`;
    case "nodeReturned":
      return `${event.nodeId} returned`;
    case "nodeCacheChanged":
      return `cache of ${event.nodeId}: ${[...event.added.map(({ uri, mib }) => `+${uri} (${mib} MiB)`), ...event.removed.map((key) => `-${key}`)].join(" ")}`;
    case "storesChanged":
      return `stores: ${[...event.changed.map(({ name }) => `+${name}`), ...event.removed.map((name) => `-${name}`)].join(" ")}`;
    case "foreignUseChanged":
      return `foreign use of ${event.nodeId}: ${event.use === null ? "none" : fieldsText({ kind: "", ...event.use })}`;
    case "nodeQualificationRequired":
      return `${event.nodeId} has to pass ${event.suite}: ${event.cause}`;
    case "nodeQualificationStarted":
      return `${event.nodeId} began run ${event.run} of its suite`;
    case "nodeQualificationEnded":
      return `${event.nodeId} ${event.outcome}${event.detail === "" ? "" : `: ${event.detail}`}`;
    case "nodeDrainStarted":
      return `${event.nodeId} takes no new work`;
    case "nodeResumed":
      return `${event.nodeId} takes work again`;
    case "nodeRemovalRequested":
      return `${event.nodeId} is leaving`;
    case "nodeRemovalCancelled":
      return `${event.nodeId} stays`;
    case "nodeRemoved":
      return `${event.nodeId} removed by ${event.actor}`;
    case "poolRemovalRequested":
      return `pool ${event.pool} is leaving`;
    case "poolRemovalCancelled":
      return `pool ${event.pool} stays`;
    case "poolRemoved":
      return `pool ${event.pool} removed by ${event.actor}`;
    case "siteRemovalRequested":
      return `site ${event.site} is leaving`;
    case "siteRemovalCancelled":
      return `site ${event.site} stays`;
    case "siteRemoved":
      return `site ${event.site} removed by ${event.actor}`;
    case "artifactRegistered":
    case "artifactChanged":
      return artifactText(event);
    case "capacityOrderCreated":
      return `order ${event.order.name} of ${event.order.nodeCount} nodes for ${event.order.pool} is ${event.phase}`;
    case "capacityOrderAdvanced":
      return `order ${event.name} is ${event.phase}${event.arrival === undefined ? "" : `, ${fieldsText(event.arrival)}`}`;
    case "capacityOrderCancelled":
      return `order ${event.name} is cancelled`;
    case "capacityOrderNodeJoined":
      return `${event.nodeId} counts against order ${event.name}`;
    case "capacityOrderQualifying":
      return `order ${event.name} qualifies`;
    case "capacityOrderFilled":
      return `order ${event.name} is in service`;
    case "capacityOrderEmptied":
      return `order ${event.name} is gone`;
    case "capacityOrderDecided":
    case "capacityOrderReported":
    case "capacityOrderIdentified":
    case "capacityOrderRestStopped":
    case "capacityOrderFailed":
    case "capacityNodesReleased":
      return burstText(event);
    case "proposalCreated":
      return `${event.proposal.actor} proposes ${event.proposal.id}: ${fieldsText({ ...event.proposal.change })}`;
    case "proposalSimulated":
      return `${event.id} was simulated: ${event.effect.earlierCount} earlier, ${event.effect.laterCount} later`;
    case "proposalApproved":
      return `${event.actor ?? "the rule"} approves ${event.id}`;
    case "proposalRejected":
      return `${event.actor} rejects ${event.id}`;
    case "proposalWithdrawn":
      return `${event.actor} withdraws ${event.id}`;
    case "proposalExpired":
      return `${event.id} expires`;
    case "proposalActed":
      return `${event.id} is made`;
    case "proposalFailed":
      return `${event.id} is refused: ${event.code}`;
    case "proposalScored":
      return `${event.id}: ${event.score.startedCount} of ${event.score.expectedCount} expected starts took place`;
    case "proposalRuleSet":
      return `${event.rule.kind} proposals: ${event.rule.mode}, at most ${event.rule.perHourMax} an hour`;
    case "hotSpareReserved":
      return `${event.nodeId} is kept as a spare`;
    case "hotSpareReleased":
      return `${event.nodeId} is no spare any more: ${event.reason}${event.workloadId === null ? "" : ` for ${event.workloadId}`}`;
    case "teamDefined":
      return `team ${teamText(event.team)}`;
    case "teamRemoved":
      return `team ${event.team} removed`;
    case "scheduleSet":
      return `schedule ${event.schedule.name} for ${event.schedule.spec.name}`;
    case "scheduleRemoved":
      return `schedule ${event.name} removed`;
    case "scheduleRan":
      return `schedule ${event.name} due at ${durationText(event.dueAtMs)}: ${event.submittedId ?? `nothing, ${event.left}`}`;
    case "budgetCrossed": {
      const amount = (value: number): number => (event.resource === "money" ? value / 1_000_000 : value);
      return `team ${event.team} used up ${event.percent}%: ${amount(event.spent).toFixed(3)} of ${amount(event.limit)} ${event.resource}`;
    }
    case "budgetRenewed":
      return `the budget of ${event.team} begins anew`;
    case "calendarSet": {
      const nodes = event.nodes === undefined ? "" : ` on ${event.nodes.join(" ")}`;
      const why =
        event.entry.kind === "maintenance" && event.entry.reason !== undefined ? ` (${event.entry.reason})` : "";
      return `${event.entry.kind} ${event.entry.name} planned${nodes}${why}`;
    }
    case "calendarRemoved":
      return `${event.name} is planned no more`;
    case "windowBegan":
      return `${event.name} begins`;
    case "windowEnded":
      return `${event.name} is over`;
    case "startWindowOpened":
      return `off-peak for ${event.workloadId}`;
    case "startWindowClosed":
      return `no longer off-peak for ${event.workloadId}`;
    case "policySet":
      return `policy ${event.policy.name}`;
    case "workloadRerun":
      return `${event.workloadId} runs again`;
    case "workloadChanged":
      return `${event.workloadId} changed: ${JSON.stringify(event.changes).replaceAll('"', "")}`;
    case "workloadHeld":
      return `${event.workloadId} held`;
    case "workloadReleased":
      return `${event.workloadId} released`;
    case "opportunisticJobRelabelled":
      return `${event.attemptId} goes on with what is idle: its team's cells go to ${event.workloadId}`;
    case "commandAnswered":
      return `the answer is kept under ${event.key}`;
  }
}

function teamText({ name, parent, limit }: Team): string {
  const limits = Object.entries(limit).map(([type, count]) => ` ${type}<=${count}`);
  return `${name}${parent === null ? "" : ` below ${parent}`}${limits.join("")}`;
}

function workersText(workers: readonly WorkerAllocation[]): string {
  return workers
    .map(({ node, accelerators, slice, taskGroup }) => {
      const part = slice === undefined ? "" : `/${slice}`;
      const place = acceleratorCount(accelerators) === 0 ? node : `${node}[${accelerators}${part}]`;
      return taskGroup === undefined ? place : `${taskGroup}:${place}`;
    })
    .join(" ");
}

const exitText = (exit: WorkerExit): string =>
  `worker ${exit.worker}: ${exit.kind === "exited" ? `exit ${exit.code}` : exit.signal}`;

export const refusalText = (rejection: Rejection): string =>
  `refused: ${fieldsText({ ...rejection, kind: rejection.code })}`;

export function resultText(result: CommandResult): string {
  if (result.kind !== "applied") return `accepted: ${fieldsText(result)}`;
  const changes = result.changes.map(({ kind, name, action }) => `${kind} ${name} ${action}`);
  return `applied: ${changes.join(", ")}`;
}

/** `kind field=value field=value`, without fields that have their neutral value. */
function fieldsText(record: { readonly kind: string; readonly [field: string]: unknown }): string {
  const fields = Object.entries(record).flatMap(([field, value]) => {
    if (field === "kind" || field === "code" || value === null || (Array.isArray(value) && value.length === 0))
      return [];
    if (field === "exit") return [exitText(value as WorkerExit)];
    return [`${field}=${Array.isArray(value) ? value.join(",") : JSON.stringify(value).replaceAll(`"`, "")}`];
  });
  return [record.kind, ...fields].join(" ");
}
