import { invariant, meets, learnsDemand, InvariantError } from "@headroom/model";
import type { EndpointAccount, EventOf, WorkloadEvent, WorkloadId, Task, WaitsFor } from "@headroom/model";
import { DemandMix } from "../state/demand-mix.ts";
import { ENDED_WORKLOADS_KEPT } from "../state/state.ts";
import { meetDependencies, queueIfReady, removeWorkload, touchedWorkload } from "./writable.ts";
import { NO_ATTEMPTS } from "../state/mutable-state.ts";
import { readyTask } from "../state/ready-task.ts";
import { rerunTasks, stopTask, updateTask } from "./tasks.ts";
import { fileWorkload } from "../cluster/world.ts";
import type { Appliers, WritableWorld } from "./writable.ts";
import type { WritableWorkload } from "../state/mutable-state.ts";
import { charged } from "../usage/endpoint-account.ts";
import { accrueEndpoint, openEndpointAccount, rememberReplicas } from "./endpoint-accounts.ts";
import { rolloutEvents } from "./rollout-events.ts";
import { changeWorkload } from "./workload-change.ts";

/** The empty list shared by all workloads without entries; the first write replaces it by a new list. */
const NO_WAITING_TASKS = [] as const;
const NO_ENDED_ATTEMPTS = [] as const;
const NO_TASKS: ReadonlyMap<number, Task> = new Map();

export const workloadEvents: Appliers<WorkloadEvent> = {
  workloadSubmitted: submit,
  workloadRerun: rerun,
  workloadStopRequested(world, { workloadId }) {
    const workload = touchedWorkload(world, workloadId);
    workload.stopRequested = true;
    workload.phase = "stopping";
    if (workload.activeAttempts.length > 0) world.stopping.add(workloadId);
    world.queue.remove(workload);
  },
  taskStopRequested(world, { workloadId, task, atMs }) {
    const workload = touchedWorkload(world, workloadId);
    stopTask(world.state, workload, task);
    if (readyTask(workload, atMs) === null) world.queue.remove(workload);
    world.queue.markDirty();
  },
  workloadChanged: changeWorkload,
  endpointScaled(world, { workloadId, replicas, actor, ground, stopFirst, acceleratorTypes, due = [], atMs }) {
    const workload = touchedWorkload(world, workloadId);
    const from = workload.scale?.replicas ?? 0;
    const types = acceleratorTypes ?? workload.scale?.acceleratorTypes;
    // Its bucket has the order of types.
    if (acceleratorTypes !== undefined) world.queue.remove(workload);
    workload.scale = {
      replicas,
      from,
      atMs,
      actor,
      ground,
      ...(stopFirst === undefined ? {} : { stopFirst }),
      ...(types === undefined ? {} : { acceleratorTypes: types }),
    };
    rememberReplicas(workload, from);
    for (const task of due) updateTask(workload, task, { retryAtMs: atMs });
    world.endpoints.add(workloadId);
    if (readyTask(workload, atMs) === null) world.queue.remove(workload);
    else queueIfReady(world, workload, atMs);
    world.queue.markDirty();
    world.shrinking.add(workloadId);
    // The start window of an endpoint without waiting replicas was not checked.
    if (workload.spec.startWindow !== undefined) world.startWindow.lookAtMs = -1;
  },
  endpointBudgetCrossed(world, { workloadId, percent, periodStartMs }) {
    const { workload, account } = accountOf(world, workloadId);
    const { replicasBefore: _before, ...rest } = account;
    workload.account = { ...rest, crossed: { percent, periodStartMs } };
  },
  endpointBudgetRenewed(world, { workloadId }) {
    const { workload, account } = accountOf(world, workloadId);
    const { crossed: _crossed, ...rest } = account;
    workload.account = rest;
  },
  overflowCharged(world, { workloadId, gateway, startedAtMs, microUsd, atMs }) {
    const { workload, account } = accountOf(world, workloadId);
    workload.account = charged(account, { gateway, startedAtMs, microUsd });
    world.timers.add({ kind: "budget", atMs });
  },
  ...rolloutEvents,
  workloadHeld(world, { workloadId }) {
    const workload = touchedWorkload(world, workloadId);
    workload.held = true;
    world.queue.remove(workload);
  },
  workloadReleased(world, { workloadId, atMs }) {
    const workload = touchedWorkload(world, workloadId);
    delete workload.held;
    queueIfReady(world, workload, atMs);
  },
  startWindowOpened(world, { workloadId, atMs }) {
    const workload = touchedWorkload(world, workloadId);
    delete workload.waitsForStartWindow;
    queueIfReady(world, workload, atMs);
  },
  startWindowClosed(world, { workloadId }) {
    const workload = touchedWorkload(world, workloadId);
    workload.waitsForStartWindow = true;
    world.queue.remove(workload);
  },
  workloadEnded: end,
};

/** The account of the endpoint, brought up to now. */
function accountOf(
  world: WritableWorld,
  id: WorkloadId,
): { readonly workload: WritableWorkload; readonly account: EndpointAccount } {
  const workload = touchedWorkload(world, id);
  accrueEndpoint(world, workload);
  const { account } = workload;
  invariant(account !== undefined, `endpoint ${id} has no account`);
  return { workload, account };
}

