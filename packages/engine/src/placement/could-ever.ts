/** What the usable fleet could hold if nothing ran, with the wishes of the work: what could never start there waits aside. */
import { acceptedTypes } from "../model/gang.ts";
import { minWorkersOf } from "../model/workload.ts";
import type { WorkloadSpec } from "../model/workload.ts";
import type { TypeCapacity } from "../cluster/capacity.ts";
import { QueueBucket } from "../cluster/queue.ts";
import { SortedList } from "../base/collections/sorted-list.ts";
import type { World } from "../cluster/world.ts";
import type { WorkloadEntity } from "../state/state.ts";
import { fabricChoices } from "./fabric-choice.ts";
import { fewestDomains } from "./fabric-fewest.ts";
import { emptyFleetWorkers, emptyNodeWorkers, fitsEmptyFleet } from "./place-on-type.ts";
import { dataPlaces } from "./data-places.ts";
import { emptied } from "./empty-fleet.ts";
import { placeGroups } from "./place-groups.ts";
import { choicesOfHotSpares } from "./place-on-hot-spares.ts";
import { acceptableTypes, exceedsQuotas, isInGroups, quotaReached } from "../cluster/request.ts";
import type { Placement } from "../cluster/request.ts";
import { domainBudget, matches, withinBudget } from "./place-constrained.ts";
import type { Candidate } from "./place-constrained.ts";

export function couldEverFit(world: World, found: QueueBucket): boolean {
  if (found.fleetEpoch !== world.capacity.fleetEpoch) askFleet(world, found);
  return found.fitsFleet;
}

function askFleet(world: World, found: QueueBucket): void {
  const { capacity } = world;
  const fits = (): boolean => couldHold(world, found);
  found.fitsFleet = fits() || choicesOfHotSpares(world, found).some((hotSpares) => capacity.opened(hotSpares, fits));
  found.fleetEpoch = capacity.fleetEpoch;
}

const couldHold = (world: World, found: QueueBucket): boolean =>
  isInGroups(found)
    ? couldHoldGroups(world, found)
    : fitsEmptyFleet(world.capacity, found) && fitsAsWished(world, found, found.workers);

/** Whether the usable fleet could hold all groups of the gang at once if nothing ran; what runs is held. */
const couldHoldGroups = (world: World, found: QueueBucket): boolean =>
  found.isGrowth || placedOnEmptied(world, found, false) !== null;

/** Whether the usable fleet could hold the least of the work by counts, its wishes left aside; groups with all that they say. */
export function couldHoldByCounts(world: World, spec: WorkloadSpec): boolean {
  const { gang } = spec;
  if (isInGroups(spec)) return couldHoldGroups(world, unqueued(world, spec));
  return fitsEmptyFleet(world.capacity, { gang, acceleratorTypes: acceptedTypes(spec), workers: minWorkersOf(gang) });
}

/** The request of work that nobody has submitted. */
function unqueued(world: World, spec: WorkloadSpec): QueueBucket {
  const waiting = new SortedList<WorkloadEntity>(world.queue.compare);
  return new QueueBucket({ spec, actor: "" }, { rules: world.rules, growth: 0 }, waiting);
}

const placedOnEmptied = (world: World, found: QueueBucket, heedsQuotas: boolean): Placement | null =>
  world.calendar.leftAside(() => placeGroups(emptied(world), found, { layer: "idle", heedsQuotas }));

/**
 * Whether nothing but the quotas of its team and the teams above it keeps the class from every type that could hold it.
 * Asked for every blocked head of every round, so the fleet is looked at only where a quota is reached at all.
 */
export function isHeldByLimit(world: World, found: QueueBucket): boolean {
  if (isInGroups(found)) return !found.isGrowth && placedOnEmptied(world, found, true) === null;
  return isKeptOffEveryType(world, found, ({ type }) => quotaReached(world, found, type) !== null);
}

/** The same of what quotas keep out even where nobody holds anything; what others would lend its team is not looked at. */
export function isBeyondQuotas(world: World, found: QueueBucket): boolean {
  if (!world.teamUse.isBounded) return false;
  const isBeyond = (type: string): boolean => exceedsQuotas(world, found, type);
  if (isInGroups(found)) return isBeyond("");
  // Who lost workers may also go where nothing but spares could hold it.
  if (found.lostWorkers > 0) return acceptableTypes(world, found).every(({ type }) => isBeyond(type));
  return isKeptOffEveryType(world, found, ({ type }) => isBeyond(type));
}

/** Whether each type that could hold it is kept from it, and any is. */
function isKeptOffEveryType(world: World, found: QueueBucket, isKeptOff: (type: TypeCapacity) => boolean): boolean {
  const types = acceptableTypes(world, found);
  if (!types.some(isKeptOff)) return false;
  const hasConstraints = isBound(found.spec);
  const couldHoldOn = (type: TypeCapacity): boolean =>
    emptyFleetWorkers(type, found.gang) >= found.workers && (!hasConstraints || fitsOnType(world, found, type));
  return types.every((type) => isKeptOff(type) || !couldHoldOn(type));
}

/** How many workers the empty fleet holds as they wish, of one type, at most as many as are asked for at once. */
export function placeableAsWished(world: World, found: QueueBucket): number {
  for (let workers = found.workers; workers > 0; workers--) if (fitsAsWished(world, found, workers)) return workers;
  return 0;
}

/** Whether more than amounts decides where it may lie. */
const isBound = ({ fabric, spread, nodeSelector, data }: WorkloadSpec): boolean =>
  fabric !== undefined || spread !== undefined || nodeSelector !== undefined || data?.rule !== undefined;

function fitsAsWished(world: World, found: QueueBucket, workers: number): boolean {
  if (!isBound(found.spec) && workers === found.workers) return true;
  const request = workers === found.workers ? found : Object.assign(Object.create(found) as QueueBucket, { workers });
  return world.capacity.acceptable(found.acceleratorTypes).some((type) => fitsOnType(world, request, type));
}

function fitsOnType(world: World, found: QueueBucket, { slots }: TypeCapacity): boolean {
  const { fabric, spread, nodeSelector } = found.spec;
  const data = dataPlaces(world, found.spec);
  const candidates = slots
    .filter((slot) => slot.usable && (nodeSelector === undefined || matches(slot, nodeSelector)) && data.admits(slot))
    .map((slot): Candidate => ({ slot, fits: Math.min(found.workers, emptyNodeWorkers(slot, found.gang)) }))
    .filter(({ fits }) => fits > 0);
  if (fabric?.slices !== undefined) return fewestDomains(world, found, withinBudget(world, found, candidates)) !== null;
  for (const choice of fabricChoices(world, found, candidates)) {
    const budget = domainBudget(world, found);
    let room = 0;
    for (const { slot, fits } of choice) {
      const most = spread === undefined ? fits : Math.min(fits, budget.left(slot));
      budget.take(slot, most);
      room += most;
    }
    if (room >= found.workers) return true;
  }
  return false;
}
