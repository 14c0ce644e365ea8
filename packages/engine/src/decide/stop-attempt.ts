import type { Batch } from "../batch.ts";
import type { Attempt, StopReason } from "../model/workload.ts";
import { stopOf } from "./attempt-effects.ts";

/** Asks the executor to stop an attempt, once: an attempt that is stopping already keeps its first reason. */
export function requestStop(batch: Batch, attempt: Attempt, reason: StopReason): void {
  if (attempt.phase === "stopping") return;
  batch.emit({ kind: "attemptStopRequested", version: 2, atMs: batch.nowMs, attemptId: attempt.id, reason });
  batch.ask(stopOf(batch.world, attempt, reason));
}
