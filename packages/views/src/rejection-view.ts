/** Converts the engine's rejection to a problem that says what to do. */
import { DEFAULT_TEAM } from "@headroom/engine";
import type { Rejection } from "@headroom/model";
import { problemOf, writeInstant } from "@headroom/protocol";
import type { Problem } from "@headroom/protocol";
import { artifactRejectionSentence, isArtifactRejection } from "./artifact-text.ts";
import type { ArtifactRejection } from "./artifact-text.ts";
import { isOrderRejection, orderRejectionSentence } from "./capacity-order-text.ts";
import type { OrderRejection } from "./capacity-order-text.ts";
import { isProposalRejection, proposalRejectionSentence } from "./proposal-text.ts";
import type { ProposalRejection } from "./proposal-text.ts";
import { isPipelineRejection, pipelineRejectionSentence } from "./pipeline-text.ts";
import type { PipelineRejection } from "./pipeline-text.ts";
import { durationText, grouped, plural } from "./plain-text.ts";

/** The code of the rejection becomes the code of the problem; its numbers and names become the facts. */
export function rejectionProblem(rejection: Rejection): Problem {
  const { code, ...facts } = rejection;
  return problemOf(code, sentenceOf(rejection), { facts });
}

function sentenceOf(rejection: Rejection): string {
  if (isOrderRejection(rejection)) return orderRejectionSentence(rejection);
  if (isArtifactRejection(rejection)) return artifactRejectionSentence(rejection);
  if (isPipelineRejection(rejection)) return pipelineRejectionSentence(rejection);
  return isProposalRejection(rejection) ? proposalRejectionSentence(rejection) : rejectionSentence(rejection);
}

function cannotRerunSentence({
  workloadId,
  cause,
  taskCount,
  maxCount,
}: Rejection & { readonly code: "cannotRerun" }): string {
  switch (cause) {
    case "allSucceeded":
      return `All tasks of ${workloadId} succeeded: nothing is left to run again. Submit it under another name to run it once more.`;
    case "tooManyTasks":
      return `${grouped(taskCount)} tasks of ${workloadId} would run again, but at most ${grouped(maxCount)} can. Submit the array under another name.`;
    case "endpoint":
      return `${workloadId} is an endpoint, whose replicas have no end that a rerun could repeat. Submit it again.`;
    case "tasksUnknown":
      return `The journal does not say which tasks of ${workloadId} were given up, because it ended under an earlier version. Submit the array under another name.`;
  }
}

function workloadActiveSentence({
  name,
  workloadId,
  fields = [],
}: Rejection & { readonly code: "workloadActive" }): string {
  const differs = fields.length === 0 ? "and differs from this one" : `and cannot change ${namesText(fields)}`;
  return `The workload ${name} (${workloadId}) has not ended ${differs}. Stop it first (headroom stop ${workloadId}), or choose another name.`;
}

const namesText = (fields: readonly string[]): string =>
  fields.length < 2 ? (fields[0] ?? "") : `${fields.slice(0, -1).join(", ")} and ${fields.at(-1)}`;

function cannotChangeSentence(rejection: Rejection & { readonly code: "cannotChange" | "noRollout" }): string {
  const { workloadId } = rejection;
  if (rejection.code === "noRollout") return `No rollout of ${workloadId} is in progress.`;
  const { field, cause, workers, replicas } = rejection;
  const runs = `an attempt of ${workloadId} runs with ${plural(workers ?? 0, "worker")}`;
  switch (cause) {
    case "stopping":
      return `${workloadId} is being stopped, so nothing of it changes. Submit it again when it has ended.`;
    case "started":
      return `${field} of ${workloadId} cannot change: it acts only before the start, and a task has started. Stop it and submit it again (headroom stop ${workloadId}).`;
    case "groups":
      return `${field} of ${workloadId} cannot change: its gang has task groups. Stop it and submit it with other groups.`;
    case "fixedSize":
      return `${field} of ${workloadId} cannot change: ${runs}, and its gang is not elastic. Change it while it waits, or stop it and submit it again.`;
    case "outsideRange":
      return `${field} of ${workloadId} cannot change to that: ${runs}, which must stay within the minimum and maximum. Choose a range that contains ${workers}, or change it while it waits.`;
    case "emptyRange":
      return `${field} of ${workloadId} cannot change to that: the minimum of workers would be above the maximum. Set workers and minWorkers together.`;
    case "slices":
      return `${field} of ${workloadId} cannot change to that: a slice of its fabric would not be whole. Choose multiples of the workers of its slices.`;
    case "batch":
      return `${workloadId} has several tasks, which are independent of each other; minWorkers is only for a train workload.`;
    case "otherKind":
      return field === "taskCount"
        ? `${workloadId} is no array, so it has no number of tasks to change.`
        : `${workloadId} is no endpoint, so it has no replicas or revisions. Submit a workload of kind serve.`;
    case "fewerTasks":
      return `The number of tasks of ${workloadId} only grows. Stop single tasks with headroom stop ${workloadId}.N.`;
    case "otherSubmitter":
      return `${field} of ${workloadId} cannot change: another user submitted it, and it would run with that user's rights. Submit work of your own, or let its submitter change it.`;
    case "rollingOut":
      return `${field} of ${workloadId} cannot change while a rollout is in progress. Wait for its end, or abort it (headroom rollout abort ${workloadId}).`;
    case "budgetSpent":
      return `The budget of ${workloadId} is spent, so it gets no more replicas until it is renewed. Change budget in its file and apply it.`;
    case "outsideReplicas":
      return `${workloadId} has ${replicas?.min} to ${replicas?.max} replicas. Choose a number within these bounds, or change replicas in its file and apply it.`;
  }
}

