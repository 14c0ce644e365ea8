/** Effect of an attempt's end on its task and workload: the task is done, is retried, or has failed. */
import { begunTaskCount, kindRules, taskOf, taskCountOf } from "@headroom/model";
import type {
  Attempt,
  AttemptOutcome,
  EndReason,
  LossCause,
  ReportedArtifact,
  RetrySpec,
  Workload,
  WorkerExit,
} from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { registerProduced } from "./artifacts.ts";
import { withdraw } from "../transitions/nominations.ts";
import { retryInPlace } from "./retry-in-place.ts";
import { endHopeless } from "./dependencies.ts";
import { workloadOf } from "../cluster/entities.ts";

/**
 * Minimum back-off. A loss without a known cause is treated as the machine's fault and does not use up the workload's
 * retries. Without this minimum, the task could be retried without pause and without end.
 */
const LOST_BACKOFF_MIN_MS = 1_000;
/**
 * Maximum number of consecutive losses of a task. Slurm requeues five times (`MaxBatchRequeue` in slurm.conf),
 * Kubernetes six (`backoffLimit`). With the back-off below, sixteen losses take 40 minutes.
 */
const CONSECUTIVE_LOSSES_MAX = 16;
/** Maximum back-off after a loss: a machine that is out of memory and kills supervisors needs time to recover. */
const LOSS_BACKOFF_MAX_MS = 300_000;

export interface AttemptEnd {
  readonly outcome: AttemptOutcome;
  readonly exit: WorkerExit | null;
  readonly detail: string;
  /** Cause of a loss. Without a cause, the loss counts as the machine's fault. */
  readonly cause?: LossCause;
  /** Artifacts that the attempt says it made. They count after a success alone. */
  readonly artifacts?: readonly ReportedArtifact[] | undefined;
}

export function endAttempt(batch: Batch, attempt: Attempt, end: AttemptEnd): void {
  const workload = workloadOf(batch.world, attempt.workloadId);
  if (end.outcome === "succeeded") registerProduced(batch, workload, attempt, end.artifacts);
  batch.placesLeft++;
  if (kindRules(workload.spec).restarts === "always") return endReplica(batch, { workload, attempt, end });
  const losses =
    end.outcome === "lost" && end.cause !== undefined ? taskOf(workload, attempt.task).lossCount + 1 : null;
  const retryAtMs = end.outcome === "succeeded" ? null : retryAt(batch, { workload, attempt, end, losses });
  withdrawMigration(batch, attempt, end, retryAtMs);
  // Fields are copied one by one for speed: this event is among the most frequent.
  const ended = {
    kind: "attemptEnded",
    version: 1,
    atMs: batch.nowMs,
    attemptId: attempt.id,
    outcome: end.outcome,
    exit: end.exit,
    detail: end.detail,
    retryAtMs,
  } as const;
  const isGivenUp = retryAtMs === null && end.outcome !== "succeeded" && workload.spec.kind === "batch";
  if (losses === null && !isGivenUp) batch.emit(ended);
  else batch.emit({ ...ended, ...(losses === null ? {} : { losses }), ...(isGivenUp ? { givenUp: true } : {}) });
  if (retryAtMs !== null) retryInPlace(batch, { workload, attempt, end, retryAtMs });
  endWorkloadIfDone(batch, workload, endReasonOf(workload, attempt, end));
}

/**
 * Gives up the place to which a task would have migrated, if it does not run again, or ended without having been stopped
 * and waits for its back-off.
 */
function withdrawMigration(batch: Batch, attempt: Attempt, { outcome }: AttemptEnd, retryAtMs: number | null): void {
  if (batch.world.state.nominations.size === 0) return;
  const waits = outcome !== "stopped" && retryAtMs !== null && retryAtMs > batch.nowMs;
  if (retryAtMs !== null && !waits) return;
  for (const nomination of Array.from(batch.world.state.nominations.values()))
    if (nomination.afterAttempt === attempt.id) withdraw(batch, nomination, "what was to move has ended");
}

/** Ends an attempt of a replica, which starts again until its endpoint is stopped. */
function endReplica(batch: Batch, { workload, attempt, end }: Omit<Ended, "losses">): void {
  const failures = replicaFailures(batch, workload, attempt, end);
  const retryAtMs = workload.stopRequested ? null : restartAt(batch, { workload, attempt, failures });
  withdrawMigration(batch, attempt, end, retryAtMs);
  batch.emit({
    kind: "attemptEnded",
    version: 1,
    atMs: batch.nowMs,
    attemptId: attempt.id,
    outcome: end.outcome,
    exit: end.exit,
    detail: end.detail,
    retryAtMs,
    ...(failures === null ? {} : { failures }),
  });
  if (retryAtMs !== null) retryInPlace(batch, { workload, attempt, end, retryAtMs });
  endWorkloadIfDone(batch, workload, endReasonOf(workload, attempt, end));
}

/**
 * Run time after which a replica counts as sound: its next end is the first one of a new row. Kubernetes resets the
 * back-off of a container after the same time (https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/).
 */
const SOUND_AFTER_MS = 600_000;

/** Number of ends of the replica in a row, or `null` if the control plane stopped it for a reason outside the replica. */
function replicaFailures(
  { nowMs }: Batch,
  workload: Workload,
  attempt: Attempt,
  { outcome }: AttemptEnd,
): number | null {
  if (outcome === "stopped" && attempt.stop?.reason !== "notReady") return null;
  const isSound = attempt.startedAtMs !== null && nowMs - attempt.startedAtMs >= SOUND_AFTER_MS;
  return 1 + (isSound ? 0 : taskOf(workload, attempt.task).failureCount);
}

