/**
 * Placement of a gang: all requested workers or none, all on one accelerator type. Reads indexes only; the caller emits
 * the event. `placement/verify/placement.ts` verifies the result without using this file.
 */
import type { Layer } from "../cluster/node-slot.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { World } from "../cluster/world.ts";
import { dataPlaces } from "./filters/data-places.ts";
import { placeGroups } from "./place-groups.ts";
import { placeOnType } from "./place-on-type.ts";
import { acceptableTypes, isInGroups, quotaReached, wholeNeeded } from "../cluster/request.ts";
import type { Placement } from "../cluster/request.ts";
import { isPlacedByScore, placeByScore } from "./score/place-by-score.ts";

/**
 * A placement on the most preferred accelerator type that holds all requested workers within the quotas, or `null` if
 * no type does.
 */
export function findPlacement(world: World, request: PlacementRequest, layer: Layer = "idle"): Placement | null {
  if (isInGroups(request)) return placeGroups(world, request, { layer, heedsQuotas: true });
  if (layer === "idle" && isPlacedByScore(world, request)) return placeByScore(world, request);
  // A request that names no accelerator types prefers types near its input data. Other requests use their own order of
  // types.
  if (request.spec.data !== undefined && request.acceleratorTypes.length === 0)
    for (const inputsHeldMin of dataPlaces(world, request.spec).tiers.slice(0, -1)) {
      const near = request.with({ inputsHeldMin });
      const placement = findOnTypes(world, near, layer);
      if (placement !== null) return placement;
    }
  return findOnTypes(world, request, layer);
}

function findOnTypes(world: World, request: PlacementRequest, layer: Layer): Placement | null {
  const neededCount = wholeNeeded(request);
  for (const type of acceptableTypes(world, request)) {
    const free = type.freeCount + (layer === "idle" ? 0 : type.releasingCount);
    if (free < neededCount || quotaReached(world, request, type.type) !== null) continue;
    const workers = placeOnType(world, request, { type, layer });
    if (workers !== null) return { acceleratorType: type.type, workers };
  }
  return null;
}
