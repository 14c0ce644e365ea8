/**
 * Decides whether the usable fleet, if it were empty, could hold a request under its constraints. Rounds skip requests
 * that it could not hold.
 */
import { acceptedTypes, minWorkersOf } from "@headroom/model";
import type { WorkloadSpec } from "@headroom/model";
import type { TypeCapacity } from "../cluster/capacity.ts";
import { PlacementRequest } from "../cluster/placement-request.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { Slot } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";
import { fabricChoices } from "./fabric-choice.ts";
import { fewestDomains } from "./fabric-fewest.ts";
import { emptyFleetWorkers, emptyNodeWorkers } from "./place-on-type.ts";
import { withinOneExecutor } from "./filters/executor.ts";
import { acceptedBy, isConstrainedAlone } from "./filters/filters.ts";
import { emptied } from "./empty-fleet.ts";
import { placeGroups } from "./place-groups.ts";
import { choicesOfHotSpares } from "./place-on-hot-spares.ts";
import { spentBudget } from "../usage/gate.ts";
import { acceptableTypes, amountAsked, isInGroups, quotaExceededAlone, quotaReached } from "../cluster/request.ts";
import type { Placement } from "../cluster/request.ts";
import { domainBudget, isLimited, withinBudget } from "./place-constrained.ts";
import type { Candidate } from "./place-constrained.ts";
import { metersFor } from "./power-budget.ts";

interface FleetFit {
  readonly fleetEpoch: number;
  readonly fits: boolean;
}

/** The cached answer whether the usable fleet could hold the bucket's request, as of a `Capacity.fleetEpoch`. */
const fleetFit: Slot<FleetFit> = new Slot(() => ({ fleetEpoch: -1, fits: false }), { survivesUndo: true });

export function couldEverFit(world: World, bucket: QueueBucket): boolean {
  const known = knownFit(world, bucket);
  if (known !== null) return known;
  const fits = fitsUsableFleet(world, bucket.request);
  rememberFit(world, bucket, fits);
  return fits;
}

/** The cached answer of `couldEverFit`; `null` if there is none for the present fleet. */
export function knownFit(world: World, { memo, request }: QueueBucket): boolean | null {
  const { capacity } = world;
  const { fleetEpoch, fits } = memo.get(fleetFit);
  if (fleetEpoch === capacity.fleetEpoch) return fits;
  // A plan that opens hot spares has a negative epoch. Task groups and slices are placed greedily, so a further node
  // may lead to a choice that fails. A further node also draws power of its domains.
  const isGreedy =
    isInGroups(request) || request.spec.fabric?.slices !== undefined || metersFor(world, request) !== null;
  const onlyGrew = capacity.fleetEpoch >= 0 && fleetEpoch >= capacity.growingSinceEpoch;
  return fits && onlyGrew && !isGreedy ? true : null;
}

export function rememberFit({ capacity }: World, { memo }: QueueBucket, fits: boolean): void {
  memo.set(fleetFit, { fleetEpoch: capacity.fleetEpoch, fits });
}

/** Like `couldEverFit`, for any request, without a cache. */
export function fitsUsableFleet(world: World, request: PlacementRequest): boolean {
  const fits = (): boolean => withinOneExecutor(world, request).some((one) => couldHold(world, one));
  return fits() || choicesOfHotSpares(world, request).some((hotSpares) => world.capacity.opened(hotSpares, fits));
}

const couldHold = (world: World, request: PlacementRequest): boolean =>
  isInGroups(request)
    ? couldHoldGroups(world, request)
    : fitsByCounts(world, request) && fitsAsWished(world, request, request.workers);

/**
 * Returns whether one accepted accelerator type has enough capacity for the workers in the empty fleet. Constraints are
 * ignored.
 */
function fitsByCounts(
  { capacity }: World,
  { gang, acceleratorTypes, workers }: Pick<PlacementRequest, "gang" | "acceleratorTypes" | "workers">,
): boolean {
  for (const type of capacity.acceptable(acceleratorTypes)) if (emptyFleetWorkers(type, gang) >= workers) return true;
  return false;
}

/** Returns whether the usable fleet, if it were empty, could hold all task groups of the gang at once. */
const couldHoldGroups = (world: World, request: PlacementRequest): boolean =>
  request.isGrowth || placedOnEmptied(world, request, false) !== null;

/**
 * Returns whether the empty usable fleet could hold the minimum of the workload's gang. Constraints are ignored, except
 * for gangs with task groups.
 */
