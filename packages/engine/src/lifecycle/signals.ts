/** What a workload's process says of itself. */
import type { Batch } from "../batch/batch.ts";
import type { Signal } from "../contract/inputs.ts";
import type { Artifact, Attempt } from "../model/workload.ts";
import { activeAttempt, workloadOf } from "../cluster/entities.ts";
import { endCheckpointWait, isWaitingForCheckpoint } from "../transitions/stop-attempt.ts";

export function decideSignal(batch: Batch, signal: Signal): void {
  const attempt = activeAttempt(batch.world, signal.attemptId);
  if (attempt === undefined) return;
  if (signal.kind === "utilizationReported") return recordUtilization(batch, attempt, signal);
  if (signal.kind === "artifactReported") return recordArtifacts(batch, attempt, [signal]);
  const { attemptId, step } = signal;
  const fact = { version: 1, atMs: batch.nowMs, attemptId, step } as const;
  if (signal.kind === "progressReported") {
    batch.emit({ kind: "progressRecorded", ...fact, totalSteps: signal.totalSteps, metrics: signal.metrics });
    return;
  }
  // Asked before it is recorded, by which it would be known.
  const isSaved = isWaitingForCheckpoint(attempt) && !isKnown(batch, attempt, signal);
  batch.emit({ kind: "checkpointRecorded", ...fact, path: signal.path });
  if (isSaved) endCheckpointWait(batch, attempt, "saved");
}

/** More often nobody looks, and every report is a line of the journal. */
const UTILIZATION_EVERY_MS = 30_000;

function recordUtilization(
  batch: Batch,
  { utilization }: Attempt,
  { kind: _kind, ...report }: Signal & { readonly kind: "utilizationReported" },
): void {
  const { nowMs: atMs } = batch;
  if (utilization === undefined || atMs >= utilization.atMs + UTILIZATION_EVERY_MS)
    batch.emit({ kind: "utilizationRecorded", version: 1, atMs, ...report });
}

/** What was declared and is not known to lie there already; executors tell again after a restart. */
export function recordArtifacts(batch: Batch, attempt: Attempt, artifacts: readonly Artifact[]): void {
  const { spec, artifacts: known } = workloadOf(batch.world, attempt.workloadId);
  const said = new Map(known?.map(({ name, path }) => [name, path]));
  for (const { name, path } of artifacts) {
    if (spec.produces?.includes(name) !== true || said.get(name) === path) continue;
    said.set(name, path);
    batch.emit({ kind: "artifactRecorded", version: 1, atMs: batch.nowMs, attemptId: attempt.id, name, path });
  }
}

/** After a restart an executor tells the last checkpoint again: that is none which was asked for meanwhile. */
function isKnown(
  { world }: Batch,
  { id, workloadId }: Attempt,
  signal: Signal & { readonly kind: "checkpointReported" },
): boolean {
  const { checkpoint } = workloadOf(world, workloadId);
  return checkpoint?.attemptId === id && checkpoint.step === signal.step && checkpoint.path === signal.path;
}
