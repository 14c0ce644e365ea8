/**
 * Whether something could start at all, asked of the placing code and of the searches for plans without a round: everybody
 * else who waits stands still, and rights of order are not looked at. What could not start here does not start in a round
 * either, so that rounds are tried only where there is hope.
 */
import type { Batch } from "../../batch/batch.ts";
import type { EvictionReason } from "../../model/workload.ts";
import type { Reservation } from "../../placement/backfill/reservations.ts";
import { couldEverFit } from "../../placement/could-ever.ts";
import { findPlacement } from "../../placement/place.ts";
import { isInGroups } from "../../cluster/request.ts";
import { Ledger } from "../../cluster/ledger.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { WorkloadEntity } from "../../state/state.ts";
import { findPlan } from "../../preemption/pipeline.ts";

const reasons: Readonly<Record<string, EvictionReason>> = {
  consolidate: "moved",
  reclaim: "reclaimed",
  preempt: "preempted",
};

export function couldStart(batch: Batch, bucket: QueueBucket, reservations: readonly Reservation[]): boolean {
  const { world } = batch;
  if (!couldEverFit(world, bucket)) return false;
  const { phases } = world.rules;
  if (fitsBeside(batch, bucket, reservations)) return true;
  return phases.some((phase) => {
    const reason = reasons[phase];
    if (phase === "rebalance" || reason === undefined) return phase === "rebalance";
    return findPlan(batch, bucket, reason) !== null;
  });
}

/** A protected start of somebody who certainly comes first keeps its place; of the others it is not known. */
function fitsBeside({ world, nowMs }: Batch, bucket: QueueBucket, reservations: readonly Reservation[]): boolean {
  // What finds no room finds none beside protected starts either.
  if (!isInGroups(bucket.request) && findPlacement(world, bucket.request) === null) return false;
  const endMs = nowMs + bucket.request.durationMs;
  const self = bucket.waiting.first();
  const ledger = new Ledger(world);
  try {
    for (const reserved of reservations)
      if (reserved.startMs < endMs && isAhead(world, reserved, self))
        ledger.occupy(reserved.bucket.request, reserved.placement);
    return findPlacement(world, bucket.request) !== null;
  } finally {
    ledger.rollback();
  }
}

function isAhead(
  { rules, queue, state }: Batch["world"],
  { workloadId }: Reservation,
  self: WorkloadEntity | undefined,
): boolean {
  const other = state.workloads.get(workloadId);
  if (other === undefined || self === undefined || other === self || other.stopRequested || other.held === true)
    return false;
  return rules.teams.order.length === 0 && queue.compare(other, self) < 0;
}
