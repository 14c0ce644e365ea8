import type { WorkloadEvent } from "../contract/events.ts";
import type { WorkloadId } from "../model/ids.ts";
import { meets } from "../model/workload.ts";
import { learnsDemand } from "../policy/rules.ts";
import { DemandMix } from "../state/demand-mix.ts";
import { InvariantError } from "../base/invariant.ts";
import { ENDED_WORKLOADS_KEPT } from "../state/state.ts";
import { removeWorkload, workloadOf } from "./writable.ts";
import { NO_ATTEMPTS } from "../state/mutable-state.ts";
import { isWaitingForTime, readyTask, tasksToRerun } from "../state/ready-task.ts";
import { unreachable } from "../base/unreachable.ts";
import { waitForOthers, waitForTime } from "../cluster/world.ts";
import type { WritableWorld } from "./writable.ts";
import type { WritableWorkload } from "../state/mutable-state.ts";

/** The empty list shared by all workloads without entries; the first write replaces it by a new list. */
const NO_RETRIES = [] as const;
const NO_ENDED_ATTEMPTS = [] as const;
const NO_COUNTS: ReadonlyMap<number, number> = new Map();

export function applyWorkloadEvent(world: WritableWorld, event: WorkloadEvent): void {
  switch (event.kind) {
    case "workloadSubmitted":
      return submit(world, event);
    case "workloadRerun":
      return rerun(world, event);
    case "workloadStopRequested": {
      const workload = workloadOf(world, event.workloadId);
      world.queue.remove(workload);
      workload.stopRequested = true;
      workload.phase = "stopping";
      workload.revision = world.state.sequence;
      return;
    }
    case "workloadHeld": {
      const workload = workloadOf(world, event.workloadId);
      workload.held = true;
      workload.revision = world.state.sequence;
      world.queue.remove(workload);
      return;
    }
    case "workloadReleased": {
      const workload = workloadOf(world, event.workloadId);
      delete workload.held;
      workload.revision = world.state.sequence;
      askAgain(world, workload, event.atMs);
      return;
    }
    case "startWindowOpened": {
      const workload = workloadOf(world, event.workloadId);
      delete workload.waitsForStartWindow;
      workload.revision = world.state.sequence;
      askAgain(world, workload, event.atMs);
      return;
    }
    case "startWindowClosed": {
      const workload = workloadOf(world, event.workloadId);
      workload.waitsForStartWindow = true;
      workload.revision = world.state.sequence;
      world.queue.remove(workload);
      return;
    }
    case "workloadEnded":
      return end(world, event);
    default:
      unreachable(event);
  }
}

function submit(world: WritableWorld, event: WorkloadEvent & { readonly kind: "workloadSubmitted" }): void {
  const { state, queue } = world;
  const workload: WritableWorkload = {
    id: event.workloadId,
    ordinal: ++state.submittedCount,
    spec: event.spec,
    submittedAtMs: event.atMs,
    actor: event.actor,
    phase: "pending",
    stopRequested: false,
    nextTask: 0,
    retries: NO_RETRIES,
    failureCounts: NO_COUNTS,
    attemptCounts: NO_COUNTS,
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
    placementClass: null,
  };
  if (event.spec.hold === true) workload.held = true;
  // The round decides whether the workload may start at once, and records it.
  if (event.spec.startWindow !== undefined) workload.waitsForStartWindow = true;
  world.startWindow.add(workload);
  if (event.given !== undefined) workload.given = event.given;
  if (event.waitsFor !== undefined) workload.waitsFor = event.waitsFor;
  state.workloads.set(workload.id, workload);
  if (learnsDemand(world.rules)) (state.demand ??= new DemandMix()).count(event.spec);
  waitForOthers(world, workload);
  if (!isWaitingForTime(workload, event.atMs)) queue.add(workload);
  waitForTime(world, workload, event.atMs);
}

/**
 * Tasks that did not succeed wait again, each with its next attempt number, so that no attempt's records are
 * overwritten. Failures and losses count from zero. The workload takes a new place in the order of submission.
 */