/** Exits, losses and missed readiness all wait: a server that ends at once would be started without pause otherwise. */
function restartAt(
  { nowMs }: Batch,
  {
    workload,
    attempt,
    failures,
  }: { readonly workload: Workload; readonly attempt: Attempt; readonly failures: number | null },
): number {
  if (failures === null) return Math.max(nowMs, attempt.launchAtMs ?? 0);
  return nowMs + Math.max(backoffMs(workload.spec.retries, failures), LOST_BACKOFF_MIN_MS);
}

interface Ended {
  readonly workload: Workload;
  readonly attempt: Attempt;
  readonly end: AttemptEnd;
  /**
   * Number of consecutive losses of the task, with this one. `null` if the attempt was not lost, or no cause is known.
   */
  readonly losses: number | null;
}

/** The time from which an unsuccessful task may be retried. `null` if it may not be retried. */
function retryAt(batch: Batch, ended: Ended): number | null {
  const { workload, attempt, end, losses } = ended;
  if (workload.stopRequested || taskOf(workload, attempt.task).isStopRequested === true) return null;
  const { retries } = workload.spec;
  switch (end.outcome) {
    case "succeeded":
      return null;
    case "failed": {
      if (isQuickFailure(batch, ended)) return null;
      const failures = taskOf(workload, attempt.task).failureCount + 1;
      return failures <= retries.max ? batch.nowMs + backoffMs(retries, failures) : null;
    }
    case "stopped":
      // The task did not fail, so it returns to the queue immediately. If the attempt was still in its back-off, it
      // returns when the back-off ends.
      return attempt.stop?.reason === "walltimeExceeded" ? null : Math.max(batch.nowMs, attempt.launchAtMs ?? 0);
    case "lost":
      if (losses !== null) return retryAfterLosses(batch, ended, losses);
      return batch.nowMs + Math.max(backoffMs(retries, attempt.number), LOST_BACKOFF_MIN_MS);
  }
}

/** Whether the first attempt failed so early that its command is most likely wrong. */
function isQuickFailure({ nowMs }: Batch, { workload, attempt }: Ended): boolean {
  const { quickFailureMs } = workload.spec.retries;
  if (quickFailureMs === undefined || attempt.number > 1) return false;
  return attempt.startedAtMs === null || nowMs - attempt.startedAtMs < quickFailureMs;
}

/**
 * The time from which a task may be retried after losses with a known cause. `null` if it may not be retried. Losses
 * because of unreadable records or wrong inputs count against `retries.max` like failures: only the workload's own processes
 * write near these records, and inputs that do not exist are its mistake.
 */
function retryAfterLosses(
  { nowMs }: Batch,
  { workload, attempt: { task }, end: { cause } }: Ended,
  losses: number,
): number | null {
  const { retries } = workload.spec;
  if (losses > CONSECUTIVE_LOSSES_MAX) return null;
  if ((cause === "records" || cause === "inputs") && taskOf(workload, task).failureCount + losses > retries.max)
    return null;
  const own = backoffMs({ ...retries, backoffMs: LOST_BACKOFF_MIN_MS, backoffMaxMs: LOSS_BACKOFF_MAX_MS }, losses);
  return nowMs + Math.max(backoffMs(retries, losses), own);
}

/** The back-off after this number of failures. It doubles with each failure, up to the maximum. */
function backoffMs({ backoffMs: base, backoffMaxMs }: RetrySpec, times: number): number {
  let wait = base;
  for (let time = 1; time < times && wait < backoffMaxMs; time++) wait *= 2;
  return Math.min(wait, backoffMaxMs);
}

/** Ends the workload when none of its tasks waits or runs. */
export function endWorkloadIfDone(batch: Batch, workload: Workload, reason: EndReason): void {
  if (workload.activeAttempts.length > 0 || hasNomination(batch, workload)) return;
  if (kindRules(workload.spec).restarts === "always" && !workload.stopRequested) return;
  const tasksLeft = workload.waitingTasks.length + taskCountOf(workload.spec) - begunTaskCount(workload);
  if (tasksLeft > 0 && !workload.stopRequested) return;
  const phase = workload.stopRequested ? "cancelled" : workload.failedCount > 0 ? "failed" : "succeeded";
  const { dependents: byWorkload } = batch.world;
  const dependents = byWorkload.size === 0 ? undefined : byWorkload.get(workload.id);
  batch.emit({ kind: "workloadEnded", version: 1, atMs: batch.nowMs, workloadId: workload.id, phase, reason });
  if (dependents !== undefined) endHopeless(batch, workload, dependents);
}

/** One shared object, because thousands of ended workloads refer to it. */
const ALL_TASKS_SUCCEEDED: EndReason = { kind: "allTasksSucceeded" };

/** The reason why the workload ends. Call it after the attempt's end was applied. */
function endReasonOf(workload: Workload, attempt: Attempt, end: AttemptEnd): EndReason {
  if (workload.stopRequested) return { kind: "cancelled" };
  const { failedCount } = workload;
  if (failedCount === 0) return ALL_TASKS_SUCCEEDED;
  if (workload.spec.kind === "batch") return { kind: "tasksFailed", failedCount };
  if (attempt.stop?.reason === "walltimeExceeded")
    return { kind: "walltimeExceeded", walltimeMs: workload.spec.walltimeMs ?? 0 };
  const { failureCount, lossCount } = taskOf(workload, attempt.task);
  return { kind: "retriesExhausted", failures: failureCount + lossCount, exit: end.exit };
}

/** Whether a task of the workload has a nomination. */
function hasNomination({ world: { state } }: Batch, { id }: Workload): boolean {
  if (state.nominations.size === 0) return false;
  return [...state.nominations.values()].some(({ workloadId, growth }) => workloadId === id && !growth);
}
