import { begunTaskCount, isDue, isWaiting, kindRules, taskCountOf, tasksAtOnceOf } from "@headroom/model";
import type { Workload } from "@headroom/model";

/**
 * The task that would start next, or `null` if no task may start. A retry whose back-off is over comes before tasks
 * that have not started; the lowest task comes first.
 */
export function readyTask(workload: Workload, nowMs: number): number | null {
  if (workload.stopRequested || isWaitingForTime(workload, nowMs) || isAtTaskLimit(workload)) return null;
  if (restartsAlways(workload) && tasksBelowLimit(workload) <= backingOffCount(workload, nowMs)) return null;
  for (const index of workload.waitingTasks) if (isDue(workload, index, nowMs)) return index;
  return workload.nextTask < taskCountOf(workload.spec) ? workload.nextTask : null;
}

const restartsAlways = ({ spec }: Workload): boolean => kindRules(spec).restarts === "always";

/**
 * A replica in back-off keeps its place among the replicas of its endpoint. Otherwise another replica would start in
 * its stead at once, and a command that fails would be started without pause.
 */
const backingOffCount = (workload: Workload, nowMs: number): number =>
  workload.waitingTasks.filter((index) => !isDue(workload, index, nowMs)).length;

/** Number of tasks that have an attempt or a nomination. */
export const startedTaskCount = (workload: Workload): number =>
  begunTaskCount(workload) - workload.waitingTasks.length - workload.succeededCount - workload.failedCount;

/** Number of tasks that may get an attempt beside those that have one or a nomination, by the workload's own limit. */
const tasksBelowLimit = (workload: Workload): number => tasksAtOnceOf(workload) - startedTaskCount(workload);

/** Whether as many tasks of the workload have an attempt or a nomination as it may have at one time. */
export const isAtTaskLimit = (workload: Workload): boolean => tasksBelowLimit(workload) <= 0;

/** Whether the workload is held, or waits for a dependency, for its start window or for its start time. */
export function isWaitingForTime({ held, waitsFor, waitsForStartWindow, spec }: Workload, nowMs: number): boolean {
  const isAskedFor = held === undefined && waitsFor === undefined && waitsForStartWindow === undefined;
  if (isAskedFor && spec.notBeforeMs === undefined) return false;
  return !isAskedFor || (spec.notBeforeMs ?? 0) > nowMs;
}

export type HoldReasonBy = "held" | "waitsFor" | "notBefore" | "startWindow";

/** The first hold reason that applies, or `null` if none does. */
export function holdReasonBy(
  { held, waitsFor, waitsForStartWindow, spec }: Workload,
  nowMs: number,
): HoldReasonBy | null {
  if (held === true) return "held";
  if (waitsFor !== undefined) return "waitsFor";
  if ((spec.notBeforeMs ?? 0) > nowMs) return "notBefore";
  return waitsForStartWindow === true ? "startWindow" : null;
}

export const readyTaskCount = (workload: Workload, nowMs: number): number =>
  readyTask(workload, nowMs) === null
    ? 0
    : Math.min(
        tasksBelowLimit(workload) - (restartsAlways(workload) ? backingOffCount(workload, nowMs) : 0),
        workload.waitingTasks.filter((index) => isDue(workload, index, nowMs)).length +
          taskCountOf(workload.spec) -
          begunTaskCount(workload),
      );

/**
 * Tasks of an ended workload that started and did not succeed, lowest first. Tasks that never started are not included.
 */
export function tasksToRerun({ spec, nextTask, succeededCount, tasks }: Workload): readonly number[] {
  if (!kindRules(spec).hasTasks) return nextTask > 0 && succeededCount === 0 ? [0] : [];
  return [...tasks.values()]
    .filter((task) => (isWaiting(task) || task.isGivenUp) && task.index < nextTask)
    .map(({ index }) => index)
    .toSorted((left, right) => left - right);
}

/**
 * Whether the workload has ended, some of its tasks did not succeed, and the state still has the records of all of
 * them.
 */
export function canRerun(workload: Workload): boolean {
  if (restartsAlways(workload)) return false;
  const again = tasksToRerun(workload).length;
  const { endedAtMs, spec, nextTask, succeededCount } = workload;
  return endedAtMs !== null && succeededCount < taskCountOf(spec) && again + succeededCount === nextTask;
}

/** Number of tasks that wait to run: tasks that have not started, and tasks in back-off; of an endpoint, missing replicas. */
export function waitingTaskCount(workload: Workload): number {
  if (workload.stopRequested) return 0;
  if (restartsAlways(workload)) return Math.max(0, tasksBelowLimit(workload));
  return workload.waitingTasks.length + taskCountOf(workload.spec) - begunTaskCount(workload);
}

/** Number of waiting tasks that the workload's own limit allows to run now. */
export const demandedTaskCount = (workload: Workload): number =>
  Math.max(0, Math.min(waitingTaskCount(workload), tasksBelowLimit(workload)));