function rerun(
  world: WritableWorld,
  { workloadId, waitsFor, given, atMs }: WorkloadEvent & { readonly kind: "workloadRerun" },
): void {
  const { state } = world;
  const workload = workloadOf(world, workloadId);
  forgetEnd(world, workloadId);
  state.workloads.delete(workloadId);
  state.workloads.set(workloadId, workload);
  workload.ordinal = ++state.submittedCount;
  workload.retries = tasksToRerun(workload).map((task) => ({ task, notBeforeMs: atMs }));
  workload.phase = "pending";
  workload.stopRequested = false;
  workload.failureCounts = NO_COUNTS;
  workload.failedCount = 0;
  workload.endedAtMs = null;
  workload.endReason = null;
  workload.endOrdinal = 0;
  workload.rerun = { count: (workload.rerun?.count ?? 0) + 1, atMs };
  workload.revision = state.sequence;
  for (const field of ["losses", "givenUpTasks", "lostWorkers", "held", "waitsFor", "given"] as const)
    delete workload[field];
  if (workload.spec.startWindow !== undefined) workload.waitsForStartWindow = true;
  world.startWindow.add(workload);
  if (given !== undefined) workload.given = given;
  if (waitsFor !== undefined) workload.waitsFor = waitsFor;
  waitForOthers(world, workload);
  if (readyTask(workload, atMs) !== null) world.queue.add(workload);
  waitForTime(world, workload, atMs);
}

/** A rerun workload is removed from the list of ended workloads, which are dropped when newer ones end. */
function forgetEnd({ endedKept, endedDropped }: WritableWorld, id: WorkloadId): void {
  const at = endedKept.indexOf(id, endedDropped);
  if (at < 0) throw new InvariantError(`workload ${id} runs again and is not among those that ended`);
  endedKept.splice(at, 1);
}

/** Adds an eligible workload to the queue unless it is there. */
function askAgain({ queue }: WritableWorld, workload: WritableWorkload, atMs: number): void {
  if (workload.endedAtMs === null && readyTask(workload, atMs) !== null && !queue.has(workload)) queue.add(workload);
}

/**
 * Workloads that waited only for this end may start now. Workloads that waited for another outcome stay, and the round
 * decides about them.
 */
function tellDependents(world: WritableWorld, { id, phase }: WritableWorkload, atMs: number): void {
  if (world.dependents.size === 0) return;
  const dependents = world.dependents.get(id);
  if (dependents === undefined) return;
  world.dependents.delete(id);
  for (const dependentId of dependents) {
    const dependent = world.state.workloads.get(dependentId);
    if (dependent?.waitsFor === undefined || dependent.endedAtMs !== null) continue;
    const left = dependent.waitsFor.filter((wait) => wait.workloadId !== id || !meets(wait.on, phase));
    if (left.length === dependent.waitsFor.length) continue;
    if (left.length === 0) delete dependent.waitsFor;
    else dependent.waitsFor = left;
    dependent.revision = world.state.sequence;
    askAgain(world, dependent, atMs);
  }
}

function end(world: WritableWorld, event: WorkloadEvent & { readonly kind: "workloadEnded" }): void {
  const { state, queue, endedKept } = world;
  const workload = workloadOf(world, event.workloadId);
  if (workload.activeAttempts.length > 0)
    throw new InvariantError(`workload ${workload.id} ends with attempts still active`);
  queue.remove(workload);
  workload.phase = event.phase;
  workload.endReason = event.reason;
  workload.endedAtMs = event.atMs;
  workload.endOrdinal = ++state.endedCount;
  workload.revision = state.sequence;
  world.startWindow.waiting.delete(workload.id);
  tellDependents(world, workload, event.atMs);
  endedKept.push(workload.id);
  if (endedKept.length - world.endedDropped > ENDED_WORKLOADS_KEPT) dropOldestEnded(world);
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
