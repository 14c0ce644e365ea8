/** Missing capacity of a waiting workload after a round in which it did not start. */
import type { Batch } from "../../batch/batch.ts";
import { roomAtMost } from "../../preemption/eligibility.ts";
import { acceptableTypes, isInGroups, wholeNeeded } from "../../cluster/request.ts";
import type { QueueBucket } from "../../cluster/queue.ts";

/**
 * Number of whole accelerators that are missing on the type with most capacity, with all eligible victims counted as
 * evicted; 0 if sums give no answer. An estimate, not a bound: more capacity may also make more work eligible as a
 * victim.
 */
export function acceleratorsMissing(batch: Batch, bucket: QueueBucket): number {
  const { world } = batch;
  const { phases, eviction } = world.rules;
  const canTell = eviction.search === "lowest-cost" && !phases.includes("rebalance");
  if (!canTell || isInGroups(bucket.request) || bucket.request.lostWorkers > 0) return 0;
  let room = 0;
  for (const { freeCount, releasingCount } of acceptableTypes(world, bucket.request))
    room = Math.max(room, freeCount + releasingCount);
  if (phases.includes("reclaim")) room = Math.max(room, roomAtMost(world, bucket, "reclaimed"));
  if (phases.includes("preempt")) room = Math.max(room, roomAtMost(world, bucket, "preempted"));
  return Math.max(0, wholeNeeded(bucket.request) - room);
}
