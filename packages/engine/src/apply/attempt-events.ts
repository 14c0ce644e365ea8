import type { AttemptEvent } from "../contract/events.ts";
import type { ClosedBy } from "../model/calendar.ts";
import type { AttemptId, WorkloadId } from "../model/ids.ts";
import { ENDED_ATTEMPTS_KEPT } from "../model/workload.ts";
import type { AttemptStop, EndedAttempt, Nomination, WorkerAllocation } from "../model/workload.ts";
import { checkpointTimeoutOf } from "../policy/checkpoint-timeout.ts";
import { MIGRATION_REST_MS } from "../policy/defragment-rules.ts";
import { activeAttempt, removeAttempt, workloadOf } from "./writable.ts";
import { NO_ATTEMPTS } from "../state/mutable-state.ts";
import { heedsHead } from "../policy/rules.ts";
import { growthOf, holdAttempt, holdNomination, leaveAttempt, releaseAttempt } from "../cluster/holdings.ts";
import {
  waitForItsTime,
  waitForLaunch,
  waitForMinRuntime,
  waitForPrediction,
  waitForRest,
  waitForWindows,
  waitForWindowsAhead,
} from "../cluster/world.ts";
import { InvariantError, invariant } from "../base/invariant.ts";
import { wakeForBudgets } from "./accounts.ts";
import { applyReport } from "./report-events.ts";
import { settleUse } from "./settle-use.ts";
import { recordArtifact } from "./artifacts.ts";
import { recordRunTime } from "./run-times.ts";
import { readyTask } from "../state/ready-task.ts";
import { joinWorkers, loseRanks, replaceWorkers } from "./replaced-workers.ts";
import { touchedAttempt } from "./touched.ts";
import { unreachable } from "../base/unreachable.ts";
import type { WritableWorld } from "./writable.ts";
import type { WritableAttempt, WritableWorkload } from "../state/mutable-state.ts";

export function applyAttemptEvent(world: WritableWorld, event: AttemptEvent): void {
  switch (event.kind) {
    case "gangPlaced":
      return place(world, event);
    case "backoffEnded":
      return launch(world, event);
    case "attemptStarted":
      return start(world, event);
    case "predictionCorrected":
      return correctPrediction(world, event);
    case "attemptEnded":
      return end(world, event);
    case "attemptStopRequested": {
      const attempt = touchedAttempt(world, event.attemptId);
      attempt.phase = "stopping";
      attempt.stop = stopFor(event, event.closedBy);
      leaveAttempt(world, attempt, event.reason, 1);
      if (world.rules.backfill.protectedStarts > 0) world.queue.markDirty();
      world.queue.setGrowth(workloadOf(world, attempt.workloadId), attempt.id, 0);
      return;
    }
    case "checkpointRequested":
      return waitForCheckpoint(world, event);
    case "checkpointWaitEnded": {
      const attempt = touchedAttempt(world, event.attemptId);
      attempt.stop = stopFor(event, attempt.stop?.closedBy);
      return refileCompletion(world, attempt);
    }
    case "gangShrinkRequested":
      return shrink(world, event);
    case "workersLeft":
      return finishTerminating(world, touchedAttempt(world, event.attemptId));
    case "gangGrown":
      return grow(world, event);
    case "joinFailed":
      return failJoin(world, event);
    case "ranksLost":
      return loseRanks(world, event);
    case "workersReplaced":
      return replaceWorkers(world, event);
    case "workersJoined":
      return joinWorkers(world, event);
    case "placementNominated":
      return nomination(world, event.nomination);
    case "nominationWithdrawn":
      return withdraw(world, event);
    case "opportunisticJobRelabelled": {
      touchedAttempt(world, event.attemptId).opportunistic = true;
      world.teamUse.limitEpoch++;
      return;
    }
    case "evictionPlanned":
      return event.pairsGathered === undefined ? undefined : remember(world, event.workloadId, event.atMs);
    case "progressEstimated":
    case "idleChanged":
    case "progressRecorded":
    case "utilizationRecorded":
      return applyReport(world, event);
    case "artifactRecorded":
      return recordArtifact(world, workloadOf(world, touchedAttempt(world, event.attemptId).workloadId), event);
    case "checkpointRecorded":
      return recordCheckpoint(world, event);
    default:
      unreachable(event);
  }
}

function recordCheckpoint(world: WritableWorld, event: AttemptEvent & { readonly kind: "checkpointRecorded" }): void {
  const { step, path, atMs, attemptId } = event;
  const attempt = touchedAttempt(world, attemptId);
  const workload = workloadOf(world, attempt.workloadId);
  workload.checkpoint = { step, path, atMs, attemptId };
  // The next attempt resumes from this checkpoint, so earlier losses no longer count.
  setLosses(workload, attempt.task, 0);
  workload.revision = world.state.sequence;
}

