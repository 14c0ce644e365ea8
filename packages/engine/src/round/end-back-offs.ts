/**
 * Attempts that keep their place during back-off: launched when the back-off is over, ended at once if stopped during
 * it.
 */
import type { Batch } from "../batch/batch.ts";
import { activeAttempt } from "../cluster/entities.ts";
import { endAttempt } from "../lifecycle/end-attempt.ts";
import { launchOf } from "../transitions/attempt-effects.ts";

export function endBackOffs(batch: Batch): void {
  const { world, nowMs: atMs } = batch;
  if (world.backingOff.size === 0) return;
  const due = [...world.backingOff]
    .flatMap((id) => activeAttempt(world, id) ?? [])
    .toSorted((left, right) => left.placedSequence - right.placedSequence);
  for (const attempt of due) {
    // No executor has started the attempt, so there is no exit to wait for.
    if (attempt.stop !== null) {
      endAttempt(batch, attempt, { outcome: "stopped", exit: null, detail: "stopped during its back-off" });
    } else if ((attempt.launchAtMs ?? 0) <= atMs) {
      batch.emit({ kind: "backoffEnded", version: 1, atMs, attemptId: attempt.id });
      batch.ask(launchOf(world, attempt));
    }
  }
}
