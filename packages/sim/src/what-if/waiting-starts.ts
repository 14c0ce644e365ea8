/**
 * Starts of work that waits when a timeline begins. For an array these are the starts of all tasks that do not run yet.
 */
import { taskCountOf } from "@headroom/model";
import type { Workload, WorkloadId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";

export interface WaitingStarts {
  /** Number of tasks that wait at the beginning; 1 for other work. */
  readonly taskCount: number;
  /** First and last start in ms; `null`: not within the horizon. */
  readonly firstAtMs: number | null;
  readonly lastAtMs: number | null;
}

interface WaitingStart {
  readonly taskCount: number;
  readonly running: ReadonlySet<number>;
  readonly started: Set<number>;
  firstAtMs: number | null;
  lastAtMs: number | null;
}

export class WaitingWork {
  readonly #waiting = new Map<WorkloadId, WaitingStart>();
  startedWorkloads = 0;
  startedTasks = 0;

  constructor({ workloads, attempts }: ReadonlyState) {
    for (const workload of workloads.values()) {
      const taskCount = notRunningCount(workload);
      if (taskCount === 0) continue;
      const running = new Set(workload.activeAttempts.flatMap((id) => attempts.get(id)?.task ?? []));
      this.#waiting.set(workload.id, { taskCount, running, started: new Set(), firstAtMs: null, lastAtMs: null });
    }
  }

  /** Starts in the order of submission. */
  get starts(): ReadonlyMap<WorkloadId, WaitingStarts> {
    return this.#waiting;
  }

  launched(workloadId: WorkloadId, task: number, atMs: number): void {
    const waiting = this.#waiting.get(workloadId);
    if (waiting === undefined || waiting.running.has(task) || waiting.started.has(task)) return;
    waiting.started.add(task);
    this.startedTasks++;
    if (waiting.firstAtMs === null) {
      waiting.firstAtMs = atMs;
      this.startedWorkloads++;
    }
    if (waiting.started.size === waiting.taskCount) waiting.lastAtMs = atMs;
  }
}

/** Number of tasks that have yet to start or restart, including nominated ones. */
function notRunningCount(workload: Workload): number {
  const { phase, spec, scale, succeededCount, failedCount, activeAttempts } = workload;
  if (phase !== "pending" && phase !== "running") return 0;
  if (scale !== undefined) return Math.max(0, scale.replicas - activeAttempts.length);
  return taskCountOf(spec) - succeededCount - failedCount - activeAttempts.length;
}
