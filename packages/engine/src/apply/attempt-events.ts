import { ENDED_ATTEMPTS_KEPT, checkpointTimeoutOf, invariant, taskCountOf, tasksAtOnceOf } from "@headroom/model";
import type {
  AttemptEvent,
  EventOf,
  ClosedBy,
  AttemptId,
  AttemptStop,
  EndedAttempt,
  WorkerAllocation,
} from "@headroom/model";
import { NO_ATTEMPTS } from "../state/mutable-state.ts";
import type { WritableAttempt, WritableWorkload } from "../state/mutable-state.ts";
import { growthOf, leaveAttempt, releaseAttempt } from "../cluster/holdings.ts";
import { fileAttempt, waitForItsTime, waitForPrediction, waitForReadiness, waitForWindows } from "../cluster/world.ts";
import { wakeForBudgets } from "./accounts.ts";
import { wakeForEndpoint } from "./endpoint-accounts.ts";
import { markDirty, takeNomination, takeTask } from "./plan-events.ts";
import { settleUse } from "./resize-events.ts";
import { countEnd, updateTask } from "./tasks.ts";
import { recordTransfer } from "./store-events.ts";
import { recordRunTime } from "./run-times.ts";
import { queueIfReady, removeAttempt, touchedAttempt, touchedWorkload, workloadOf } from "./writable.ts";
import type { Appliers, WritableWorld } from "./writable.ts";
import { beginIdleTime } from "./capacity-order-events.ts";

export const attemptEvents: Appliers<AttemptEvent> = {
  gangPlaced: place,
  backoffEnded(world, { attemptId }) {
    const attempt = touchedAttempt(world, attemptId);
    const workload = workloadOf(world, attempt.workloadId);
    endBackoff(world, attempt);
    world.queue.setGrowth(workload, attemptId, growthOf(world, workload, attempt));
  },
  attemptStarted: start,
  replicaReady(world, { attemptId, atMs, address }) {
    const attempt = touchedAttempt(world, attemptId);
    attempt.ready = { atMs, address };
    delete attempt.notReadySinceMs;
  },
  replicaNotReady(world, { attemptId, atMs }) {
    const attempt = touchedAttempt(world, attemptId);
    delete attempt.ready;
    attempt.notReadySinceMs = atMs;
    waitForReadiness(world, workloadOf(world, attempt.workloadId), attempt);
  },
  execStarted() {},
  predictionCorrected(world, { attemptId, prediction }) {
    const attempt = touchedAttempt(world, attemptId);
    attempt.prediction = prediction;
    waitForPrediction(world.timers, attempt, workloadOf(world, attempt.workloadId).spec.walltimeMs);
    refileCompletion(world, attempt);
  },
  attemptStopRequested(world, event) {
    const attempt = touchedAttempt(world, event.attemptId);
    attempt.phase = "stopping";
    attempt.stop = stopFor(event, event.closedBy);
    leaveAttempt(world, attempt, event.reason, 1);
    if (world.rules.backfill.protectedStarts > 0) world.queue.markDirty();
    world.queue.setGrowth(workloadOf(world, attempt.workloadId), attempt.id, 0);
  },
  checkpointRequested(world, { attemptId, untilMs }) {
    const attempt = touchedAttempt(world, attemptId);
    invariant(attempt.stop !== null, `a checkpoint is requested from attempt ${attemptId}, which is not being stopped`);
    attempt.stop = { ...attempt.stop, checkpointUntilMs: untilMs };
    world.timers.add({ kind: "checkpoint", atMs: untilMs, attemptId });
    refileCompletion(world, attempt);
  },
  checkpointWaitEnded(world, event) {
    const attempt = touchedAttempt(world, event.attemptId);
    attempt.stop = stopFor(event, attempt.stop?.closedBy);
    refileCompletion(world, attempt);
  },
  attemptEnded: end,
  bytesTransferred: recordTransfer,
};

