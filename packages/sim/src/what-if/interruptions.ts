/** Interruptions of work that runs when a timeline begins. The timeline is simulated, or recorded in the journal. */
import { milliIn, partsOf } from "@headroom/model";
import type { Attempt, AttemptId, Event, NodeId, WorkloadId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";

export interface Interruption {
  /** Number of tasks of an array; 1 for other work. */
  readonly taskCount: number;
  /** Time of the first interruption of a task in ms. */
  readonly atMs: number;
  /** Time at which all interrupted tasks run again; `null`: not within the horizon. */
  readonly againAtMs: number | null;
  /**
   * Work that must be repeated, in accelerators times ms: the work since the last checkpoint, or else since the start.
   */
  readonly lostAcceleratorMs: number;
  /** Nodes on which interrupted tasks run again, each once. */
  readonly againOn: readonly NodeId[];
}

/** An attempt that runs when the timeline begins, as JSON. */
export interface RunningAttempt {
  readonly workloadId: WorkloadId;
  readonly task: number;
  readonly milli: number;
  readonly safeSinceMs: number;
  /** The part of the run, in ms, that a checkpoint has saved. */
  readonly savedMs: number;
  stopAtMs: number | null;
}

interface OpenInterruption extends Interruption {
  /** Interrupted tasks that do not run again yet, with their saved progress in ms. */
  readonly waiting: Map<number, number>;
}

export class Interruptions {
  readonly #running: Map<AttemptId, RunningAttempt>;
  readonly #found = new Map<WorkloadId, OpenInterruption>();
  readonly #nowMs: number;

  constructor(running: Iterable<readonly [AttemptId, RunningAttempt]>, nowMs: number) {
    this.#nowMs = nowMs;
    this.#running = new Map([...running].map(([id, attempt]) => [id, { ...attempt }]));
  }

  get byWorkload(): ReadonlyMap<WorkloadId, Interruption> {
    return this.#found;
  }

  /** Whether an attempt that is asked to stop has not ended yet. */
  get isStopping(): boolean {
    return [...this.#running.values()].some(({ stopAtMs }) => stopAtMs !== null);
  }

  /** Whether the attempt runs since the beginning, and its end can be an interruption. */
  isRunning(id: AttemptId): boolean {
    return this.#running.has(id);
  }

  take(event: Event): void {
    if (event.kind === "attemptStopRequested") {
      const attempt = this.#running.get(event.attemptId);
      if (attempt !== undefined) attempt.stopAtMs ??= event.atMs;
    } else if (event.kind === "attemptEnded") {
      const attempt = this.#running.get(event.attemptId);
      this.#running.delete(event.attemptId);
      const isOver = event.outcome === "succeeded" || event.outcome === "failed" || event.retryAtMs === null;
      if (attempt !== undefined && !isOver) this.#interrupt(attempt, attempt.stopAtMs ?? event.atMs);
    }
  }

  /** Records the start of a task. Returns the progress in ms that was saved before an interruption in this timeline. */
  launched(workloadId: WorkloadId, task: number, atMs: number, on: readonly NodeId[]): number {
    const found = this.#found.get(workloadId);
    const savedMs = found?.waiting.get(task);
    if (found === undefined || savedMs === undefined) return 0;
    found.waiting.delete(task);
    const againOn = [...new Set([...found.againOn, ...on])];
    this.#found.set(workloadId, { ...found, againOn, ...(found.waiting.size === 0 ? { againAtMs: atMs } : {}) });
    return savedMs;
  }

  #interrupt({ workloadId, task, milli, safeSinceMs, savedMs }: RunningAttempt, stopAtMs: number): void {
    const atMs = Math.max(this.#nowMs, stopAtMs);
    const lostAcceleratorMs = Math.round((Math.max(0, atMs - safeSinceMs) * milli) / 1000);
    const before = this.#found.get(workloadId);
    const waiting = (before?.waiting ?? new Map<number, number>()).set(task, savedMs);
    this.#found.set(workloadId, {
      taskCount: (before?.taskCount ?? 0) + 1,
      atMs: before?.atMs ?? atMs,
      againAtMs: null,
      lostAcceleratorMs: (before?.lostAcceleratorMs ?? 0) + lostAcceleratorMs,
      againOn: before?.againOn ?? [],
      waiting,
    });
  }
}

export const runningAttempts = (
  state: ReadonlyState,
  nowMs: number,
): readonly (readonly [AttemptId, RunningAttempt])[] =>
  [...state.attempts.values()].map((attempt) => [attempt.id, runningOf(attempt, state, nowMs)] as const);

function runningOf(
  { id, workloadId, task, workers, startedAtMs, stop }: Attempt,
  { workloads }: ReadonlyState,
  nowMs: number,
): RunningAttempt {
  const workload = workloads.get(workloadId);
  const checkpoint = workload?.checkpoint;
  const beganMs = startedAtMs ?? nowMs;
  const safeSinceMs = checkpoint?.attemptId === id ? Math.max(beganMs, checkpoint.atMs) : beganMs;
  return {
    workloadId,
    task,
    milli: workload === undefined ? 0 : milliIn(partsOf(workload.spec.gang, workers)),
    safeSinceMs,
    savedMs: safeSinceMs - beganMs,
    stopAtMs: stop?.atMs ?? null,
  };
}