export function couldHoldByCounts(world: World, spec: WorkloadSpec): boolean {
  const { gang } = spec;
  if (isInGroups(spec)) return couldHoldGroups(world, unqueued(world, spec));
  return fitsByCounts(world, { gang, acceleratorTypes: acceptedTypes(spec), workers: minWorkersOf(gang) });
}

/** The request of a workload that is not in the queue. */
const unqueued = ({ rules }: World, spec: WorkloadSpec): PlacementRequest =>
  PlacementRequest.of({ spec, actor: "" }, { rules });

const placedOnEmptied = (world: World, request: PlacementRequest, heedsQuotas: boolean): Placement | null =>
  world.calendar.leftAside(() => placeGroups(emptied(world), request, { layer: "idle", heedsQuotas }));

/**
 * Returns whether only quotas block the request: on each accelerator type that could hold it, a quota of its team or of
 * a team above is reached. This is called for every blocked request of every round, so the fleet is read only if a
 * quota is reached.
 */
export function isHeldByLimit(world: World, request: PlacementRequest): boolean {
  if (isInGroups(request)) return !request.isGrowth && placedOnEmptied(world, request, true) === null;
  if (!world.teamUse.isBounded && spentBudget(world.state, request.team) === null) return false;
  return isKeptOffEveryType(world, request, ({ type }) => quotaReached(world, request, type) !== null);
}

/** Like `isHeldByLimit`, but for quotas that the request exceeds even if its team uses nothing. */
export function isBeyondQuotas(world: World, request: PlacementRequest): boolean {
  if (!world.teamUse.isBounded) return false;
  const isBeyond = (type: string): boolean =>
    quotaExceededAlone(world, request, amountAsked(world, request, type)) !== null;
  if (isInGroups(request)) return isBeyond("");
  // A gang that lost workers may also use hot spares.
  if (request.lostWorkers > 0) return acceptableTypes(world, request).every(({ type }) => isBeyond(type));
  return isKeptOffEveryType(world, request, ({ type }) => isBeyond(type));
}

/** Returns whether some accelerator type is blocked, and every type that could hold the request is blocked. */
function isKeptOffEveryType(
  world: World,
  request: PlacementRequest,
  isKeptOff: (type: TypeCapacity) => boolean,
): boolean {
  const types = acceptableTypes(world, request);
  if (!types.some(isKeptOff)) return false;
  const hasConstraints = isConstrainedAlone(world, request);
  const couldHoldOn = (type: TypeCapacity): boolean =>
    emptyFleetWorkers(type, request.gang) >= request.workers && (!hasConstraints || fitsOnType(world, request, type));
  return types.every((type) => isKeptOff(type) || !couldHoldOn(type));
}

/**
 * The largest number of workers, up to the requested number, that the empty fleet could hold on one accelerator type
 * under the request's constraints.
 */
export function placeableAsWished(world: World, request: PlacementRequest): number {
  for (let workers = request.workers; workers > 0; workers--) if (fitsAsWished(world, request, workers)) return workers;
  return 0;
}

function fitsAsWished(world: World, request: PlacementRequest, workers: number): boolean {
  if (!isConstrainedAlone(world, request) && workers === request.workers) return true;
  const asked = workers === request.workers ? request : request.with({ workers });
  return world.capacity.acceptable(request.acceleratorTypes).some((type) => fitsOnType(world, asked, type));
}

const fitsOnType = (world: World, request: PlacementRequest, type: TypeCapacity): boolean =>
  withinOneExecutor(world, request).some((one) => fitsOnAccepted(world, one, type));

function fitsOnAccepted(world: World, request: PlacementRequest, { slots }: TypeCapacity): boolean {
  const { fabric } = request.spec;
  const limits = isLimited(world, request);
  // Where caps cross, another order of the nodes may hold more, so the watts of each node count alone.
  const addsUpPower = metersFor(world, request)?.areCrossing !== true;
  const accepts = acceptedBy(world, request);
  const candidates = slots
    .filter((slot) => slot.usable && accepts(slot))
    .map((slot): Candidate => ({ slot, fits: Math.min(request.workers, emptyNodeWorkers(slot, request.gang)) }))
    .filter(({ fits }) => fits > 0);
  if (fabric?.slices !== undefined)
    return fewestDomains(world, request, withinBudget(world, request, { candidates, layer: "empty" })) !== null;
  for (const choice of fabricChoices(world, request, candidates)) {
    const budget = domainBudget(world, request, "empty", { addsUpPower });
    let room = 0;
    for (const { slot, fits } of choice) {
      const most = limits ? Math.min(fits, budget.left(slot)) : fits;
      budget.take(slot, most);
      room += most;
    }
    if (room >= request.workers) return true;
  }
  return false;
}
