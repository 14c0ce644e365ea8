/**
 * Reasons of capacity. `exceedsFleet`: even the empty fleet has too little; the reason names an amount, a MIG profile,
 * a type, or the constraint that leaves too little. `workerShortfall` and `partShortfall`: enough accelerators of one
 * type are free in total, but not all workers fit; the reason states how many fit and which resource the other workers
 * lack.
 */
import { findPlacement } from "../../placement/place.ts";
import { acceleratorsPerWorker, partsAsked } from "../../cluster/request.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import type { GangSpec, WorkloadSpec } from "../../model/workload.ts";
import type { BlockedReason, FleetLack } from "../../contract/verdicts.ts";
import { acceptedNodes } from "./accepted-nodes.ts";
import type { AcceptedNodes } from "./accepted-nodes.ts";
import { nodeResources } from "../../model/node-resources.ts";
import { WHOLE_MILLI } from "../../model/device-part.ts";
import { milliIn } from "../../model/gang.ts";
import { fitsUsableFleet, placeableAsWished } from "../../placement/could-ever.ts";
import { emptyFleetWorkers } from "../../placement/place-on-type.ts";
import { partOn } from "../../cluster/device-slices.ts";
import { openCount, slicesIn } from "../../model/mig.ts";

type WorkerShortfall = BlockedReason & { readonly kind: "workerShortfall" };

export function workerShortfall(
  world: World,
  request: PlacementRequest,
  accepted: readonly AcceptedNodes[],
): BlockedReason {
  const { gang, workers } = request;
  const { nodes: best, placeable } = accepted
    .map((nodes) => ({ nodes, placeable: nodes.placeable(gang) }))
    .reduce((left, right) => (right.placeable > left.placeable ? right : left));
  const base = { kind: "workerShortfall", workers, placeableWorkers: placeable, freeCount: best.freeCount } as const;
  const accelerators = { binding: "accelerators", neededPerWorker: acceleratorsPerWorker(world, request) } as const;
  if (placeable >= workers) {
    // The number of workers fits, but not under the gang's constraints.
    const constraint = unmetConstraint(request, (freer) => findPlacement(world, freer) !== null);
    const lying = { ...base, ...accelerators, placeableWorkers: placeableNow(world, request) };
    return constraint === null ? lying : { ...lying, binding: constraint };
  }
  const beside = shortBeside(world, request, (changes) => best.placeable({ ...gang, ...changes }) > placeable);
  if (beside !== null) return { ...base, ...beside };
  if (gang.profile !== undefined) return partShortfall(request, best, placeable);
  return { ...base, ...accelerators };
}

const withoutResources: Partial<GangSpec> = Object.assign({}, ...nodeResources.map(({ none }) => none));

/** The resource other than accelerators that further workers lack, or `null` if there is none. */
function shortBeside(
  world: World,
  request: PlacementRequest,
  helps: (changes: Partial<GangSpec>) => boolean,
): Pick<WorkerShortfall, "binding" | "neededPerWorker"> | null {
  const { gang } = request;
  const lacked = nodeResources.filter(({ none }) => helps(none));
  const [first, second] = lacked;
  if (first !== undefined && second === undefined) return { binding: first.name, neededPerWorker: first.asked(gang) };
  // For workers without accelerators, the shortage can only be stated as a whole: some nodes lack one resource, some
  // another, and some take no more workers.
  const isAlone = gang.accelerators === 0;
  if (isAlone || first !== undefined || helps(withoutResources))
    return { binding: "room", neededPerWorker: acceleratorsPerWorker(world, request) };
  return null;
}

type ExceedsFleet = BlockedReason & { readonly kind: "exceedsFleet" };

export function exceedsFleet(world: World, request: PlacementRequest): ExceedsFleet {
  const { gang, workers, acceleratorTypes } = request;
  const accepted = acceptedNodes(world, request);
  const byCounts = Math.max(0, ...accepted.map((nodes) => nodes.holds(gang)));
  // If the number of workers fits, but not under the request's constraints, only as many workers count as fit under the
  // constraints.
  const placeable = byCounts < workers ? byCounts : placeableAsWished(world, request);
  const counts = { workers, placeableWorkers: placeable };
  return { kind: "exceedsFleet", acceleratorTypes, ...counts, ...sums(world, request, accepted) };
}

/**
 * The reason for a task group that does not fit beside the other groups. It names the missing resource if the group
 * would not fit even alone.
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

/**
 * The resource of which the fleet has too little. `null` if the request, alone in the fleet, would fit under all its
 * constraints.
 */
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

const SLICES = 8;

/** Shortfall on nodes of one type. `placeableWorkers` is the number of workers that fit now. */
function partShortfall(
  { gang, workers }: PlacementRequest,
  accepted: AcceptedNodes,
  placeableWorkers: number,
): BlockedReason {
  const { profile = "" } = gang;
  let sliceCount = 0;
  let misalignedCount = 0;
  for (const slot of accepted.slots) {
    const part = partOn(slot.node, gang);
    if (part === undefined) continue;
    sliceCount = part.size;
    for (let index = 0; index < slot.totalCount; index++) {
      const taken = slot.slicesTaken(index, "idle");
      if (SLICES - slicesIn(taken) >= part.size && openCount(part, taken) === 0) misalignedCount++;
    }
  }
  return { kind: "partShortfall", profile, sliceCount, workers, placeableWorkers, misalignedCount };
}

type UnmetConstraint = "spread" | "fabric";

/**
 * The constraint between workers that blocks a request: without this one constraint the request would fit. `null` if
 * dropping a single constraint does not help.
 */
function unmetConstraint(
  request: PlacementRequest,
  fits: (freer: PlacementRequest) => boolean,
): UnmetConstraint | null {
  const { spread, fabric, ...rest } = request.spec;
  const freer = (spec: WorkloadSpec): PlacementRequest => request.with({ spec });
  if (spread !== undefined && fits(freer(fabric === undefined ? rest : { ...rest, fabric }))) return "spread";
  if (fabric !== undefined && fits(freer(spread === undefined ? rest : { ...rest, spread }))) return "fabric";
  return null;
}

/** The largest number of workers of the request, below its full number, that fits now under its constraints. */
export function placeableNow(world: World, request: PlacementRequest): number {
  for (let workers = request.workers - 1; workers > 0; workers--) {
    const fewer = request.with({ workers });
    if (findPlacement(world, fewer) !== null) return workers;
  }
  return 0;
}
