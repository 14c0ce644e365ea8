import { findPlacement } from "../../placement/place.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";

/** The largest number of workers of the request, below its full number, that fits now under its constraints. */
export function placeableNow(world: World, request: PlacementRequest): number {
  for (let workers = request.workers - 1; workers > 0; workers--) {
    const fewer = request.with({ workers });
    if (findPlacement(world, fewer) !== null) return workers;
  }
  return 0;
}