function place(world: WritableWorld, event: EventOf<"gangPlaced">): void {
  const { state } = world;
  const workload = touchedWorkload(world, event.workloadId);
  if (state.nominations.size > 0 && state.nominations.has(event.attemptId)) takeNomination(world, event.attemptId);
  else takeTask(world, workload, event);
  const attempt: WritableAttempt = {
    id: event.attemptId,
    workloadId: workload.id,
    task: event.task,
    number: event.number,
    phase: "launching",
    acceleratorType: event.acceleratorType,
    workers: event.workers,
    placedSequence: state.sequence,
    placedAtMs: event.atMs,
    startedAtMs: null,
    stop: null,
    progress: null,
    revision: state.sequence,
    digestRevision: 0,
    digestLanes: null,
  };
  if (event.prediction !== undefined) attempt.prediction = event.prediction;
  if (event.revisionNumber !== undefined) attempt.revisionNumber = event.revisionNumber;
  if (event.launchAtMs !== undefined) attempt.launchAtMs = event.launchAtMs;
  if (event.stagingMs !== undefined) attempt.stagingMs = event.stagingMs;
  settleUse(world, workload);
  state.attempts.set(event.attemptId, attempt);
  if (workload.activeAttempts.length === 0) workload.activeAttempts = [event.attemptId];
  else workload.activeAttempts.push(event.attemptId);
  workload.phase = "running";
  if (workload.lostWorkers !== undefined) delete workload.lostWorkers;
  fileAttempt(world, attempt);
  markDirty(world);
  wakeForBudgets(world, workload.spec.team);
  wakeForEndpoint(world, workload, world.state.nowMs);
}

const stopFor = ({ reason, atMs }: Pick<AttemptStop, "reason" | "atMs">, closedBy: ClosedBy | undefined): AttemptStop =>
  closedBy === undefined ? { reason, atMs } : { reason, atMs, closedBy };

/** Records a new expected end. Requests that protected starts delayed may now fit, and others no longer fit. */
function refileCompletion(world: WritableWorld, attempt: WritableAttempt): void {
  world.completions.file(attempt, workloadOf(world, attempt.workloadId).spec);
  if (world.rules.backfill.protectedStarts > 0) world.queue.markDirty();
}

function endBackoff({ backingOff }: WritableWorld, attempt: WritableAttempt): void {
  delete attempt.launchAtMs;
  backingOff.delete(attempt.id);
}

function start(world: WritableWorld, event: EventOf<"attemptStarted">): void {
  const attempt = touchedAttempt(world, event.attemptId);
  const workload = workloadOf(world, attempt.workloadId);
  if (attempt.phase === "launching") attempt.phase = "running";
  if (attempt.launchAtMs !== undefined) endBackoff(world, attempt);
  attempt.startedAtMs = event.atMs;
  if (workload.firstStartedAtMs === null) {
    workload.firstStartedAtMs = event.atMs;
    workload.revision = world.state.sequence;
  }
  refileCompletion(world, attempt);
  waitForItsTime(world.timers, attempt, workload.spec.walltimeMs);
  waitForWindows(world, attempt);
  waitForReadiness(world, workload, attempt);
}

function end(world: WritableWorld, event: EventOf<"attemptEnded">): void {
  const { state, queue, timers } = world;
  const attempt = touchedAttempt(world, event.attemptId);
  const workload = workloadOf(world, attempt.workloadId);
  settleUse(world, workload);
  releaseAttempt(world, attempt);
  beginIdleTime(world, attempt.workers);
  queue.setGrowth(workload, attempt.id, 0);
  workload.activeAttempts = without(world.state, workload.activeAttempts, attempt);
  removeAttempt(world, attempt.id);
  if (attempt.launchAtMs !== undefined) world.backingOff.delete(attempt.id);
  workload.endedAttempts = keepEnded(workload.endedAttempts, attempt, event);
  recordRunTime(world, workload, { attempt, event });
  workload.revision = state.sequence;
  if (workload.spec.startWindow !== undefined) world.startWindow.lookAtMs = -1;
  countEnd(workload, attempt.task, event);
  if (event.retryAtMs !== null && world.hotSparesStated > 0 && workload.spec.kind === "train")
    countLost(world, workload, attempt);
  if (event.retryAtMs !== null && moveTask(world, workload, attempt)) {
    // The task continues in the place of its nomination.
  } else if (event.retryAtMs !== null) {
    updateTask(workload, attempt.task, { retryAtMs: event.retryAtMs });
    if (event.retryAtMs > event.atMs) timers.add({ kind: "retry", atMs: event.retryAtMs, workloadId: workload.id });
    else queueIfReady(world, workload, event.atMs);
  } else if (event.outcome === "succeeded") workload.succeededCount++;
  // A task stopped by a cancellation counts neither as succeeded nor as failed.
  else if (!workload.stopRequested) workload.failedCount++;
  // The end of one task lets another start of a workload that is at its limit.
  if (tasksAtOnceOf(workload) < taskCountOf(workload.spec)) queueIfReady(world, workload, event.atMs);
  if (workload.activeAttempts.length === 0 && !workload.stopRequested) workload.phase = "pending";
}

