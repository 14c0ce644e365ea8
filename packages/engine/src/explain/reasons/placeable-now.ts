import { findPlacement } from "../../placement/place.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";

/** The most workers of the request, fewer than asked for, that could be placed now as it wishes. */
export function placeableNow(world: World, request: PlacementRequest): number {
  for (let workers = request.workers - 1; workers > 0; workers--) {
    const fewer = request.with({ workers });
    if (findPlacement(world, fewer) !== null) return workers;
  }
  return 0;
}
