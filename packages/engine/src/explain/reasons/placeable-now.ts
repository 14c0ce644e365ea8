import { findPlacement } from "../../placement/place.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { World } from "../../cluster/world.ts";

/** The most workers of the request, fewer than asked for, that could be placed now as it wishes. */
export function placeableNow(world: World, found: QueueBucket): number {
  for (let workers = found.workers - 1; workers > 0; workers--) {
    const fewer = Object.assign(Object.create(found) as QueueBucket, { workers });
    if (findPlacement(world, fewer) !== null) return workers;
  }
  return 0;
}
