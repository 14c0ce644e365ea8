/**
 * Cost of evicting an attempt now, in accelerator-milliseconds: lost work, and capacity that would soon have been freed
 * anyway.
 */
import { acceleratorsIn, leastParts, checkpointTimeoutOf } from "@headroom/model";
import type { Attempt, Workload } from "@headroom/model";
import { workloadOf } from "../cluster/entities.ts";
import type { World } from "../cluster/world.ts";
import { ESTIMATE_HORIZON_MS, remainingMs } from "./remaining-time.ts";

/**
 * The eviction cost by which victims are ordered: lost work, plus the time within the next hour (`ESTIMATE_HORIZON_MS`)
 * in which the attempt's accelerators would be free anyway. For example, an attempt that ends in ten minutes frees its
 * accelerators for fifty of the next sixty minutes by itself. So evicting it gains only ten minutes and loses all its
 * work.
 */
export function evictionCost(world: World, attempt: Attempt, nowMs: number): number {
  const workload = workloadOf(world, attempt.workloadId);
  const leftMs = remainingMs(workload, attempt, nowMs);
  const releasedAnywayMs = leftMs === null ? 0 : Math.max(0, ESTIMATE_HORIZON_MS - leftMs);
  return evictionLoss(world, attempt, nowMs) + releasedAnywayMs * heldBy(workload);
}

/** Lost work in accelerator-milliseconds: the time since the last checkpoint, and the cost of the restart. */
export function evictionLoss(world: World, attempt: Attempt, nowMs: number): number {
  const workload = workloadOf(world, attempt.workloadId);
  const { spec, checkpoint } = workload;
  const sinceMs =
    nowMs - Math.max(attempt.startedAtMs ?? nowMs, checkpoint?.attemptId === attempt.id ? checkpoint.atMs : 0);
  // A victim that is asked for a checkpoint loses only the time between checkpoint and stop, at most the checkpoint
  // timeout.
  const timeoutMs = checkpointTimeoutOf(world.rules, spec);
  const unsavedMs = timeoutMs > 0 ? Math.min(sinceMs, timeoutMs) : sinceMs;
  return (unsavedMs + (spec.restartCostMs ?? 0)) * heldBy(workload);
}

const heldBy = ({ spec: { gang } }: Workload): number => Math.max(1, acceleratorsIn(leastParts(gang)));
