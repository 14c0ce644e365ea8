/** Writes the records of a workload's tasks. Their maps and lists are replaced, not modified: copies of the state share them. */
import { taskOf } from "@headroom/model";
import type { Task, EventOf } from "@headroom/model";
import type { WritableWorkload } from "../state/mutable-state.ts";
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
  { outcome, losses, givenUp }: EventOf<"attemptEnded">,
): void {
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

/**
 * Tasks that did not succeed wait again. They keep their numbers of attempts, so that no attempt's records are
 * overwritten; failures and losses count from zero.
 */
export function rerunTasks(workload: WritableWorkload, atMs: number): void {
  const again = tasksToRerun(workload);
  const tasks = new Map<number, Task>();
  for (const task of workload.tasks.values()) tasks.set(task.index, afterRerun(task, null));
  for (const index of again) tasks.set(index, afterRerun(taskOf(workload, index), atMs));
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
