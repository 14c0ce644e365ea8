/**
 * Reason `reservedTopology`: guaranteed work waits although accelerators are idle, because its team's reserved topology
 * is in use.
 */
import { acceleratorsIn } from "@headroom/model";
import type { BlockedReason } from "@headroom/model";
import { cellTreeOf } from "./cells.ts";
import { guaranteedWorkers, ownerOf, shapesOn } from "./ownership.ts";
import { isGuaranteedRequest } from "./place-in-cells.ts";
import { acceptableTypes, partsAsked } from "../../cluster/request.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";

/**
 * The reason `reservedTopology`, or `null` if the request does not depend on reserved topology. The counts in the
 * reason are those of one accepted accelerator type: the type of which the team owns most accelerators.
 */
export function explainReservedTopology(world: World, request: PlacementRequest): BlockedReason | null {
  if (!isGuaranteedRequest(world, request)) return null;
  const team = ownerOf(world, request.team);
  let ownedCount = 0;
  let heldCount = 0;
  for (const type of acceptableTypes(world, request)) {
    const tree = cellTreeOf(world, type);
    const owned = shapesOn(world, tree, type.type)
      .filter(({ owner }) => owner === team)
      .reduce((sum, { shape }) => sum + shape.accelerators * shape.count, 0);
    if (owned <= ownedCount) continue;
    ownedCount = owned;
    heldCount = guaranteedWorkers(world, tree, type, new Set())
      .filter(({ owner }) => owner === team)
      .reduce((sum, { leaves }) => sum + leaves.length, 0);
  }
  const neededCount = acceleratorsIn(partsAsked(world, request));
  return { kind: "reservedTopology", team, neededCount, ownedCount, heldCount };
}
