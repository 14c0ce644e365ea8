import { minWorkersOf } from "../../model/workload.ts";
import type { Attempt, Workload } from "../../model/workload.ts";

/** Accelerator-milliseconds that are lost if the attempt is evicted now. */
export function evictionCost(workload: Workload, attempt: Attempt, nowMs: number): number {
  const { spec, checkpoint } = workload;
  const since = Math.max(attempt.startedAtMs ?? nowMs, checkpoint?.attemptId === attempt.id ? checkpoint.atMs : 0);
  const held = Math.max(1, minWorkersOf(spec.gang) * spec.gang.accelerators);
  return (nowMs - since + (spec.restartCostMs ?? 0)) * held;
}