/** Usage changed, so the head of the queue, protected starts and the fit of task groups may change. */
function markDirty({ queue, rules }: WritableWorld): void {
  if (heedsHead(rules) || queue.hasGroups) queue.markDirty();
}

function place(world: WritableWorld, event: AttemptEvent & { readonly kind: "gangPlaced" }): void {
  const { state } = world;
  const workload = workloadOf(world, event.workloadId);
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
  if (event.launchAtMs !== undefined) attempt.launchAtMs = event.launchAtMs;
  settleUse(world, workload);
  state.attempts.set(event.attemptId, attempt);
  if (workload.activeAttempts.length === 0) workload.activeAttempts = [event.attemptId];
  else workload.activeAttempts.push(event.attemptId);
  workload.phase = "running";
  if (workload.lostWorkers !== undefined) delete workload.lostWorkers;
  workload.revision = state.sequence;
  holdAttempt(world, attempt);
  markDirty(world);
  wakeForBudgets(world, workload.spec.team);
  world.queue.setGrowth(workload, attempt.id, growthOf(world, workload, attempt));
  waitForMinRuntime(world, attempt, event.atMs);
  waitForWindows(world, attempt);
  waitForLaunch(world, attempt);
}

function launch(world: WritableWorld, { attemptId }: AttemptEvent & { readonly kind: "backoffEnded" }): void {
  const attempt = touchedAttempt(world, attemptId);
  const workload = workloadOf(world, attempt.workloadId);
  delete attempt.launchAtMs;
  world.backingOff.delete(attemptId);
  world.queue.setGrowth(workload, attemptId, growthOf(world, workload, attempt));
}

/**
 * Records a migration; migrated work rests before it may migrate again. Entries whose rest is over are dropped, oldest
 * first.
 */
function remember(world: WritableWorld, id: WorkloadId, atMs: number): void {
  const { moved } = world.state;
  for (const [known, movedAtMs] of moved) {
    if (movedAtMs + MIGRATION_REST_MS > atMs) break;
    moved.delete(known);
  }
  moved.delete(id);
  moved.set(id, atMs);
  waitForRest(world, atMs);
}

const stopFor = ({ reason, atMs }: Pick<AttemptStop, "reason" | "atMs">, closedBy: ClosedBy | undefined): AttemptStop =>
  closedBy === undefined ? { reason, atMs } : { reason, atMs, closedBy };

function waitForCheckpoint(world: WritableWorld, event: AttemptEvent & { readonly kind: "checkpointRequested" }): void {
  const attempt = touchedAttempt(world, event.attemptId);
  invariant(attempt.stop !== null, `${attempt.id} is asked for a checkpoint and not to stop`);
  attempt.stop = { ...attempt.stop, checkpointUntilMs: event.untilMs };
  world.timers.add({ kind: "checkpoint", atMs: event.untilMs, attemptId: attempt.id });
  refileCompletion(world, attempt);
}

/** Records a new expected end: requests beside protected starts may now fit or not. */
function refileCompletion(world: WritableWorld, attempt: WritableAttempt): void {
  world.completions.file(attempt, workloadOf(world, attempt.workloadId).spec);
  if (world.rules.backfill.protectedStarts > 0) world.queue.markDirty();
}

function correctPrediction(world: WritableWorld, event: AttemptEvent & { readonly kind: "predictionCorrected" }): void {
  const attempt = touchedAttempt(world, event.attemptId);
  attempt.prediction = event.prediction;
  waitForPrediction(world.timers, attempt, workloadOf(world, attempt.workloadId).spec.walltimeMs);
  refileCompletion(world, attempt);
}

interface TaskTaken {
  readonly task: number;
  readonly number: number;
  readonly atMs: number;
}

/**
 * Takes the task from the workload's retries or its tasks that have not started, and the workload from the queue if no
 * task is left.
 */
function takeTask(world: WritableWorld, workload: WritableWorkload, { task, number, atMs }: TaskTaken): void {
  if (number > 1) {
    workload.retries = workload.retries.filter((retry) => retry.task !== task);
    workload.attemptCounts = new Map(workload.attemptCounts).set(task, number);
  } else {
    if (task !== workload.nextTask)
      throw new InvariantError(`workload ${workload.id} starts task ${task}, next is ${workload.nextTask}`);
    workload.nextTask = task + 1;
  }
  if (readyTask(workload, atMs) === null) world.queue.remove(workload);
}