/**
 * If a gang restarts because nodes were lost, drained or will leave, its workers on these nodes may use hot spares.
 * Records their number.
 */
function countLost(world: WritableWorld, workload: WritableWorkload, attempt: WritableAttempt): void {
  const { state, calendar, rules } = world;
  const { spec, actor } = workload;
  const aheadMs = state.nowMs + spec.graceTimeoutMs + checkpointTimeoutOf(rules, spec);
  const away = calendar.windows.filter(
    ({ window }) => window.startMs <= aheadMs && !calendar.isFor(window, { team: spec.team, actor }),
  );
  const isGone = ({ node: id }: WorkerAllocation): boolean => {
    const node = state.nodes.get(id);
    if (node === undefined || node.health === "lost") return true;
    const isClosing = node.draining || node.removal !== undefined;
    return attempt.stop?.reason === "nodeDrained" && (isClosing || away.some(({ nodes }) => nodes.has(id)));
  };
  const lost = attempt.workers.filter(isGone).length + (attempt.missing?.length ?? 0);
  if (lost > 0) workload.lostWorkers = lost;
}

/** When the attempt of a migrating task has ended, its nomination no longer refers to it. */
function moveTask({ state }: WritableWorld, workload: WritableWorkload, attempt: WritableAttempt): boolean {
  for (const place of state.nominations.values()) {
    if (place.afterAttempt !== attempt.id) continue;
    const { afterAttempt: _ended, ...kept } = place;
    const notBefore = (attempt.launchAtMs ?? 0) > state.nowMs ? { notBeforeMs: attempt.launchAtMs as number } : {};
    state.nominations.set(place.attemptId, { ...kept, ...notBefore });
    updateTask(workload, place.task, { attemptCount: place.number });
    return true;
  }
  return false;
}

function without({ attempts }: WritableWorld["state"], active: AttemptId[], attempt: WritableAttempt): AttemptId[] {
  const index = active[0] === attempt.id ? 0 : positionOf(attempts, active, attempt);
  invariant(index >= 0, "an ended attempt is missing in the list of its workload");
  if (active.length === 1) return NO_ATTEMPTS;
  active.splice(index, 1);
  return active;
}

/**
 * Index of an attempt in the workload's list. The list is sorted by placement, so binary search finds one of an array's
 * thousands.
 */
function positionOf(
  attempts: WritableWorld["state"]["attempts"],
  active: readonly AttemptId[],
  { id, placedSequence }: WritableAttempt,
): number {
  let low = 0;
  let high = active.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const other = active[middle] as AttemptId;
    if (other === id) return middle;
    if ((attempts.get(other)?.placedSequence ?? 0) < placedSequence) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

function keepEnded(
  kept: readonly EndedAttempt[],
  attempt: WritableAttempt,
  event: EventOf<"attemptEnded">,
): readonly EndedAttempt[] {
  const closedBy = attempt.stop?.closedBy;
  const own: EndedAttempt = {
    id: attempt.id,
    task: attempt.task,
    number: attempt.number,
    acceleratorType: attempt.acceleratorType,
    workers: attempt.workers,
    placedAtMs: attempt.placedAtMs,
    startedAtMs: attempt.startedAtMs,
    endedAtMs: event.atMs,
    outcome: event.outcome,
    exit: event.exit,
    detail: event.detail,
    stopReason: attempt.stop?.reason ?? null,
  };
  const ended = closedBy === undefined ? own : { ...own, closedBy };
  if (kept.length === 0) return [ended];
  return kept.length < ENDED_ATTEMPTS_KEPT ? [...kept, ended] : [...kept.slice(1), ended];
}