function submit(world: WritableWorld, event: EventOf<"workloadSubmitted">): void {
  const { state } = world;
  const workload: WritableWorkload = {
    id: event.workloadId,
    ordinal: ++state.submittedCount,
    spec: event.spec,
    submittedAtMs: event.atMs,
    actor: event.actor,
    phase: "pending",
    stopRequested: false,
    nextTask: 0,
    tasks: NO_TASKS,
    waitingTasks: NO_WAITING_TASKS,
    activeAttempts: NO_ATTEMPTS,
    succeededCount: 0,
    failedCount: 0,
    endedAttempts: NO_ENDED_ATTEMPTS,
    checkpoint: null,
    firstStartedAtMs: null,
    endedAtMs: null,
    endReason: null,
    endOrdinal: 0,
    revision: state.sequence,
    digestRevision: 0,
    digestLanes: null,
  };
  if (event.spec.hold === true) workload.held = true;
  openEndpointAccount(world, workload);
  state.workloads.set(workload.id, workload);
  if (learnsDemand(world.rules)) (state.demand ??= new DemandMix()).count(event.spec);
  waitForStart(world, workload, event);
}

/** Tasks that did not succeed wait again. The workload takes a new place in the order of submission. */
function rerun(world: WritableWorld, event: EventOf<"workloadRerun">): void {
  const { state } = world;
  const { workloadId, atMs } = event;
  const workload = touchedWorkload(world, workloadId);
  forgetEnd(world, workloadId);
  state.workloads.delete(workloadId);
  state.workloads.set(workloadId, workload);
  workload.ordinal = ++state.submittedCount;
  rerunTasks(workload, atMs);
  workload.phase = "pending";
  workload.stopRequested = false;
  workload.failedCount = 0;
  workload.endedAtMs = null;
  workload.endReason = null;
  workload.endOrdinal = 0;
  workload.rerun = { count: (workload.rerun?.count ?? 0) + 1, atMs };
  for (const field of ["lostWorkers", "held", "waitsFor", "given"] as const) delete workload[field];
  waitForStart(world, workload, event);
}

function waitForStart(
  world: WritableWorld,
  workload: WritableWorkload,
  { given, waitsFor }: EventOf<"workloadSubmitted" | "workloadRerun">,
): void {
  // The round decides whether the workload may start at once, and records it.
  if (workload.spec.startWindow !== undefined) workload.waitsForStartWindow = true;
  if (given !== undefined) workload.given = given;
  if (waitsFor !== undefined) workload.waitsFor = waitsFor;
  fileWorkload(world, workload);
}

/** A rerun workload is removed from the list of ended workloads, which are dropped when newer ones end. */
function forgetEnd({ endedKept, endedDropped }: WritableWorld, id: WorkloadId): void {
  const at = endedKept.indexOf(id, endedDropped);
  if (at < 0) throw new InvariantError(`workload ${id} runs again and is not among those that ended`);
  endedKept.splice(at, 1);
}

function end(world: WritableWorld, event: EventOf<"workloadEnded">): void {
  const { state, queue, endedKept } = world;
  const workload = touchedWorkload(world, event.workloadId);
  if (workload.activeAttempts.length > 0)
    throw new InvariantError(`workload ${workload.id} ends with attempts still active`);
  queue.remove(workload);
  if (workload.spec.kind === "serve") leaveEndpoint(world, workload);
  workload.phase = event.phase;
  workload.endReason = event.reason;
  workload.endedAtMs = event.atMs;
  workload.endOrdinal = ++state.endedCount;
  if (workload.spec.startWindow !== undefined) world.startWindow.waiting.delete(workload.id);
  const dependents = world.dependents.size === 0 ? undefined : world.dependents.get(workload.id);
  if (dependents !== undefined) {
    world.dependents.delete(workload.id);
    const isMet = (wait: WaitsFor): boolean => wait.workloadId === workload.id && meets(wait.on, workload.phase);
    meetDependencies(world, dependents, isMet, event);
  }
  world.pipelines.workloadEnded(workload.id);
  endedKept.push(workload.id);
  if (endedKept.length - world.endedDropped > ENDED_WORKLOADS_KEPT) dropOldestEnded(world);
}

function leaveEndpoint({ endpoints, budgets, rollouts }: WritableWorld, workload: WritableWorkload): void {
  endpoints.delete(workload.id);
  budgets.endpointWakes.delete(workload.id);
  rollouts.delete(workload.id);
  delete workload.rollout;
}

function dropOldestEnded(world: WritableWorld): void {
  const { endedKept } = world;
  const id = endedKept[world.endedDropped++] as WorkloadId;
  removeWorkload(world, id);
  // Drops the unused front of the array once it is half of the array, so that dropping takes amortised constant time.
  if (world.endedDropped * 2 <= endedKept.length) return;
  endedKept.splice(0, world.endedDropped);
  world.endedDropped = 0;
}