function unknownDependencySentence(rejection: Rejection & { readonly code: "unknownDependency" }): string {
  if (rejection.cycle !== undefined)
    return `These workloads wait for each other: ${rejection.cycle.join(" > ")}. Remove one of the dependencies.`;
  if (rejection.artifact !== undefined)
    return rejection.artifact === rejection.name
      ? `No workload in its team produces the artifact ${rejection.artifact}. Submit the producing workload first.`
      : `No workload ${rejection.name} in its team produces the artifact ${rejection.artifact}. Submit the producing workload first, or name it by its id.`;
  return `There is no workload ${rejection.name} in its team to wait for. Submit that workload first, or name it by its id.`;
}

const dependencyNotMetSentence = (rejection: Rejection & { readonly code: "dependencyNotMet" }): string =>
  `It waits for ${rejection.name} (${rejection.workloadId}) to end ${onText(rejection.on)}, but that workload is already ${rejection.phase}.`;

type PartRejection = Rejection & { readonly code: "notRunning" | "unknownWorker" | "unknownTask" | "taskEnded" };

/** Refusals about a task, or a worker, of a workload. */
function partSentence(rejection: PartRejection): string {
  if (rejection.code === "unknownTask")
    return `${rejection.workloadId} has ${plural(rejection.tasks, "task")}, counted from 0; there is no task ${rejection.task}.`;
  if (rejection.code === "taskEnded")
    return `Task ${rejection.task} of ${rejection.workloadId} has already ended: it succeeded, or is not tried again.`;
  if (rejection.code === "unknownWorker")
    return `Attempt ${rejection.attemptId} has ${plural(rejection.workers, "worker")}, counted from 0; there is no worker ${rejection.worker}.`;
  const { task, workloadId: id } = rejection;
  return task === null
    ? `No attempt of ${id} runs, so nothing can be run inside. headroom why ${id} shows why it waits.`
    : `Task ${task} of ${id} has no running attempt.`;
}

type NoticeRejection = Rejection & { readonly code: "nodeLost" | "noticeOver" | "reservedName" };

/** Refusals of notices that a node goes away. */
function noticeSentence(rejection: NoticeRejection): string {
  if (rejection.code === "reservedName")
    return `The name ${rejection.name} is reserved for node notices. Choose one that does not begin with notice-.`;
  return rejection.code === "nodeLost"
    ? `Node ${rejection.nodeId} is already lost, so a notice is too late.`
    : `The notice for node ${rejection.nodeId} names ${writeInstant(rejection.goneAtMs)}, but the server's clock is at ${writeInstant(rejection.nowMs)}. Give a future instant or a duration; 0s means now.`;
}

type PlanRejection = Rejection & { readonly code: "unknownCalendarEntry" | "unknownSchedule" | "neverDue" };

/** Refusals about calendar entries and schedules by their names. */
function planSentence({ code, name }: PlanRejection): string {
  if (code === "unknownCalendarEntry") return `The calendar has no entry ${name}; it may have ended.`;
  return code === "unknownSchedule"
    ? `There is no schedule ${name}.`
    : `${name} is never due: its cron expression matches no day.`;
}

const executorSentence = ({
  code,
  executor,
}: Rejection & { readonly code: "unknownExecutor" | "executorReachable" }): string =>
  code === "unknownExecutor"
    ? `There is no declared executor ${executor}. List them: headroom executor list`
    : `The executor ${executor} answers, so its attempts are known. Stop their workloads instead: headroom stop`;

type PlainRejection = Exclude<Rejection, OrderRejection | PipelineRejection | ProposalRejection | ArtifactRejection>;

