/** Tells work that waits from work that can never start while fleet, limits and policy stay as they are. */
import type { BlockedReason } from "../../contract/verdicts.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import { isBeyondQuotas } from "../../placement/could-ever.ts";

/**
 * Whether no end of other work can place the request: it exceeds the empty fleet, alone exceeds the quotas on every
 * accelerator type that could hold it, or exceeds its team's reserved topology. A request that waits for an accelerator
 * type on request (`waitForType`) is not among these. `couldEver`: whether the usable fleet, if empty, could hold the
 * request.
 */
export function canNeverBePlaced(
  world: World,
  request: PlacementRequest,
  couldEver: boolean,
  reasons: readonly BlockedReason[],
): boolean {
  const [first] = reasons;
  if (!couldEver) {
    const lacksType = first?.kind === "exceedsFleet" && first.lack?.of === "type";
    return !(lacksType && request.spec.waitForType === true);
  }
  if (first?.kind === "reservedTopology") return first.team === null || first.neededCount > first.ownedCount;
  return isBeyondQuotas(world, request);
}
