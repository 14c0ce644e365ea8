/** Signals of a workload's processes. */
import { isRegistered } from "@headroom/model";
import type { IdleChange, ProgressEstimate, Signal, AttemptId, ProducedArtifact, Attempt } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { movesExpectedEnd } from "../preemption/remaining-time.ts";
import type { ReadonlyState } from "../state/state.ts";
import { activeAttempt, workloadOf } from "../cluster/entities.ts";
import { endCheckpointWait, isWaitingForCheckpoint } from "../transitions/stop-attempt.ts";

export function decideSignal(batch: Batch, signal: Signal): void {
  if (signal.kind === "estimatesReported") return recordEstimates(batch, signal.estimates);
  if (signal.kind === "idleChangesReported") return recordIdleChanges(batch, signal.changes);
  const attempt = activeAttempt(batch.world, signal.attemptId);
  if (attempt === undefined) return;
  const { attemptId } = signal;
  switch (signal.kind) {
    case "progressReported":
      return signal.totalSteps === null
        ? undefined
        : recordEstimates(batch, [[attemptId, signal.step, signal.totalSteps]]);
    case "utilizationReported":
      return recordIdleChanges(batch, [[attemptId, signal.busyAccelerators > 0 ? null : batch.nowMs]]);
    case "artifactReported":
      return recordArtifacts(batch, attempt, [signal]);
    case "linesRejected":
    case "stepTimesReported":
      return;
    default: {
      // This comes before the checkpoint is recorded, because the recorded checkpoint would count as already known.
      const isSaved = isWaitingForCheckpoint(attempt) && !isKnown(batch, attempt, signal);
      const { step, path } = signal;
      batch.emit({ kind: "checkpointRecorded", version: 1, atMs: batch.nowMs, attemptId, step, path });
      if (isSaved) endCheckpointWait(batch, attempt, "saved");
    }
  }
}

/** Records all changes of expected ends as one event. One event for each attempt would need several times the space. */
function recordEstimates(batch: Batch, estimates: readonly ProgressEstimate[]): void {
  const { world, nowMs } = batch;
  const news = new Map<AttemptId, ProgressEstimate>();
  for (const estimate of estimates) if (isEstimateNews(world.state, estimate, nowMs)) news.set(estimate[0], estimate);
  if (news.size > 0) batch.emit({ kind: "progressEstimated", version: 1, atMs: nowMs, estimates: [...news.values()] });
}

/** Whether a progress report changes the expected end enough to be recorded. */
export function isEstimateNews(
  { attempts, workloads }: ReadonlyState,
  [attemptId, step, totalSteps]: ProgressEstimate,
  nowMs: number,
): boolean {
  const attempt = attempts.get(attemptId);
  const workload = attempt === undefined ? undefined : workloads.get(attempt.workloadId);
  return (
    attempt !== undefined && workload !== undefined && movesExpectedEnd(workload, attempt, { step, totalSteps }, nowMs)
  );
}

function recordIdleChanges(batch: Batch, changes: readonly IdleChange[]): void {
  const news = new Map<AttemptId, IdleChange>();
  for (const change of changes) {
    const attempt = activeAttempt(batch.world, change[0]);
    if (attempt !== undefined && (attempt.idleSinceMs === undefined) !== (change[1] === null))
      news.set(change[0], change);
  }
  if (news.size > 0) batch.emit({ kind: "idleChanged", version: 1, atMs: batch.nowMs, changes: [...news.values()] });
}

/** Records declared artifacts whose location is new. After a restart executors repeat reports, which change nothing. */
export function recordArtifacts(batch: Batch, attempt: Attempt, artifacts: readonly ProducedArtifact[]): void {
  const { spec, artifacts: known } = workloadOf(batch.world, attempt.workloadId);
  // The report of an earlier attempt is none of this one.
  const said = new Map(
    known?.filter(({ name, by }) => !isRegistered(name) || by === attempt.id).map(({ name, path }) => [name, path]),
  );
  for (const { name, path } of artifacts) {
    if (spec.produces?.includes(name) !== true || said.get(name) === path) continue;
    said.set(name, path);
    batch.emit({ kind: "artifactRecorded", version: 1, atMs: batch.nowMs, attemptId: attempt.id, name, path });
  }
}

/**
 * Whether this checkpoint is already recorded. After a restart an executor repeats the last checkpoint, which is not
 * the one that the engine requested.
 */
function isKnown(
  { world }: Batch,
  { id, workloadId }: Attempt,
  signal: Signal & { readonly kind: "checkpointReported" },
): boolean {
  const { checkpoint } = workloadOf(world, workloadId);
  return checkpoint?.attemptId === id && checkpoint.step === signal.step && checkpoint.path === signal.path;
}
