/**
 * Names the resource of which even the empty fleet has too little for a request: an amount, a MIG profile, a type, or
 * capacity under the request's constraints.
 */
import { WHOLE_MILLI } from "../../model/device-part.ts";
import { milliIn } from "../../model/gang.ts";
import { fitsUsableFleet, placeableAsWished } from "../../placement/could-ever.ts";
import { emptyFleetWorkers } from "../../placement/place-on-type.ts";
import { acceleratorsPerWorker, partsAsked } from "../../cluster/request.ts";
import { partOn } from "../../cluster/device-slices.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import type { BlockedReason, FleetLack } from "../../contract/verdicts.ts";
import { acceptedNodes } from "./accepted-nodes.ts";
import type { AcceptedNodes } from "./accepted-nodes.ts";
import { unmetConstraint } from "./unmet-constraint.ts";
import { nodeResources } from "../../model/node-resources.ts";

type ExceedsFleet = BlockedReason & { readonly kind: "exceedsFleet" };

export function exceedsFleet(world: World, request: PlacementRequest): ExceedsFleet {
  const { gang, workers, acceleratorTypes } = request;
  const accepted = acceptedNodes(world, request);
  const byCounts = Math.max(0, ...accepted.map((nodes) => nodes.holds(gang)));
  // If the request fits by counts but not under its constraints, the constraints determine the number of workers that
  // fit.
  const placeable = byCounts < workers ? byCounts : placeableAsWished(world, request);
  const counts = { workers, placeableWorkers: placeable };
  return { kind: "exceedsFleet", acceleratorTypes, ...counts, ...sums(world, request, accepted) };
}

/**
 * For a task group that does not fit beside the other groups: the missing resource, if the group would not fit alone
 * either.
 */
export function exceedingGroup(empty: World, one: PlacementRequest, placeableWorkers: number): ExceedsFleet {
  const { workers, acceleratorTypes } = one;
  const counts = { workers, placeableWorkers };
  return { kind: "exceedsFleet", acceleratorTypes, ...counts, ...sums(empty, one, acceptedNodes(empty, one)) };
}

type Sums = Pick<ExceedsFleet, "neededCount" | "fleetCount" | "lack">;

function sums(world: World, request: PlacementRequest, accepted: readonly AcceptedNodes[]): Sums {
  const lack = lackOf(world, request, accepted);
  return {
    neededCount: milliIn(partsAsked(world, request)) / WHOLE_MILLI,
    fleetCount: Math.max(0, ...accepted.map(({ usableCount }) => usableCount)),
    ...(lack === null ? {} : { lack }),
  };
}

/** `null`: the request would fit alone, under all its constraints. */
function lackOf(world: World, request: PlacementRequest, accepted: readonly AcceptedNodes[]): FleetLack | null {
  const { gang, workers, spec } = request;
  if (accepted.length === 0) return { of: "type" };
  const holds = (changes: Partial<typeof gang>): number =>
    Math.max(0, ...accepted.map((nodes) => nodes.holds({ ...gang, ...changes })));
  const most = (of: Parameters<AcceptedNodes["most"]>[0]): number =>
    Math.max(0, ...accepted.map((nodes) => nodes.most(of)));
  const placeable = holds({});
  if (placeable >= workers) {
    const constraint = unmetConstraint(request, (freer) => fitsUsableFleet(world, freer));
    return constraint === null ? null : { of: constraint };
  }
  const isNarrowed = spec.nodeSelector !== undefined;
  if (isNarrowed && accepted.some(({ type }) => emptyFleetWorkers(type, gang) >= workers))
    return { of: "nodeSelector" };
  if (gang.profile !== undefined && most(({ node }) => (partOn(node, gang) === undefined ? 0 : 1)) === 0)
    return { of: "part", profile: gang.profile };
  const memory = gang.acceleratorMemoryMib ?? 0;
  const memoryMax = most(({ node }) => node.acceleratorMemoryMib ?? 0);
  if (memory > memoryMax) return { of: "acceleratorMemory", perWorker: memory, perNodeMax: memoryMax };
  for (const { name, asked, of, none } of nodeResources)
    if (holds(none) > placeable) return { of: name, perWorker: asked(gang), perNodeMax: most(({ node }) => of(node)) };
  const perWorker = acceleratorsPerWorker(world, request);
  return { of: "accelerators", perWorker, perNodeMax: most(({ totalCount }) => totalCount) };
}
