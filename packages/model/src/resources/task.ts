/**
 * Tasks of a workload: the elements of an array, the one gang of a `train` workload, the replicas of an endpoint.
 * A task is in one of five states: not started, active, waiting for another attempt, succeeded, given up.
 */

/** Record of a task that has started. */
export interface Task {
  readonly index: number;
  /** Number of attempts. It includes an attempt that is only nominated so far. */
  readonly attemptCount: number;
  /** Number of attempts that failed by their own exit. It is compared with the maximum number of retries. */
  readonly failureCount: number;
  /** Number of consecutive losses with a `LossCause`. A checkpoint or an exit resets it to 0. */
  readonly lossCount: number;
  /** Earliest start of the next attempt, or `null` if the task does not wait for one. */
  readonly retryAtMs: number | null;
  /** True if the task ended without success and is not tried again. */
  readonly isGivenUp: boolean;
  /** True if a user stopped the task: it is not tried again. Absent: none did. */
  readonly isStopRequested?: true;
}

/**
 * The tasks of one workload. Arrays have up to a million tasks, most of which succeed at their first attempt. Only the
 * other tasks have a record.
 */
export interface WorkloadTasks {
  /** Index of the first task that has not started. All tasks before it have started. */
  readonly nextTask: number;
  /** Records of started tasks, by index; a started task without a record has had one attempt and no failure. */
  readonly tasks: ReadonlyMap<number, Task>;
  /** Indexes of the tasks that wait for another attempt, ascending. */
  readonly waitingTasks: readonly number[];
  /** Tasks after `nextTask` that a user stopped before they started, ascending; absent: none. They are given up. */
  readonly stoppedAhead?: readonly number[];
}

/** Number of tasks that have started, or were given up before that. */
export const begunTaskCount = ({ nextTask, stoppedAhead }: Pick<WorkloadTasks, "nextTask" | "stoppedAhead">): number =>
  nextTask + (stoppedAhead?.length ?? 0);

/** The record of a started task. */
export const taskOf = ({ tasks }: Pick<WorkloadTasks, "tasks">, index: number): Task =>
  tasks.get(index) ?? {
    index,
    attemptCount: 1,
    failureCount: 0,
    lossCount: 0,
    retryAtMs: null,
    isGivenUp: false,
  };

/** A task that waits for another attempt. */
export type WaitingTask = Task & { readonly retryAtMs: number };

export const isWaiting = (task: Task): task is WaitingTask => task.retryAtMs !== null;

/** Tasks that wait for another attempt, ascending. */
export const waitingTasksOf = (workload: Omit<WorkloadTasks, "nextTask">): readonly WaitingTask[] =>
  workload.waitingTasks.map((index) => taskOf(workload, index)).filter(isWaiting);

/**
 * The waiting task whose back-off ends first. If no back-off lasts, the first waiting task. The workload must have a
 * waiting task.
 */
export function firstRetry(workload: Omit<WorkloadTasks, "nextTask">, nowMs: number): WaitingTask {
  const waiting = waitingTasksOf(workload);
  const lasting = waiting.filter(({ retryAtMs }) => retryAtMs > nowMs);
  return (lasting.length > 0 ? lasting : waiting).reduce((first, task) =>
    task.retryAtMs < first.retryAtMs ? task : first,
  );
}

/** Whether the back-off of a waiting task is over. */
export const isDue = (workload: Pick<WorkloadTasks, "tasks">, index: number, nowMs: number): boolean =>
  (taskOf(workload, index).retryAtMs ?? 0) <= nowMs;