function rejectionSentence(rejection: PlainRejection): string {
  switch (rejection.code) {
    case "unknownTeam":
      return `There is no team ${rejection.team}. Apply a team document first, or leave the team out.`;
    case "teamCycle":
      return `These teams are parents of each other: ${rejection.teams.join(" > ")}. One of them needs another parent.`;
    case "teamInUse":
      return teamInUseSentence(rejection);
    case "unknownSite":
      return `There is no site ${rejection.site}. Run headroom fleet for a list; a new site is applied together with its pools.`;
    case "unknownWorkload":
      return `There is no workload ${rejection.workloadId}; it may have ended long ago.`;
    case "workloadEnded":
      return `The workload ${rejection.workloadId} has already ended (${rejection.phase}).`;
    case "workloadNotEnded":
      return `The workload ${rejection.workloadId} is ${rejection.phase}: only ended work runs again. Stop it first (headroom stop ${rejection.workloadId}).`;
    case "cannotRerun":
      return cannotRerunSentence(rejection);
    case "workloadActive":
      return workloadActiveSentence(rejection);
    case "cannotChange":
    case "noRollout":
      return cannotChangeSentence(rejection);
    case "notRunning":
    case "unknownWorker":
    case "unknownTask":
    case "taskEnded":
      return partSentence(rejection);
    case "duplicateName":
      return `The ${rejection.kind} ${rejection.name} is given twice. Names must be unique within one request.`;
    case "unknownPool":
    case "unknownNode":
    case "noQualification":
      return nodeSentence(rejection);
    case "fleetInUse":
    case "removedWithPool":
      return removalSentence(rejection);
    case "nodeLost":
    case "noticeOver":
    case "reservedName":
      return noticeSentence(rejection);
    case "unknownCalendarEntry":
    case "unknownSchedule":
    case "neverDue":
      return planSentence(rejection);
    case "windowOver":
      return `The window ${rejection.name} ended at ${writeInstant(rejection.endMs)}, but the server's clock is at ${writeInstant(rejection.nowMs)}. Give it future times, or leave it out.`;
    case "reservationTooLarge":
      return `Reservation ${rejection.name} needs ${plural(rejection.wantedCount, "accelerator")}, but only ${grouped(rejection.availableCount)} are on nodes that take work and have no other calendar entry in that time.`;
    case "poolInUse":
      return poolInUseSentence(rejection.pool, rejection.field);
    case "unknownExecutor":
    case "executorReachable":
      return executorSentence(rejection);
    case "tooManyTypes":
      return `All pools and teams together would name ${grouped(rejection.count)} accelerator types, and the limit is ${grouped(rejection.maxCount)}. Use the names of types that the fleet has; headroom nodes lists them.`;
    case "tooLarge":
      return `It needs ${plural(rejection.workers, "worker")} with ${plural(rejection.acceleratorsPerWorker, "accelerator")} each, but the fleet would hold only ${grouped(rejection.placeableWorkers)} even if it were empty.`;
    case "unknownDependency":
      return unknownDependencySentence(rejection);
    case "dependencyNotMet":
      return dependencyNotMetSentence(rejection);
    case "queueFull":
      return `${grouped(rejection.waitingCount)} workloads are waiting, and the limit is ${grouped(rejection.maxCount)}. Try again in ${durationText(60_000)}.`;
    case "idempotencyKeyReused":
      return `The idempotency key ${rejection.key} was used for a different request. Use a fresh key for each new request.`;
    default:
      return unreachable(rejection);
  }
}

function nodeSentence(
  rejection: Rejection & { readonly code: "unknownPool" | "unknownNode" | "noQualification" },
): string {
  if (rejection.code === "unknownPool")
    return `There is no pool ${rejection.pool}. Run headroom fleet for a list; apply a file with its fleet to declare it.`;
  if (rejection.code === "unknownNode") return `There is no node ${rejection.nodeId}. Run headroom nodes for a list.`;
  return `Pool ${rejection.pool} of node ${rejection.nodeId} has no rule of qualification. Declare qualification: { suite: quick } for the pool with headroom apply.`;
}

function removalSentence(rejection: Rejection & { readonly code: "fleetInUse" | "removedWithPool" }): string {
  if (rejection.code === "removedWithPool")
    return `Node ${rejection.nodeId} leaves with its pool ${rejection.pool}. To keep them, declare the pool again with headroom apply.`;
  const { of, name, workloads, nodes } = rejection;
  const where = of === "node" ? "" : ` on ${plural(nodes, "node")}`;
  return `${plural(workloads, "workload")} of ${of} ${name} ${workloads === 1 ? "holds" : "hold"} a place${where}. Drain it first, or remove it with force, which stops and requeues the work.`;
}

function teamInUseSentence({
  team,
  workloads,
  children,
  artifacts = 0,
}: Rejection & { readonly code: "teamInUse" }): string {
  if (team === DEFAULT_TEAM) return `Team ${team} cannot be removed: work that names no team belongs to it.`;
  if (artifacts > 0 && workloads + children === 0)
    return `Team ${team} still has ${plural(artifacts, "artifact")} in the registry. A team with artifacts stays.`;
  return `Team ${team} still has ${plural(workloads, "workload")} and ${plural(children, "team")} below it. Let them end or move them first.`;
}

/** The MIG device can change as soon as no instance is in use. Other fields are fixed while the pool has nodes. */
const poolInUseSentence = (pool: string, field: string): string =>
  field === "mig"
    ? `The mig of pool ${pool} cannot change while MIG slices of its accelerators are in use or nominated. Let that work end, or stop it.`
    : `The ${field} of pool ${pool} cannot change while it has nodes. Give the new pool another name.`;

const onText = (on: string): string => (on === "ok" ? "well" : on === "failed" ? "badly" : "in any way");

function unreachable(value: never): never {
  throw new Error(`unhandled: ${JSON.stringify(value)}`);
}
