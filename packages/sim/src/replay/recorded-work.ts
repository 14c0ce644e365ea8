/**
 * What work really took, read from what was recorded: for each task its runs up to an end of its own, each as long as it would
 * have been undisturbed. What evictions and lost nodes interrupted and a checkpoint saved counts once.
 *
 * Work is in workers times ms: an elastic gang that held fewer workers for a while did less in that time.
 */
import type { Attempt, AttemptId, Checkpoint, Engine, Event, WorkerExit } from "@headroom/engine";
import type { CourseBook } from "./course-book.ts";

export interface RecordedRun {
  /** Workers times ms from the start of the run to its end, as if nothing had interrupted it. */
  readonly workerMs: number;
  /** `unknown`: it had not ended when the window did. `stopped`: it would have gone on, had nobody stopped it for good. */
  readonly end: "exited" | "stopped" | "unknown";
  /** Of a run that exited. 0: it succeeded. */
  readonly exitCode: number;
  /** What was saved on the way, by the work done until then. */
  readonly checkpoints: readonly RecordedCheckpoint[];
}

export interface RecordedCheckpoint {
  readonly workerMs: number;
  readonly step: number;
  readonly path: string;
}

interface OpenRun {
  /** Done in attempts that were interrupted, and saved. */
  savedWorkerMs: number;
  /** The longest that an interrupted attempt came. */
  longestWorkerMs: number;
  readonly checkpoints: RecordedCheckpoint[];
}

interface OpenAttempt {
  readonly task: string;
  readonly placedAtMs: number;
  startedAtMs: number | null;
  workers: number;
  sinceMs: number;
  workerMs: number;
  savedWorkerMs: number;
  stop: { readonly reason: string; readonly atMs: number } | null;
  /** When it was asked for a checkpoint that it has not reported. */
  askedAtMs: number | null;
}

/** What ends an attempt for good, though the work itself would have gone on. */
const FOR_GOOD: ReadonlySet<string> = new Set(["cancelled", "walltimeExceeded"]);
/** A process that was killed by a signal of its own making has failed; shells report it so. */
const SIGNAL_EXIT = 128;

export class RecordedWork {
  readonly #runs = new Map<string, RecordedRun[]>();
  readonly #open = new Map<string, OpenRun>();
  readonly #attempts = new Map<AttemptId, OpenAttempt>();
  readonly #startupMs: number[] = [];
  readonly #stopMs: number[] = [];
  readonly #checkpointMs: number[] = [];
  readonly #book: CourseBook;
  /** Attempts that were lost although their nodes were not: the cause is not among the inputs. */
  lostAttempts = 0;