function nomination(world: WritableWorld, place: Nomination): void {
  const { state } = world;
  const workload = workloadOf(world, place.workloadId);
  if (place.afterAttempt !== undefined) world.queue.setGrowth(workload, place.afterAttempt, 0);
  else if (!place.growth) takeTask(world, workload, place);
  else world.queue.setGrowth(workload, place.attemptId, 0);
  state.nominations.set(place.attemptId, place);
  waitForWindowsAhead(world, place);
  workload.revision = state.sequence;
  holdNomination(world, place, 1);
  markDirty(world);
}

function takeNomination(world: WritableWorld, id: AttemptId): Nomination {
  const place = world.state.nominations.get(id);
  invariant(place !== undefined, `no place is nominated for ${id}`);
  world.state.nominations.delete(id);
  holdNomination(world, place, -1);
  workloadOf(world, place.workloadId).revision = world.state.sequence;
  return place;
}

function withdraw(
  world: WritableWorld,
  { attemptId, atMs }: AttemptEvent & { readonly kind: "nominationWithdrawn" },
): void {
  const withdrawn = takeNomination(world, attemptId);
  world.capacity.freedEpoch++;
  if (withdrawn.growth) askAgain(world, attemptId);
  // A migrating task waits again only after its running attempt has ended.
  else if (withdrawn.afterAttempt === undefined) returnTask(world, withdrawn, atMs);
}

/** Puts the task back as an immediate retry, because its attempt number was already used. */
function returnTask(world: WritableWorld, { workloadId, task }: Nomination, atMs: number): void {
  const workload = workloadOf(world, workloadId);
  workload.retries = [...workload.retries, { task, notBeforeMs: atMs }];
  if (workload.spec.startWindow !== undefined) world.startWindow.lookAtMs = -1;
  if (!world.queue.has(workload) && readyTask(workload, atMs) !== null) world.queue.add(workload);
}

/** A gang whose growth lost its nomination requests growth again. */
function askAgain(world: WritableWorld, id: AttemptId): void {
  const attempt = activeAttempt(world, id);
  if (attempt === undefined) return;
  const workload = workloadOf(world, attempt.workloadId);
  world.queue.setGrowth(workload, attempt.id, growthOf(world, workload, attempt));
}

function grow(world: WritableWorld, event: AttemptEvent & { readonly kind: "gangGrown" }): void {
  const attempt = touchedAttempt(world, event.attemptId);
  const workload = workloadOf(world, attempt.workloadId);
  if (world.state.nominations.has(attempt.id)) takeNomination(world, attempt.id);
  settleUse(world, workload);
  releaseAttempt(world, attempt);
  attempt.workers = [...attempt.workers, ...event.workers];
  holdAttempt(world, attempt);
  markDirty(world);
  wakeForBudgets(world, workload.spec.team);
  waitForWindows(world, attempt);
  world.queue.setGrowth(workload, attempt.id, growthOf(world, workload, attempt));
}

function shrink(world: WritableWorld, event: AttemptEvent & { readonly kind: "gangShrinkRequested" }): void {
  const attempt = touchedAttempt(world, event.attemptId);
  const workload = workloadOf(world, attempt.workloadId);
  releaseAttempt(world, attempt);
  attempt.terminating = [...attempt.workers.slice(event.workers), ...(attempt.terminating ?? [])];
  keepFirst(attempt, event.workers);
  holdAttempt(world, attempt);
  world.teamUse.limitEpoch++;
  world.queue.setGrowth(workload, attempt.id, 0);
}

function keepFirst(attempt: WritableAttempt, workers: number): void {
  attempt.workers = attempt.workers.slice(0, workers);
  const joining = attempt.joining?.filter((rank) => rank < workers) ?? [];
  if (joining.length > 0) attempt.joining = joining;
  else delete attempt.joining;
}

/** The gang keeps its size until its next attempt, because a failed growth would otherwise be retried without end. */
function failJoin(world: WritableWorld, event: AttemptEvent & { readonly kind: "joinFailed" }): void {
  const attempt = touchedAttempt(world, event.attemptId);
  const workload = workloadOf(world, attempt.workloadId);
  settleUse(world, workload);
  releaseAttempt(world, attempt);
  keepFirst(attempt, event.workers);
  attempt.joinFailure = { atMs: event.atMs, detail: event.detail };
  holdAttempt(world, attempt);
  world.teamUse.limitEpoch++;
  world.queue.setGrowth(workload, attempt.id, 0);
}

