/**
 * Stops an attempt. Evicted or drained work that writes checkpoints on request is asked for a checkpoint first. It is
 * stopped when the checkpoint is reported or its time limit is over. All other work is stopped at once.
 */
import { checkpointTimeoutOf } from "@headroom/model";
import type { CheckpointWaitOutcome, ClosedBy, Attempt, StopReason } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { withdraw } from "./nominations.ts";
import { workloadOf } from "../cluster/entities.ts";
import { checkpointOf, stopOf } from "./attempt-effects.ts";

/**
 * For each reason, whether a stop first waits for a checkpoint. A second stop for a reason that does not wait ends the
 * wait.
 */
const waitsForCheckpoint: { readonly [Reason in StopReason]: boolean } = {
  preempted: true,
  reclaimed: true,
  migrated: true,
  nodeDrained: true,
  restarted: true,
  incomplete: false,
  cancelled: false,
  walltimeExceeded: false,
  nodeLost: false,
  budgetSpent: false,
  scaledDown: false,
  notReady: false,
};

/**
 * A calendar window on nodes of the attempt. The attempt, with its grace period, must have ended when the window
 * begins, at `byMs`.
 */
export interface Closing {
  readonly byMs: number;
  readonly closedBy: ClosedBy;
}

/** Asks the executor to stop an attempt, once. An attempt that is already stopping keeps its first reason. */
export function requestStop(batch: Batch, attempt: Attempt, reason: StopReason, closing: Closing | null = null): void {
  const { world, nowMs: atMs } = batch;
  const { spec } = workloadOf(world, attempt.workloadId);
  const latestMs = (closing?.byMs ?? Number.MAX_SAFE_INTEGER) - spec.graceTimeoutMs;
  if (attempt.stop !== null) {
    const mayGoOn = waitsForCheckpoint[reason] && (attempt.stop.checkpointUntilMs ?? 0) <= latestMs;
    if (isWaitingForCheckpoint(attempt) && !mayGoOn) endCheckpointWait(batch, attempt, "cutShort");
    return;
  }
  const growth = world.state.nominations.get(attempt.id);
  if (growth !== undefined) withdraw(batch, growth, "its gang was asked to stop");
  const untilMs = Math.min(atMs + checkpointTimeoutOf(world.rules, spec), latestMs);
  const isLaunched = attempt.launchAtMs === undefined;
  const isAsked = waitsForCheckpoint[reason] && attempt.startedAtMs !== null && untilMs > atMs;
  const told = closing === null ? {} : { closedBy: closing.closedBy };
  batch.emit({ kind: "attemptStopRequested", version: 3, atMs, attemptId: attempt.id, reason, ...told });
  if (isAsked) {
    batch.emit({ kind: "checkpointRequested", version: 1, atMs, attemptId: attempt.id, untilMs });
    batch.ask(checkpointOf(world, attempt, untilMs));
  } else if (isLaunched) batch.ask(stopOf(world, attempt, reason));
}

/** Returns whether the attempt was asked for a checkpoint and not yet asked to stop. */
export const isWaitingForCheckpoint = ({ stop }: Attempt): boolean => stop?.checkpointUntilMs !== undefined;

/** Asks the executor to stop an attempt that was waiting for its checkpoint. */
export function endCheckpointWait(batch: Batch, attempt: Attempt, outcome: CheckpointWaitOutcome): void {
  const reason = attempt.stop?.reason;
  if (reason === undefined) return;
  batch.emit({ kind: "checkpointWaitEnded", version: 2, atMs: batch.nowMs, attemptId: attempt.id, outcome, reason });
  batch.ask(stopOf(batch.world, attempt, reason));
}
