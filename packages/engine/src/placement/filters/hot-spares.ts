import type { BlockedReason } from "@headroom/model";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import type { Filter } from "./filter.ts";

/**
 * Excludes hot spares, except for workloads that lost workers with their nodes (`NodeSlot.usable`,
 * `place-on-hot-spares.ts`).
 */
export const hotSpares: Filter = {
  signature: ({ lostWorkers }) => lostWorkers,
  check: "index",
  wakeOn: ["poolDefined"],
  explain: ({ world, request, place }) => {
    const kept = hotSparesFor(world, request);
    if (kept.length === 0 || world.capacity.opened(kept, () => place(request)) === null) return null;
    return { reasons: [hotSparesKept(request, kept)] };
  },
};

export const hotSparesKept = (
  { acceleratorTypes }: PlacementRequest,
  { length: nodes }: readonly NodeSlot[],
): BlockedReason & { readonly kind: "hotSparesKept" } => ({ kind: "hotSparesKept", acceleratorTypes, nodes });

/** Hot spares of the types that the request accepts, except those that a plan treats as ordinary nodes. */
export function hotSparesFor({ capacity }: World, { acceleratorTypes }: PlacementRequest): readonly NodeSlot[] {
  if (capacity.hotSpares.size === 0) return [];
  const types = new Set(capacity.acceptable(acceleratorTypes).map(({ type }) => type));
  return [...capacity.hotSpares].filter(({ node, isOpened }) => !isOpened && types.has(node.acceleratorType));
}
