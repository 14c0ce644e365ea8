/** The first phase of a round: what time alone brings about. */
import type { Batch } from "../batch.ts";
import { endCheckpointWait, isWaitingForCheckpoint, requestStop } from "../decide/stop-attempt.ts";
import type { Timer } from "../state/timers.ts";
import type { Attempt } from "../model/workload.ts";
import { activeAttempt } from "../state/entities.ts";
import { keepBudgets } from "./keep-budgets.ts";
import { keepSchedules } from "./keep-schedules.ts";
import { keepCalendar } from "./calendar/keep-calendar.ts";
import { readyTask } from "../state/ready-task.ts";

/** Walltimes and waits for a checkpoint that ran out stop their attempts; back-offs that ended put their workloads back in the queue. */
export function expire(batch: Batch): void {
  const { timers } = batch.world;
  if ((timers.nextAtMs() ?? Number.POSITIVE_INFINITY) > batch.nowMs) return;
  const overrun: Attempt[] = [];
  const unsaved: Attempt[] = [];
  let isCalendarDue = false;
  let isBudgetDue = false;
  let isScheduleDue = false;
  for (let timer = timers.takeDue(batch.nowMs); timer !== null; timer = timers.takeDue(batch.nowMs)) {
    if (timer.kind === "retry") requeue(batch, timer);
    else if (timer.kind === "calendar") isCalendarDue = true;
    else if (timer.kind === "budget") isBudgetDue = true;
    else if (timer.kind === "schedule") isScheduleDue = true;
    else {
      const attempt = activeAttempt(batch.world, timer.attemptId);
      if (attempt === undefined) continue;
      if (timer.kind === "checkpoint") {
        if (attempt.stop?.checkpointUntilMs === timer.atMs) unsaved.push(attempt);
      } else if (attempt.phase === "running" || isWaitingForCheckpoint(attempt)) overrun.push(attempt);
    }
  }
  // Timers due at one instant come in no particular order; their stops are recorded in the order of placing.
  if (overrun.length > 1) overrun.sort((left, right) => left.placedSequence - right.placedSequence);
  if (unsaved.length > 1) unsaved.sort((left, right) => left.placedSequence - right.placedSequence);
  for (const attempt of unsaved) endCheckpointWait(batch, attempt, "timedOut");
  for (const attempt of overrun) requestStop(batch, attempt, "walltimeExceeded");
  if (isCalendarDue) keepCalendar(batch);
  if (isBudgetDue) keepBudgets(batch);
  if (isScheduleDue) keepSchedules(batch);
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
