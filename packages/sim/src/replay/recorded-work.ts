/**
 * Real run times from the record: the run of each task if nothing had interrupted it, in workers times ms. Work before
 * an eviction or a lost node counts once if a checkpoint saved it. An interrupted run that was not resumed also counts
 * as a run.
 */
import type { Attempt, AttemptId, Checkpoint, Event, WorkerExit, WorkloadId } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import type { TimelineLedger } from "./timeline-ledger.ts";
import { WorkedTime } from "./worked-time.ts";

export interface RecordedRun {
  /** Length of the run without interruptions, in workers times ms. */
  readonly workerMs: number;
  /**
   * `unknown`: the run had not ended at the end of the window. `stopped`: a user or the walltime stopped it for good.
   */
  readonly end: "exited" | "stopped" | "unknown";
  /** Exit code of a run that exited. 0: it succeeded. */
  readonly exitCode: number;
  /** Checkpoints of the run, by work done until then. */
  readonly checkpoints: readonly RecordedCheckpoint[];
}

export interface RecordedCheckpoint {
  readonly workerMs: number;
  readonly step: number;
  readonly path: string;
}

interface OpenRun {
  /** Saved work of interrupted attempts, in workers times ms. */
  savedWorkerMs: number;
  /** Largest progress of an interrupted attempt, including progress from earlier checkpoints, in workers times ms. */
  longestWorkerMs: number;
  readonly checkpoints: RecordedCheckpoint[];
}

interface TaskName {
  /** Key of the workload in the ledger of the timeline. */
  readonly key: string;
  readonly task: number;
}

interface OpenAttempt extends TaskName {
  readonly placedAtMs: number;
  readonly worked: WorkedTime;
  savedWorkerMs: number;
  stop: { readonly reason: string; readonly atMs: number } | null;
  /** Time of a checkpoint request that has no report yet; `null`: none. */
  askedAtMs: number | null;
}

/** Stop reasons that end a task although its work is not done. */
const FOR_GOOD: ReadonlySet<string> = new Set(["cancelled", "walltimeExceeded"]);
/**
 * Exit codes from this value on mean that a signal killed the process, as in shells; such a process counts as failed.
 */
const SIGNAL_EXIT = 128;

export class RecordedWork {
  readonly #runs = new Map<string, RecordedRun[]>();
  /** Unfinished runs by workload and task. */
  readonly #open = new Map<string, Map<number, OpenRun>>();
  readonly #attempts = new Map<AttemptId, OpenAttempt>();
  readonly #startupMs: number[] = [];
  readonly #stopMs: number[] = [];
  readonly #checkpointMs: number[] = [];
  readonly #ledger: TimelineLedger;
  /** Number of attempts that were lost although their nodes were not. The recorded inputs do not contain the cause. */
  lostAttempts = 0;

