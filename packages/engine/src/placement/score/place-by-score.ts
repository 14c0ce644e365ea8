/**
 * Places requests without other constraints by the policy's scores, one worker after another. If the request names
 * types, the first type that holds the whole gang is used; otherwise nodes of all types are ranked together.
 */
import { hasFixedFraction, needsFraction, needsPart } from "@headroom/model";
import type { GangSpec, WorkerAllocation } from "@headroom/model";
import { workerAsk } from "../../state/demand-mix.ts";
import { acceleratorSetOf } from "../../cluster/node-slot.ts";
import type { TypeCapacity } from "../../cluster/capacity.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import { isUnconstrained } from "../filters/filters.ts";
import { acceptableTypes, quotaReached, wholeNeeded } from "../../cluster/request.ts";
import type { Placement } from "../../cluster/request.ts";
import { scoresOf } from "./score-index.ts";
import type { ScoredChoice } from "./score-index.ts";

/**
 * Returns whether the policy scores nodes for the workers of this gang. If all recent requests are for whole
 * accelerators, nodes are packed instead.
 */
export function isScored({ rules, state }: World, gang: GangSpec): boolean {
  // Scores consider free amounts, not MIG positions.
  if (needsPart(gang) && !hasFixedFraction(gang)) return false;
  const { placement } = rules;
  if (placement === "pack" || placement === "spread") return false;
  if (placement !== "balanced") return true;
  const asksForMore = needsFraction(gang) || gang.coresMilli > 0 || gang.memoryMib > 0;
  return asksForMore && state.demand !== null && state.demand.renewals > 0;
}

/** Returns whether the scores alone decide the placement. */
export const isPlacedByScore = (world: World, request: PlacementRequest): boolean =>
  !request.isGrowth && isScored(world, request.gang) && isUnconstrained(world, request);

export function placeByScore(world: World, request: PlacementRequest): Placement | null {
  const types = acceptableTypes(world, request).filter(({ type }) => quotaReached(world, request, type) === null);
  const needed = wholeNeeded(request);
  if (!types.some(({ freeCount }) => freeCount >= needed)) return null;
  if (request.acceleratorTypes.length === 0) return placeOnAny(world, request, types);
  for (const type of types) {
    const placement = placeOnAny(world, request, [type]);
    if (placement !== null) return placement;
  }
  return null;
}

/**
 * Places the gang on the accelerator type of the best node for the first worker. If that type does not hold the whole
 * gang, the type of the next best node is used.
 */
function placeOnAny(world: World, request: PlacementRequest, types: readonly TypeCapacity[]): Placement | null {
  const { gang } = request;
  const ask = workerAsk(gang);
  const first = scoresOf(world).choose(world, ask, types, 0);
  if (first === null) return null;
  const { type } = first;
  if (request.workers === 1) return { acceleratorType: type.type, workers: [workerOn(first, gang)] };
  const workers = placeRest(world, request, first);
  if (workers !== null) return { acceleratorType: type.type, workers };
  return placeOnAny(
    world,
    request,
    types.filter((other) => other !== type),
  );
}

/** Placed workers are booked as nominations until the gang is complete, then released. */
function placeRest(
  world: World,
  { gang, workers: count }: PlacementRequest,
  first: ScoredChoice,
): readonly WorkerAllocation[] | null {
  const { capacity } = world;
  const scores = scoresOf(world);
  const ask = workerAsk(gang);
  const workers: WorkerAllocation[] = [];
  for (let next: ScoredChoice | null = first; next !== null;) {
    const worker = workerOn(next, gang);
    capacity.nomination(gang, [worker], 1);
    workers.push(worker);
    next = workers.length === count ? null : scores.choose(world, ask, [first.type], workers.length);
  }
  capacity.nomination(gang, workers, -1);
  return workers.length === count ? workers : null;
}

function workerOn({ slot, accelerator }: ScoredChoice, gang: GangSpec): WorkerAllocation {
  const node = slot.node.id;
  if (accelerator >= 0) return { node, accelerators: acceleratorSetOf([accelerator]) };
  return { node, accelerators: gang.accelerators === 0 ? "" : slot.pick(0, gang.accelerators) };
}
