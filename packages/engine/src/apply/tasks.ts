/** Writes the records of a workload's tasks. Their maps and lists are replaced, not modified: copies of the state share them. */
import { taskOf } from "@headroom/model";
import type { Task, EventOf } from "@headroom/model";
import type { State, WritableWorkload } from "../state/mutable-state.ts";
import { tasksToRerun } from "../state/ready-task.ts";

export function updateTask(workload: WritableWorkload, index: number, change: Partial<Omit<Task, "index">>): void {
  const before = taskOf(workload, index);
  const task = { ...before, ...change };
  workload.tasks = new Map(workload.tasks).set(index, task);
  if (before.retryAtMs === null && task.retryAtMs !== null) {
    const at = workload.waitingTasks.findIndex((waiting) => waiting > index);
    workload.waitingTasks = workload.waitingTasks.toSpliced(at < 0 ? workload.waitingTasks.length : at, 0, index);
  } else if (before.retryAtMs !== null && task.retryAtMs === null) {
    workload.waitingTasks = workload.waitingTasks.filter((waiting) => waiting !== index);
  }
}

/** Counts a failure or a loss of the task. A success without earlier failures leaves no record. */
export function countEnd(
  workload: WritableWorkload,
  index: number,
  { outcome, losses, failures, givenUp }: EventOf<"attemptEnded">,
): void {
  if (failures !== undefined) return updateTask(workload, index, { failureCount: failures });
  const isPlain = outcome === "succeeded" || outcome === "stopped";
  if (isPlain && losses === undefined && givenUp === undefined && !workload.tasks.has(index)) return;
  const { failureCount, lossCount } = taskOf(workload, index);
  const hasExit = outcome === "succeeded" || outcome === "failed";
  updateTask(workload, index, {
    failureCount: outcome === "failed" ? failureCount + 1 : failureCount,
    lossCount: losses ?? (hasExit ? 0 : lossCount),
    isGivenUp: givenUp === true,
  });
}

/** A task with an attempt ends with it. Any other task is given up at once, and starts no more. */
export function stopTask({ attempts }: State, workload: WritableWorkload, index: number): void {
  const isActive = workload.activeAttempts.some((id) => attempts.get(id)?.task === index);
  const isUnstarted = index >= workload.nextTask;
  const given = isActive ? {} : { retryAtMs: null, isGivenUp: true };
  updateTask(workload, index, { ...(isUnstarted ? { attemptCount: 0 } : {}), ...given, isStopRequested: true });
  if (!isActive) workload.failedCount++;
  if (!isUnstarted) return;
  workload.stoppedAhead = [...(workload.stoppedAhead ?? []), index].toSorted((left, right) => left - right);
  passStopped(workload);
}

/** The first task of the array that may still start is the next one. */
export function passStopped(workload: WritableWorkload): void {
  let ahead = workload.stoppedAhead ?? [];
  while (ahead[0] === workload.nextTask) {
    workload.nextTask++;
    ahead = ahead.slice(1);
  }
  if (ahead.length === 0) delete workload.stoppedAhead;
  else workload.stoppedAhead = ahead;
}

/**
 * Tasks that did not succeed wait again. They keep their numbers of attempts, so that no attempt's records are
 * overwritten; failures and losses count from zero.
 */
export function rerunTasks(workload: WritableWorkload, atMs: number): void {
  const again = tasksToRerun(workload);
  const tasks = new Map<number, Task>();
  for (const task of workload.tasks.values()) tasks.set(task.index, afterRerun(task, null));
  for (const index of again) tasks.set(index, afterRerun(taskOf(workload, index), atMs));
  // A task that was stopped before its start has no attempt yet, as if it had never been stopped.
  for (const index of workload.stoppedAhead ?? []) tasks.delete(index);
  delete workload.stoppedAhead;
  workload.tasks = tasks;
  workload.waitingTasks = again;
}

const afterRerun = ({ index, attemptCount }: Task, retryAtMs: number | null): Task => ({
  index,
  attemptCount,
  failureCount: 0,
  lossCount: 0,
  retryAtMs,
  isGivenUp: false,
});