  constructor({ state }: Engine, ledger: TimelineLedger) {
    this.#ledger = ledger;
    for (const attempt of state.attempts.values()) {
      const { id, workloadId, task, workers, placedAtMs, startedAtMs, stop } = attempt;
      this.#attempts.set(id, {
        key: this.#keyOf(workloadId),
        task,
        placedAtMs,
        worked: new WorkedTime(workers.length, startedAtMs),
        savedWorkerMs: savedBefore(attempt, state.workloads.get(workloadId)?.checkpoint),
        stop,
        askedAtMs: null,
      });
    }
  }

  /** The recorded runs of a task of the workload with this key. */
  runs(key: string, task: number): readonly RecordedRun[] {
    return this.#runs.get(taskKey(key, task)) ?? [];
  }

  /** Median times in ms from a launch to running, and from a stop request to the end. */
  get latencies(): { readonly startupMs: number; readonly stopMs: number } {
    return { startupMs: median(this.#startupMs), stopMs: median(this.#stopMs) };
  }

  /** Median time in ms from the request for a checkpoint to its report; `null`: none was reported in time. */
  get checkpointMs(): number | null {
    return this.#checkpointMs.length === 0 ? null : median(this.#checkpointMs);
  }

  /** Must be called after the ledger has processed the event. */
  take(event: Event): void {
    if (event.kind === "gangPlaced") {
      const { attemptId, workloadId, task, workers, atMs } = event;
      this.#attempts.set(attemptId, {
        key: this.#keyOf(workloadId),
        task,
        placedAtMs: event.launchAtMs ?? atMs,
        worked: new WorkedTime(workers.length, null),
        savedWorkerMs: 0,
        stop: null,
        askedAtMs: null,
      });
      return;
    }
    if (event.kind === "workloadEnded")
      return this.#closeInterrupted(this.#keyOf(event.workloadId), endWithout(event.reason.kind));
    if (!("attemptId" in event)) return;
    const attempt = this.#attempts.get(event.attemptId);
    if (attempt !== undefined) this.#takeOf(attempt, event);
  }

  #takeOf(attempt: OpenAttempt, event: Event): void {
    const { atMs } = event;
    attempt.worked.follow(event);
    switch (event.kind) {
      case "attemptStarted":
        this.#startupMs.push(Math.max(0, atMs - attempt.placedAtMs));
        return;
      case "checkpointRequested":
        attempt.askedAtMs = atMs;
        return;
      case "checkpointRecorded": {
        if (attempt.askedAtMs !== null) this.#checkpointMs.push(atMs - attempt.askedAtMs);
        attempt.askedAtMs = null;
        attempt.savedWorkerMs = attempt.worked.until(atMs);
        const run = this.#openRun(attempt);
        run.checkpoints.push({
          workerMs: run.savedWorkerMs + attempt.savedWorkerMs,
          step: event.step,
          path: event.path,
        });
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
    const { stop, savedWorkerMs } = attempt;
    const workerMs = attempt.worked.until(atMs);
    if (outcome === "succeeded" || outcome === "failed")
      return this.#close(attempt, workerMs, { end: "exited", exitCode: outcome === "succeeded" ? 0 : codeOf(exit) });
    if (stop !== null) this.#stopMs.push(atMs - stop.atMs);
    if (stop !== null && FOR_GOOD.has(stop.reason))
      return this.#close(attempt, workerMs, { end: "stopped", exitCode: 0 });
    if (outcome === "lost" && !detail.startsWith("node ")) this.lostAttempts++;
    const run = this.#openRun(attempt);
    run.longestWorkerMs = Math.max(run.longestWorkerMs, run.savedWorkerMs + workerMs);
    run.savedWorkerMs += savedWorkerMs;
  }

  /**
   * Closes the window. Work that had not ended, running or interrupted, has runs that are at least as long as recorded.
   */
  close(toMs: number): void {
    for (const attempt of this.#attempts.values()) {
      if (!attempt.worked.hasBegun) continue;
      this.#close(attempt, attempt.worked.until(toMs), { end: endWithout(attempt.stop?.reason), exitCode: 0 });
    }
    this.#attempts.clear();
    for (const key of this.#open.keys()) this.#closeInterrupted(key, "unknown");
  }

  /** Tasks of a workload that were interrupted and have not run again. */
  #closeInterrupted(key: string, end: RecordedRun["end"]): void {
    for (const task of this.#open.get(key)?.keys() ?? []) this.#close({ key, task }, 0, { end, exitCode: 0 });
  }

  #close(name: TaskName, workerMs: number, given: Pick<RecordedRun, "end" | "exitCode">): void {
    const { savedWorkerMs, longestWorkerMs, checkpoints } = this.#openRun(name);
    const key = taskKey(name.key, name.task);
    const runs = this.#runs.get(key) ?? [];
    runs.push({ ...given, workerMs: Math.max(1, savedWorkerMs + workerMs, longestWorkerMs), checkpoints });
    this.#runs.set(key, runs);
    const open = this.#open.get(name.key);
    open?.delete(name.task);
    if (open?.size === 0) this.#open.delete(name.key);
  }

  #openRun({ key, task }: TaskName): OpenRun {
    let tasks = this.#open.get(key);
    if (tasks === undefined) this.#open.set(key, (tasks = new Map()));
    let run = tasks.get(task);
    if (run === undefined) tasks.set(task, (run = { savedWorkerMs: 0, longestWorkerMs: 0, checkpoints: [] }));
    return run;
  }

  #keyOf(workloadId: WorkloadId): string {
    return this.#ledger.byId(workloadId)?.key ?? workloadId;
  }
}

/** End of a run without an exit code: it was stopped for good, or only interrupted. */
const endWithout = (reason: string | undefined): "stopped" | "unknown" =>
  reason !== undefined && FOR_GOOD.has(reason) ? "stopped" : "unknown";

/** Progress saved by a running attempt when the window began, in workers times ms. */
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
