/**
 * Where a gang goes: all of its workers or none, all on one accelerator type. Reads indexes only; the caller emits the
 * event. `verify/placement.ts` checks the result against the rules without using this file.
 */
import type { GangSpec, WorkerAllocation } from "../model/workload.ts";
import type { Policy } from "../policy/policy.ts";
import type { Capacity, NodeSlot, TypeCapacity } from "../state/capacity.ts";
import type { NodeSet } from "../state/node-set.ts";
import type { PlacementClass } from "../state/queue.ts";
import type { World } from "../state/world.ts";

export interface Placement {
  readonly acceleratorType: string;
  readonly workers: readonly WorkerAllocation[];
}

/** The most preferred type that holds the whole gang and whose limits its team keeps; `null` if none does. */
export function findPlacement(
  { capacity, teamUse, state }: World,
  { team, gang, acceleratorTypes }: PlacementClass,
): Placement | null {
  const neededCount = gang.workers * gang.accelerators;
  for (const type of capacity.acceptable(acceleratorTypes)) {
    if (type.freeCount < neededCount || teamUse.limitReached(team, type.type, neededCount) !== null) continue;
    const workers = placeOnType(type, gang, state.policy.placement);
    if (workers !== null) return { acceleratorType: type.type, workers };
  }
  return null;
}

function placeOnType(
  type: TypeCapacity,
  gang: GangSpec,
  order: Policy["placement"],
): readonly WorkerAllocation[] | null {
  if (gang.workers === 1) return placeOne(type, gang, order);
  const workers: WorkerAllocation[] = [];
  visitNodes(type, gang, order, (slot) => {
    const count = slot.workersThatFit(gang, gang.workers - workers.length);
    for (let index = 0; index < count; index++) workers.push(workerOn(slot, gang, index));
    return workers.length < gang.workers;
  });
  return workers.length === gang.workers ? workers : null;
}

/** The common case without a growing array: most work is one worker. */
function placeOne(type: TypeCapacity, gang: GangSpec, order: Policy["placement"]): readonly WorkerAllocation[] | null {
  let found: NodeSlot | null = null;
  visitNodes(type, gang, order, (slot) => {
    if (slot.workersThatFit(gang, 1) === 0) return true;
    found = slot;
    return false;
  });
  return found === null ? null : [workerOn(found, gang, 0)];
}

const workerOn = (slot: NodeSlot, gang: GangSpec, index: number): WorkerAllocation => ({
  node: slot.node.id,
  accelerators: gang.accelerators === 0 ? "" : slot.pick(index * gang.accelerators, gang.accelerators),
});

/** How many workers of the gang fit now on one type, at most `gang.workers`. */
export function placeableWorkers(type: TypeCapacity, gang: GangSpec): number {
  let count = 0;
  visitNodes(type, gang, "pack", (slot) => {
    count += slot.workersThatFit(gang, gang.workers - count);
    return count < gang.workers;
  });
  return count;
}

/** Usable nodes with enough free accelerators for one worker, in the policy's order, while `visit` returns true. */
function visitNodes(
  type: TypeCapacity,
  gang: GangSpec,
  order: Policy["placement"],
  visit: (slot: NodeSlot) => boolean,
): void {
  const { freeCounts } = type;
  const isPacking = order === "pack";
  let free = isPacking ? freeCounts.next(gang.accelerators) : freeCounts.previous(type.perNodeMax);
  for (; free >= gang.accelerators; free = isPacking ? freeCounts.next(free + 1) : freeCounts.previous(free - 1)) {
    const nodes = type.byFree[free] as NodeSet;
    for (let position = nodes.next(0); position >= 0; position = nodes.next(position + 1)) {
      if (!visit(type.slots[position] as NodeSlot)) return;
    }
  }
}

/**
 * Whether nothing but the limits of its team and the teams above it keeps the class from every type that could hold it.
 * Asked for every blocked head of every round, so the fleet is looked at only where a limit is reached at all.
 */
export function isHeldByLimit(world: World, found: PlacementClass): boolean {
  for (const type of world.capacity.acceptable(found.acceleratorTypes)) {
    if (isLimitReached(world, found, type)) return isHeldOnEveryType(world, found);
  }
  return false;
}

function isHeldOnEveryType(world: World, found: PlacementClass): boolean {
  const couldHold = (type: TypeCapacity): boolean => emptyFleetWorkers(type, found.gang) >= found.gang.workers;
  return world.capacity
    .acceptable(found.acceleratorTypes)
    .every((type) => isLimitReached(world, found, type) || !couldHold(type));
}

function isLimitReached({ teamUse }: World, { team, gang }: PlacementClass, { type }: TypeCapacity): boolean {
  return teamUse.limitReached(team, type, gang.workers * gang.accelerators) !== null;
}

/** How many workers of the gang the usable nodes of a type would hold if they were empty, at most `gang.workers`. */
export function emptyFleetWorkers(type: TypeCapacity, gang: GangSpec): number {
  let count = 0;
  for (const slot of type.slots) {
    if (count >= gang.workers) break;
    if (!slot.usable) continue;
    const { acceleratorCount, coresMilli, memoryMib } = slot.node;
    let fits = gang.workers - count;
    if (gang.accelerators > 0) fits = Math.min(fits, Math.floor(acceleratorCount / gang.accelerators));
    if (gang.coresMilli > 0) fits = Math.min(fits, Math.floor(coresMilli / gang.coresMilli));
    if (gang.memoryMib > 0) fits = Math.min(fits, Math.floor(memoryMib / gang.memoryMib));
    count += fits;
  }
  return count;
}

/** Whether the usable fleet could hold the gang if it were empty. */
export function fitsEmptyFleet(capacity: Capacity, gang: GangSpec, acceleratorTypes: readonly string[]): boolean {
  return capacity.acceptable(acceleratorTypes).some((type) => emptyFleetWorkers(type, gang) >= gang.workers);
}
