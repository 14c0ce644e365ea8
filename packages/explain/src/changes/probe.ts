/**
 * Tests whether a request could start at all: it runs placement and the preemption searches without a round, so no
 * other waiting request starts and queue order is ignored. A request that fails this test cannot start in a round;
 * rounds are run only for requests that pass it.
 */
import {
  couldEverFit,
  findPlacement,
  acceptableTypes,
  isInGroups,
  wholeNeeded,
  simulate,
  findPlan,
  roomAtMost,
  heldMs,
} from "@headroom/engine/internals";
import type { Batch, Reservation, QueueBucket } from "@headroom/engine/internals";
import type { EvictionReason } from "@headroom/model";
import type { WorkloadEntity } from "@headroom/engine";

const reasons: Readonly<Record<string, EvictionReason>> = {
  consolidate: "migrated",
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

/**
 * Whether the request fits beside the protected starts of those requests that are certainly ahead of it. Other
 * protected starts are ignored.
 */
function fitsBeside({ world, nowMs }: Batch, bucket: QueueBucket, reservations: readonly Reservation[]): boolean {
  // A request that does not fit alone does not fit beside protected starts either.
  if (!isInGroups(bucket.request) && findPlacement(world, bucket.request) === null) return false;
  const endMs = nowMs + heldMs(world, bucket);
  const self = bucket.waiting.first();
  return simulate(world, (ledger) => {
    for (const reserved of reservations)
      if (reserved.startMs < endMs && isAhead(world, reserved, self))
        ledger.occupy(reserved.bucket.request, reserved.placement);
    return findPlacement(world, bucket.request) !== null;
  });
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

/**
 * Estimated number of whole accelerators that are missing on the type with the most capacity, with all victim
 * candidates counted as evicted. 0 if sums of capacity give no answer. It is not a lower bound, because more capacity
 * may also add victim candidates.
 */
export function acceleratorsMissing(batch: Batch, bucket: QueueBucket): number {
  const { world } = batch;
  const { phases, eviction } = world.rules;
  const canTell = eviction.leastVictims && !phases.includes("rebalance");
  if (!canTell || isInGroups(bucket.request) || bucket.request.lostWorkers > 0) return 0;
  let room = 0;
  for (const { freeCount, releasingCount } of acceptableTypes(world, bucket.request))
    room = Math.max(room, freeCount + releasingCount);
  if (phases.includes("reclaim")) room = Math.max(room, roomAtMost(world, bucket, "reclaimed"));
  if (phases.includes("preempt")) room = Math.max(room, roomAtMost(world, bucket, "preempted"));
  return Math.max(0, wholeNeeded(bucket.request) - room);
}
