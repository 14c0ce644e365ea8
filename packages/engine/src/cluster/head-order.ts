/** The order between the heads of two buckets. */
import { minWorkersOf, comparisons, compareText } from "@headroom/model";
import type { Workload, Rules } from "@headroom/model";
import type { QueueBucket } from "./queue.ts";
import { userShare } from "./user-share.ts";
import type { World } from "./world.ts";
import { growingAttempt } from "./request.ts";

export type CompareClasses = (left: QueueBucket, right: QueueBucket) => number;

/**
 * Order of the requests of one workload: requests that keep a running place come first, then starts, then growth
 * requests. Requests of the same kind are in the order of attempt ids.
 */
function compareRequests(left: QueueBucket, right: QueueBucket): number {
  return (
    Number(left.request.holds === null) - Number(right.request.holds === null) ||
    Number(left.request.isGrowth) - Number(right.request.isGrowth) ||
    compareText(
      left.request.holds?.id ?? left.request.grows ?? "",
      right.request.holds?.id ?? right.request.grows ?? "",
    )
  );
}

const head = (bucket: QueueBucket): Workload => bucket.waiting.first() as Workload;

/** The policy's order between the heads of buckets, or `null` if it depends on more than the two workloads. */
export function plainHeadOrder(
  { phases, order }: Rules,
  compare: (left: Workload, right: Workload) => number,
): CompareClasses | null {
  const looksBeyond = order.includes("starting") || order.includes("running") || order.includes("user");
  if (phases.includes("rebalance") || looksBeyond) return null;
  return (left, right) => compare(head(left), head(right)) || compareRequests(left, right);
}

export const headOrder = (world: World): CompareClasses => world.queue.compareHeads ?? orderBeyondHeads(world);

function orderBeyondHeads(world: World): CompareClasses {
  const { order } = world.rules;
  /**
   * Stage of a gang: 0 if it is not running, 1 if it runs with its minimum of workers at most, 2 if it runs with more.
   */
  const stage = (bucket: QueueBucket): number => {
    if (!bucket.request.isGrowth) return 0;
    const running = growingAttempt(world, bucket.request)?.workers.length ?? 0;
    return running <= minWorkersOf(bucket.request.gang) ? 1 : 2;
  };
  const teamShare = order.includes("user") ? userShare(world) : null;
  return (left, right) => {
    for (const key of order) {
      let difference = comparisons[key]?.(head(left), head(right)) ?? 0;
      if (key === "starting") difference = stage(left) - stage(right);
      if (key === "running") difference = Number(left.request.holds === null) - Number(right.request.holds === null);
      if (key === "user" && teamShare !== null)
        difference = Math.sign(teamShare(left.request) - teamShare(right.request));
      if (difference !== 0) return difference;
      if (key === "submitted") break;
    }
    return head(left).ordinal - head(right).ordinal || compareRequests(left, right);
  };
}