  constructor({ state }: Engine, book: CourseBook) {
    this.#book = book;
    for (const attempt of state.attempts.values()) {
      const { id, workloadId, task, workers, placedAtMs, startedAtMs, stop } = attempt;
      const sinceMs = startedAtMs ?? state.nowMs;
      this.#attempts.set(id, {
        task: taskKey(book.byId(workloadId)?.key ?? workloadId, task),
        placedAtMs,
        startedAtMs,
        workers: workers.length,
        sinceMs,
        workerMs: 0,
        savedWorkerMs: savedBefore(attempt, state.workloads.get(workloadId)?.checkpoint),
        stop,
        askedAtMs: null,
      });
    }
  }

  /** Of a task of the workload with this key, in turn. */
  runs(key: string, task: number): readonly RecordedRun[] {
    return this.#runs.get(taskKey(key, task)) ?? [];
  }

  /** From a launch to the moment it ran, and from a stop to the end, in ms: the middle of what happened. */
  get latencies(): { readonly startupMs: number; readonly stopMs: number } {
    return { startupMs: median(this.#startupMs), stopMs: median(this.#stopMs) };
  }

  /** From the request for a checkpoint to the report of it; `null`: none was reported in time. */
  get checkpointMs(): number | null {
    return this.#checkpointMs.length === 0 ? null : median(this.#checkpointMs);
  }

  /** After the book has taken the event. */
  take(event: Event): void {
    if (event.kind === "gangPlaced") {
      const { attemptId, workloadId, task, workers, atMs } = event;
      const key = this.#book.byId(workloadId)?.key ?? workloadId;
      this.#attempts.set(attemptId, {
        task: taskKey(key, task),
        placedAtMs: atMs,
        startedAtMs: null,
        workers: workers.length,
        sinceMs: atMs,
        workerMs: 0,
        savedWorkerMs: 0,
        stop: null,
        askedAtMs: null,
      });
      return;
    }
    if (!("attemptId" in event)) return;
    const attempt = this.#attempts.get(event.attemptId);
    if (attempt !== undefined) this.#takeOf(attempt, event);
  }

  #takeOf(attempt: OpenAttempt, event: Event): void {
    const { atMs } = event;
    switch (event.kind) {
      case "attemptStarted":
        attempt.startedAtMs = atMs;
        attempt.sinceMs = atMs;
        this.#startupMs.push(atMs - attempt.placedAtMs);
        return;
      case "gangGrown":
        return resize(attempt, attempt.workers + event.workers.length, atMs);
      case "gangShrinkRequested":
        return resize(attempt, event.workers, atMs);
      case "checkpointRequested":
        attempt.askedAtMs = atMs;
        return;
      case "checkpointRecorded": {
        if (attempt.askedAtMs !== null) this.#checkpointMs.push(atMs - attempt.askedAtMs);
        attempt.askedAtMs = null;
        resize(attempt, attempt.workers, atMs);
        attempt.savedWorkerMs = attempt.workerMs;
        const run = this.#openRun(attempt.task);
        run.checkpoints.push({ workerMs: run.savedWorkerMs + attempt.workerMs, step: event.step, path: event.path });
        return;
      }
      case "attemptStopRequested":
      case "checkpointWaitEnded":
        attempt.stop = { reason: event.reason, atMs };
        return;
      case "attemptEnded":
        this.#attempts.delete(event.attemptId);
        return this.#end(attempt, event);
      default:
    }
  }

  #end(attempt: OpenAttempt, { atMs, outcome, exit, detail }: Event & { readonly kind: "attemptEnded" }): void {
    if (attempt.startedAtMs !== null) resize(attempt, attempt.workers, atMs);
    if (outcome === "succeeded" || outcome === "failed")
      return this.#close(attempt, { end: "exited", exitCode: outcome === "succeeded" ? 0 : codeOf(exit) });
    if (attempt.stop !== null) this.#stopMs.push(atMs - attempt.stop.atMs);
    if (attempt.stop !== null && FOR_GOOD.has(attempt.stop.reason))
      return this.#close(attempt, { end: "stopped", exitCode: 0 });
    if (outcome === "lost" && !detail.startsWith("node ")) this.lostAttempts++;
    const run = this.#openRun(attempt.task);
    run.savedWorkerMs += attempt.savedWorkerMs;
    run.longestWorkerMs = Math.max(run.longestWorkerMs, attempt.workerMs);
  }

  /** What had not ended when the window did: its runs are at least so long. */
  close(toMs: number): void {
    for (const attempt of this.#attempts.values()) {
      if (attempt.startedAtMs === null) continue;
      resize(attempt, attempt.workers, toMs);
      this.#close(attempt, { end: "unknown", exitCode: 0 });
    }
    this.#attempts.clear();
  }

  #close(attempt: OpenAttempt, given: Pick<RecordedRun, "end" | "exitCode">): void {
    const { savedWorkerMs, longestWorkerMs, checkpoints } = this.#openRun(attempt.task);
    const runs = this.#runs.get(attempt.task) ?? [];
    const workerMs = Math.max(1, savedWorkerMs + attempt.workerMs, longestWorkerMs);
    runs.push({ ...given, workerMs, checkpoints });
    this.#runs.set(attempt.task, runs);
    this.#open.delete(attempt.task);
  }

  #openRun(task: string): OpenRun {
    const known = this.#open.get(task);
    if (known !== undefined) return known;
    const run = { savedWorkerMs: 0, longestWorkerMs: 0, checkpoints: [] };
    this.#open.set(task, run);
    return run;
  }
}

function resize(attempt: OpenAttempt, workers: number, atMs: number): void {
  if (attempt.startedAtMs !== null) attempt.workerMs += Math.max(0, atMs - attempt.sinceMs) * attempt.workers;
  attempt.sinceMs = atMs;
  attempt.workers = workers;
}

/** What a running attempt had saved when the window began, in workers times ms. */
export function savedBefore({ id, startedAtMs, workers }: Attempt, checkpoint: Checkpoint | null | undefined): number {
  if (checkpoint?.attemptId !== id || startedAtMs === null) return 0;
  return Math.max(0, checkpoint.atMs - startedAtMs) * workers.length;
}

const codeOf = (exit: WorkerExit | null): number =>
  exit === null || exit.kind === "signalled" || exit.code === 0 ? SIGNAL_EXIT : exit.code;

export const taskKey = (key: string, task: number): string => `${key} ${task}`;

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? 0;
}
