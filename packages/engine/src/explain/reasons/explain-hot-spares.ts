/** Nodes that are kept as spares for work that loses nodes, where they keep other work waiting. */
import { fitsUsableFleet } from "../../placement/could-ever.ts";
import { findPlacement } from "../../placement/place.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import type { Verdict } from "../../contract/verdicts.ts";
import { FREEING } from "./wake-on.ts";

type BlockedRequest = Verdict & { readonly kind: "blocked" };

/** The spares, if it would fit now were they nodes like any other. */
export function explainHotSpares(world: World, request: PlacementRequest): BlockedRequest | null {
  const hotSpares = hotSparesFor(world, request);
  if (hotSpares.length === 0) return null;
  if (world.capacity.opened(hotSpares, () => findPlacement(world, request)) === null) return null;
  const { acceleratorTypes } = request;
  const reason = { kind: "hotSparesKept", acceleratorTypes, nodes: hotSpares.length } as const;
  return { kind: "blocked", reasons: [reason], wakeOn: [...FREEING, "poolDefined"] };
}

/** The same of work that the fleet could hold with its spares alone, and what `others` says would still keep it waiting. */
export function explainHotSparesAmong(
  world: World,
  request: PlacementRequest,
  others: () => BlockedRequest,
): BlockedRequest | null {
  const hotSpares = hotSparesFor(world, request);
  if (hotSpares.length === 0) return null;
  return world.capacity.opened(hotSpares, () => {
    if (!fitsUsableFleet(world, request)) return null;
    const { reasons, wakeOn } = others();
    const { acceleratorTypes } = request;
    const kept = { kind: "hotSparesKept", acceleratorTypes, nodes: hotSpares.length, suffice: false } as const;
    return { kind: "blocked", reasons: [kept, ...reasons], wakeOn: [...new Set([...wakeOn, "poolDefined" as const])] };
  });
}

function hotSparesFor({ capacity }: World, { acceleratorTypes }: PlacementRequest): readonly NodeSlot[] {
  if (capacity.hotSpares.size === 0) return [];
  const types = new Set(capacity.acceptable(acceleratorTypes).map(({ type }) => type));
  return [...capacity.hotSpares].filter(({ node }) => types.has(node.acceleratorType));
}