function finishTerminating(world: WritableWorld, attempt: WritableAttempt): void {
  const workload = workloadOf(world, attempt.workloadId);
  settleUse(world, workload);
  releaseAttempt(world, attempt);
  delete attempt.terminating;
  holdAttempt(world, attempt);
  world.queue.setGrowth(workload, attempt.id, growthOf(world, workload, attempt));
}

function start(world: WritableWorld, event: AttemptEvent & { readonly kind: "attemptStarted" }): void {
  const attempt = touchedAttempt(world, event.attemptId);
  const workload = workloadOf(world, attempt.workloadId);
  if (attempt.phase === "launching") attempt.phase = "running";
  if (attempt.launchAtMs !== undefined) {
    delete attempt.launchAtMs;
    world.backingOff.delete(attempt.id);
  }
  attempt.startedAtMs = event.atMs;
  world.completions.file(attempt, workload.spec);
  if (workload.firstStartedAtMs === null) {
    workload.firstStartedAtMs = event.atMs;
    workload.revision = world.state.sequence;
  }
  // The expected end changed: requests beside protected starts may now fit or not.
  if (world.rules.backfill.protectedStarts > 0) world.queue.markDirty();
  waitForItsTime(world.timers, attempt, workload.spec.walltimeMs);
  waitForWindows(world, attempt);
}

function end(world: WritableWorld, event: AttemptEvent & { readonly kind: "attemptEnded" }): void {
  const { state, queue, timers } = world;
  const attempt = touchedAttempt(world, event.attemptId);
  const workload = workloadOf(world, attempt.workloadId);
  settleUse(world, workload);
  releaseAttempt(world, attempt);
  queue.setGrowth(workload, attempt.id, 0);
  workload.activeAttempts = without(state, workload.activeAttempts, attempt);
  removeAttempt(world, attempt.id);
  world.backingOff.delete(attempt.id);
  workload.endedAttempts = keepEnded(workload.endedAttempts, attempt, event);
  recordRunTime(world, workload, { attempt, event });
  workload.revision = state.sequence;
  if (workload.spec.startWindow !== undefined) world.startWindow.lookAtMs = -1;
  if (event.losses !== undefined) setLosses(workload, attempt.task, event.losses);
  else if (event.outcome === "succeeded" || event.outcome === "failed") setLosses(workload, attempt.task, 0);
  if (event.outcome === "failed") {
    workload.failureCounts = new Map(workload.failureCounts).set(
      attempt.task,
      (workload.failureCounts.get(attempt.task) ?? 0) + 1,
    );
  }
  if (event.givenUp === true) workload.givenUpTasks = [...(workload.givenUpTasks ?? []), attempt.task];
  if (event.retryAtMs !== null && world.hotSparesStated > 0 && workload.spec.kind === "train")
    countLost(world, workload, attempt);
  if (event.retryAtMs !== null && moveTask(world, workload, attempt)) {
    // The task continues in the place of its nomination.
  } else if (event.retryAtMs !== null) {
    workload.retries = [...workload.retries, { task: attempt.task, notBeforeMs: event.retryAtMs }];
    if (event.retryAtMs > event.atMs) timers.add({ kind: "retry", atMs: event.retryAtMs, workloadId: workload.id });
    else if (!queue.has(workload) && readyTask(workload, event.atMs) !== null) queue.add(workload);
  } else if (event.outcome === "succeeded") workload.succeededCount++;
  // A task stopped by a cancellation counts neither as succeeded nor as failed.
  else if (!workload.stopRequested) workload.failedCount++;
  if (workload.activeAttempts.length === 0 && !workload.stopRequested) workload.phase = "pending";
}

function setLosses(workload: WritableWorkload, task: number, count: number): void {
  if (workload.losses === undefined && count === 0) return;
  const others = (workload.losses ?? []).filter((each) => each.task !== task);
  const losses = count === 0 ? others : [...others, { task, count }];
  if (losses.length > 0) workload.losses = losses;
  else delete workload.losses;
}

/**
 * A gang that restarts because its nodes were lost, drained or will be away may use hot spares for the workers there.
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
    return attempt.stop?.reason === "nodeDrained" && (node.draining || away.some(({ nodes }) => nodes.has(id)));
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
    workload.attemptCounts = new Map(workload.attemptCounts).set(place.task, place.number);
    return true;
  }
  return false;
}

function without({ attempts }: WritableWorld["state"], active: AttemptId[], attempt: WritableAttempt): AttemptId[] {
  const index = positionOf(attempts, active, attempt);
  invariant(index >= 0, "an attempt ends that its workload does not know");
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
  for (let [low, high] = [0, active.length - 1]; low <= high;) {
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
  event: AttemptEvent & { readonly kind: "attemptEnded" },
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
