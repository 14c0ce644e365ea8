/** What the end of an attempt means for its task and its workload: done, tried again, or given up. */
import type { Batch } from "../batch/batch.ts";
import type { Attempt, AttemptOutcome, EndReason, RetrySpec, Workload, WorkerExit } from "../model/workload.ts";
import { taskCountOf } from "../model/workload.ts";
import { withdraw } from "../transitions/promises.ts";
import { endHopeless } from "./dependencies.ts";
import { workloadOf } from "../cluster/entities.ts";

/** What is lost is the machine's fault and is tried for ever, so a workload without back-off must not do it at full speed. */
const LOST_BACKOFF_MIN_MS = 1_000;

export interface AttemptEnd {
  readonly outcome: AttemptOutcome;
  readonly exit: WorkerExit | null;
  readonly detail: string;
}

export function endAttempt(batch: Batch, attempt: Attempt, end: AttemptEnd): void {
  const workload = workloadOf(batch.world, attempt.workloadId);
  const retryAtMs = end.outcome === "succeeded" ? null : retryAt(batch, { workload, attempt, outcome: end.outcome });
  if (retryAtMs === null && batch.world.state.promises.size > 0) {
    for (const promise of Array.from(batch.world.state.promises.values()))
      if (promise.afterAttempt === attempt.id) withdraw(batch, promise, "what was to move has ended");
  }
  batch.emit({
    kind: "attemptEnded",
    version: 1,
    atMs: batch.nowMs,
    attemptId: attempt.id,
    outcome: end.outcome,
    exit: end.exit,
    detail: end.detail,
    retryAtMs,
  });
  endWorkloadIfDone(batch, workload, endReasonOf(workload, attempt, end));
}

/** When a task that did not succeed may be tried again; `null` if it is given up. */
function retryAt(
  batch: Batch,
  {
    workload,
    attempt,
    outcome,
  }: { workload: Workload; attempt: Attempt; outcome: Exclude<AttemptOutcome, "succeeded"> },
): number | null {
  if (workload.stopRequested) return null;
  const { retries } = workload.spec;
  switch (outcome) {
    case "failed": {
      const failures = (workload.failureCounts.get(attempt.task) ?? 0) + 1;
      return failures <= retries.max ? batch.nowMs + backoffMs(retries, failures) : null;
    }
    case "stopped":
      // A drained or lost node is not the task's fault: it goes back at once.
      return attempt.stop?.reason === "walltimeExceeded" ? null : batch.nowMs;
    case "lost":
      return batch.nowMs + Math.max(backoffMs(retries, attempt.number), LOST_BACKOFF_MIN_MS);
  }
}

/** Doubles with each further time, up to the bound. */
function backoffMs({ backoffMs: base, backoffMaxMs }: RetrySpec, times: number): number {
  let wait = base;
  for (let time = 1; time < times && wait < backoffMaxMs; time++) wait *= 2;
  return Math.min(wait, backoffMaxMs);
}

/** Ends the workload once no task of it waits or runs. */
export function endWorkloadIfDone(batch: Batch, workload: Workload, reason: EndReason): void {
  if (workload.activeAttempts.length > 0 || hasPromise(batch, workload)) return;
  const tasksLeft = workload.retries.length + taskCountOf(workload.spec) - workload.nextTask;
  if (tasksLeft > 0 && !workload.stopRequested) return;
  const phase = workload.stopRequested ? "cancelled" : workload.failedCount > 0 ? "failed" : "succeeded";
  const dependents = batch.world.dependents.get(workload.id);
  batch.emit({ kind: "workloadEnded", version: 1, atMs: batch.nowMs, workloadId: workload.id, phase, reason });
  if (dependents !== undefined) endHopeless(batch, workload, dependents);
}

/** Read after the attempt's end was applied. */
function endReasonOf(workload: Workload, attempt: Attempt, end: AttemptEnd): EndReason {
  if (workload.stopRequested) return { kind: "cancelled" };
  const { failedCount } = workload;
  if (failedCount === 0) return { kind: "allTasksSucceeded" };
  if (workload.spec.kind === "batch") return { kind: "tasksFailed", failedCount };
  if (attempt.stop?.reason === "walltimeExceeded")
    return { kind: "walltimeExceeded", walltimeMs: workload.spec.walltimeMs ?? 0 };
  return { kind: "retriesExhausted", failures: workload.failureCounts.get(attempt.task) ?? 0, exit: end.exit };
}

/** Whether a place is kept for a task of the workload. */
function hasPromise({ world: { state } }: Batch, { id }: Workload): boolean {
  if (state.promises.size === 0) return false;
  return [...state.promises.values()].some(({ workloadId, growth }) => workloadId === id && !growth);
}
