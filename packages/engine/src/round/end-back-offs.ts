/** Attempts that keep a place during their back-off: launched when it is over, ended at once when they are asked to stop. */
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
    // No executor knows of it: nothing is there to be waited for.
    if (attempt.stop !== null) {
      endAttempt(batch, attempt, { outcome: "stopped", exit: null, detail: "stopped during its back-off" });
    } else if ((attempt.launchAtMs ?? 0) <= atMs) {
      batch.emit({ kind: "backoffEnded", version: 1, atMs, attemptId: attempt.id });
      batch.ask(launchOf(world, attempt));
    }
  }
}
