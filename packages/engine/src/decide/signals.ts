/** What a workload's process says of itself. */
import type { Batch } from "../batch.ts";
import type { Signal } from "../inputs.ts";

export function decideSignal(batch: Batch, signal: Signal): void {
  if (!batch.world.state.attempts.has(signal.attemptId)) return;
  const { attemptId, step } = signal;
  const fact = { version: 1, atMs: batch.nowMs, attemptId, step } as const;
  if (signal.kind === "checkpointReported") batch.emit({ kind: "checkpointRecorded", ...fact, path: signal.path });
  else batch.emit({ kind: "progressRecorded", ...fact, totalSteps: signal.totalSteps, metrics: signal.metrics });
}
