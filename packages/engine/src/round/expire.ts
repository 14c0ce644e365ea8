/** The first phase of a round: changes caused by time alone. */
import { revisionOf } from "@headroom/model";
import type { Attempt } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { endCheckpointWait, isWaitingForCheckpoint, requestStop } from "../transitions/stop-attempt.ts";
import type { Timer } from "../cluster/timers.ts";
import { correctedPrediction } from "../usage/run-times.ts";
import { activeAttempt, byPlacement, workloadOf } from "../cluster/entities.ts";
import { keepBudgets } from "./keep-budgets.ts";
import { keepEndpointBudgets } from "./keep-endpoint-budgets.ts";
import { keepSchedules } from "./keep-schedules.ts";
import { keepCalendar } from "./keep-calendar.ts";
import { readyByMs } from "../cluster/world.ts";
import { readyTask } from "../state/ready-task.ts";
import { endAttempt } from "../lifecycle/end-attempt.ts";
import { launchOf } from "../transitions/attempt-effects.ts";

/**
 * Stops attempts whose walltime or checkpoint timeout has passed, and puts workloads back in the queue when their
 * back-off ends.
 */
export function expire(batch: Batch): void {
  const { timers } = batch.world;
  if ((timers.nextAtMs() ?? Number.POSITIVE_INFINITY) > batch.nowMs) return;
  const unsaved: Attempt[] = [];
  const outlived: Attempt[] = [];
  const unready: Attempt[] = [];
  let isCalendarDue = false;
  let isBudgetDue = false;
  let isScheduleDue = false;
  for (let timer = timers.takeDue(batch.nowMs); timer !== null; timer = timers.takeDue(batch.nowMs)) {
    if (timer.kind === "retry") requeue(batch, timer);
    else if (timer.kind === "calendar") isCalendarDue = true;
    else if (timer.kind === "budget") isBudgetDue = true;
    else if (timer.kind === "schedule") isScheduleDue = true;
    else if (timer.kind === "pipeline") batch.world.pipelines.mark(timer.runId);
    else {
      const attempt = activeAttempt(batch.world, timer.attemptId);
      if (attempt === undefined) continue;
      if (timer.kind === "checkpoint") {
        if (attempt.stop?.checkpointUntilMs === timer.atMs) unsaved.push(attempt);
      } else if (timer.kind === "readiness") unready.push(attempt);
      else outlived.push(attempt);
    }
  }
  for (const attempt of inOrder(unsaved)) endCheckpointWait(batch, attempt, "timedOut");
  for (const attempt of inOrder(takeOverrun(batch))) requestStop(batch, attempt, "walltimeExceeded");
  for (const attempt of inOrder(unready)) restartUnready(batch, attempt);
  for (const attempt of inOrder(outlived)) correctPrediction(batch, attempt);
  if (isCalendarDue) keepCalendar(batch);
  if (isBudgetDue) {
    keepBudgets(batch);
    keepEndpointBudgets(batch);
  }
  if (isScheduleDue) keepSchedules(batch);
}

/** The replica may have become ready since the timer was set. */
function restartUnready(batch: Batch, attempt: Attempt): void {
  const dueAtMs = readyByMs(revisionOf(workloadOf(batch.world, attempt.workloadId), attempt).spec, attempt);
  if (dueAtMs !== null && dueAtMs <= batch.nowMs) requestStop(batch, attempt, "notReady");
}

/** Attempts past their walltime, as many as the batch may stop. The timers of the others are due again at once. */
function takeOverrun(batch: Batch): Attempt[] {
  const { timers } = batch.world;
  // Most timers are of attempts that have ended.
  let overrun = null as Set<Attempt> | null;
  for (let timer = timers.takeDueWalltime(batch.nowMs); timer !== null; timer = timers.takeDueWalltime(batch.nowMs)) {
    const attempt = activeAttempt(batch.world, timer.attemptId);
    if (attempt === undefined || overrun?.has(attempt) === true || !isPastWalltime(batch, attempt)) continue;
    if (attempt.stop === null && !batch.mayStop()) {
      timers.add(timer);
      break;
    }
    (overrun ??= new Set()).add(attempt);
  }
  return overrun === null ? [] : [...overrun];
}

/** The walltime may have changed since the timer was set. */
function isPastWalltime({ world, nowMs }: Batch, attempt: Attempt): boolean {
  if (attempt.phase !== "running" && !isWaitingForCheckpoint(attempt)) return false;
  const { walltimeMs } = workloadOf(world, attempt.workloadId).spec;
  return walltimeMs !== null && (attempt.startedAtMs ?? nowMs) + walltimeMs <= nowMs;
}

/** The stops are recorded in the order in which the attempts were placed. */
const inOrder = (attempts: Attempt[]): readonly Attempt[] =>
  attempts.length < 2 ? attempts : attempts.sort(byPlacement);

/**
 * Predicts a longer run time for an attempt that has run longer than predicted. Terminating attempts, and attempts at
 * their walltime, keep their prediction.
 */
function correctPrediction(batch: Batch, attempt: Attempt): void {
  const { world, nowMs: atMs } = batch;
  const { id: attemptId, startedAtMs, prediction, stop, workloadId } = attempt;
  if (startedAtMs === null || prediction === undefined || stop !== null) return;
  const ranMs = atMs - startedAtMs;
  const { walltimeMs } = workloadOf(world, workloadId).spec;
  const corrected = correctedPrediction(prediction, { ranMs, walltimeMs });
  if (corrected.durationMs === prediction.durationMs) return;
  batch.emit({ kind: "predictionCorrected", version: 1, atMs, attemptId, prediction: corrected });
}

function requeue(batch: Batch, { workloadId, atMs }: Timer & { readonly kind: "retry" }): void {
  const { world, nowMs } = batch;
  const workload = world.state.workloads.get(workloadId);
  if (workload === undefined || workload.endedAtMs !== null) return;
  const { minRuntimeMs } = workload.spec;
  if (minRuntimeMs !== undefined)
    batch.freesVictims ||= workload.activeAttempts.some(
      (id) => (activeAttempt(world, id)?.placedAtMs ?? atMs) + minRuntimeMs === atMs,
    );
  if (readyTask(workload, nowMs) !== null && !world.queue.has(workload)) world.queue.add(workload);
}

export function endBackOffs(batch: Batch): void {
  const { world, nowMs: atMs } = batch;
  if (world.backingOff.size === 0) return;
  const due = [...world.backingOff].flatMap((id) => activeAttempt(world, id) ?? []).toSorted(byPlacement);
  for (const attempt of due) {
    // No executor has started this attempt, so no executor will report its end.
    if (attempt.stop !== null) {
      endAttempt(batch, attempt, { outcome: "stopped", exit: null, detail: "stopped during its back-off" });
    } else if ((attempt.launchAtMs ?? 0) <= atMs) {
      batch.emit({ kind: "backoffEnded", version: 1, atMs, attemptId: attempt.id });
      batch.ask(launchOf(world, attempt));
    }
  }
}
