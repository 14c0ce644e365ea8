/**
 * Where a gang goes: all of the workers asked for or none, all on one accelerator type. Reads indexes only; the caller emits
 * the event. `placement/verify/placement.ts` checks the result against the rules without using this file.
 */
import type { Layer } from "../cluster/node-slot.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";
import { dataPlaces } from "./data-places.ts";
import { placeGroups } from "./place-groups.ts";
import { placeOnType } from "./place-on-type.ts";
import { acceptableTypes, isInGroups, quotaReached, wholeNeeded } from "../cluster/request.ts";
import type { Placement } from "../cluster/request.ts";
import { isPlacedByScore, placeByScore } from "./score/place-by-score.ts";

/** The most preferred type that holds all workers asked for and whose quotas allow it; `null` if none does. */
export function findPlacement(world: World, found: QueueBucket, layer: Layer = "idle"): Placement | null {
  if (isInGroups(found)) return placeGroups(world, found, { layer, heedsQuotas: true });
  if (layer === "idle" && isPlacedByScore(world, found)) return placeByScore(world, found);
  // Who will do with any type goes by where the inputs lie first, the others by their preference.
  if (found.spec.data !== undefined && found.acceleratorTypes.length === 0)
    for (const inputsHeldMin of dataPlaces(world, found.spec).tiers.slice(0, -1)) {
      const near = Object.assign(Object.create(found) as QueueBucket, { inputsHeldMin });
      const placement = findOnTypes(world, near, layer);
      if (placement !== null) return placement;
    }
  return findOnTypes(world, found, layer);
}

function findOnTypes(world: World, found: QueueBucket, layer: Layer): Placement | null {
  const neededCount = wholeNeeded(found);
  for (const type of acceptableTypes(world, found)) {
    const free = type.freeCount + (layer === "idle" ? 0 : type.releasingCount);
    if (free < neededCount || quotaReached(world, found, type.type) !== null) continue;
    const workers = placeOnType(world, found, { type, layer });
    if (workers !== null) return { acceleratorType: type.type, workers };
  }
  return null;
}
