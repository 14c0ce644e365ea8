import type { Batch } from "../batch.ts";
import type { Attempt, StopReason } from "../model/workload.ts";
import { workloadOf } from "../state/entities.ts";
import { invariant } from "../state/invariant.ts";

/** Asks the executor to stop an attempt, once: an attempt that is stopping already keeps its first reason. */
export function requestStop(batch: Batch, attempt: Attempt, reason: StopReason): void {
  if (attempt.phase === "stopping") return;
  batch.emit({ kind: "attemptStopRequested", version: 1, atMs: batch.nowMs, attemptId: attempt.id, reason });
  const workload = workloadOf(batch.world, attempt.workloadId);
  batch.ask({
    kind: "stopGang",
    executor: executorOf(batch, attempt),
    attemptId: attempt.id,
    graceTimeoutMs: workload.spec.graceTimeoutMs,
    reason,
  });
}

function executorOf({ world: { state } }: Batch, attempt: Attempt) {
  const node = state.nodes.get((attempt.workers[0] as Attempt["workers"][number]).node);
  const pool = node === undefined ? undefined : state.pools.get(node.pool);
  invariant(pool !== undefined, `attempt ${attempt.id} runs in no pool`);
  return pool.executor;
}
