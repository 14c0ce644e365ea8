/** What it costs to evict an attempt now, in accelerator-milliseconds: work that is lost, and a place that would have come free anyway. */
import { acceleratorsIn, leastParts } from "../model/gang.ts";
import type { Attempt, Workload } from "../model/workload.ts";
import { checkpointTimeoutOf } from "../policy/checkpoint-timeout.ts";
import { workloadOf } from "../cluster/entities.ts";
import type { World } from "../cluster/world.ts";
import { ESTIMATE_HORIZON_MS, remainingMs } from "./remaining-time.ts";

/**
 * By this victims are chosen. To what is lost comes what the next hour would have brought anyway: whose work is over in
 * ten minutes would have given its place for fifty of sixty, so that taking it gains ten and loses all that it had done.
 */
export function evictionCost(world: World, attempt: Attempt, nowMs: number): number {
  const workload = workloadOf(world, attempt.workloadId);
  const leftMs = remainingMs(workload, attempt, nowMs);
  const releasedAnywayMs = leftMs === null ? 0 : Math.max(0, ESTIMATE_HORIZON_MS - leftMs);
  return evictionLoss(world, attempt, nowMs) + releasedAnywayMs * heldBy(workload);
}

/** Work that is lost: what ran since the last checkpoint, and what starting again takes. */
export function evictionLoss(world: World, attempt: Attempt, nowMs: number): number {
  const workload = workloadOf(world, attempt.workloadId);
  const { spec, checkpoint } = workload;
  const sinceMs =
    nowMs - Math.max(attempt.startedAtMs ?? nowMs, checkpoint?.attemptId === attempt.id ? checkpoint.atMs : 0);
  // Who is asked for a checkpoint first loses what runs between it and the stop, which is as long as it is waited for at most.
  const timeoutMs = checkpointTimeoutOf(world.rules, spec);
  const unsavedMs = timeoutMs > 0 ? Math.min(sinceMs, timeoutMs) : sinceMs;
  return (unsavedMs + (spec.restartCostMs ?? 0)) * heldBy(workload);
}

const heldBy = ({ spec: { gang } }: Workload): number => Math.max(1, acceleratorsIn(leastParts(gang)));
