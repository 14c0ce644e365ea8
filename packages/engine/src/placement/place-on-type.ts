/** Placement of a gang's workers on one accelerator type, and the number of workers that fit there. */
import { WHOLE_MILLI, fractionOn, needsFraction, needsPart, nodeResources, openCount } from "@headroom/model";
import type { AttemptId, GangSpec, WorkerAllocation, NodeSet } from "@headroom/model";
import type { TypeCapacity } from "../cluster/capacity.ts";
import type { Layer, NodeSlot } from "../cluster/node-slot.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { World } from "../cluster/world.ts";
import { withinOneExecutor } from "./filters/executor.ts";
import { isUnconstrained } from "./filters/filters.ts";
import { placeConstrained } from "./place-constrained.ts";
import { isScored } from "./score/place-by-score.ts";
import { partOn } from "../cluster/device-slices.ts";

export interface Where {
  readonly type: TypeCapacity;
  readonly layer: Layer;
  /** Attempts that the plan already treats as opportunistic, if any. */
  readonly relabelled?: ReadonlySet<AttemptId>;
}

export function placeOnType(world: World, request: PlacementRequest, where: Where): readonly WorkerAllocation[] | null {
  for (const one of withinOneExecutor(world, request)) {
    const workers = placeWithinOne(world, one, where);
    if (workers !== null) return workers;
  }
  return null;
}

function placeWithinOne(world: World, request: PlacementRequest, where: Where): readonly WorkerAllocation[] | null {
  if (where.layer !== "idle" || !isPlacedByCounts(world, request)) return placeConstrained(world, request, where);
  const { gang, workers: count } = request;
  const isPacking = world.rules.placement !== "spread";
  return count === 1 ? placeOne(where.type, gang, isPacking) : placeSeveral(where.type, request, isPacking);
}

/** Returns whether the index of free counts suffices, so that nodes need not be read. */
const isPlacedByCounts = (world: World, request: PlacementRequest): boolean =>
  !request.isGrowth && !needsPart(request.gang) && !isScored(world, request.gang) && isUnconstrained(world, request);

function placeSeveral(
  type: TypeCapacity,
  { gang, workers: count }: PlacementRequest,
  isPacking: boolean,
): readonly WorkerAllocation[] | null {
  const workers: WorkerAllocation[] = [];
  visitNodes(type, gang, isPacking, (slot) => {
    const fits = slot.workersThatFit(gang, count - workers.length);
    for (let index = 0; index < fits; index++) workers.push(workerOn(slot, gang, index));
    return workers.length < count;
  });
  return workers.length === count ? workers : null;
}

/** Fast path for one worker, the most frequent case: no array grows. */
function placeOne(type: TypeCapacity, gang: GangSpec, isPacking: boolean): readonly WorkerAllocation[] | null {
  for (
    let free = firstCount(type, gang, isPacking);
    free >= gang.accelerators;
    free = nextCount(type, free, isPacking)
  ) {
    const nodes = type.byFree[free] as NodeSet;
    for (let position = nodes.next(0); position >= 0; position = nodes.next(position + 1)) {
      const slot = type.slots[position] as NodeSlot;
      if (slot.workersThatFit(gang, 1) > 0) return [workerOn(slot, gang, 0)];
    }
  }
  return null;
}

const workerOn = (slot: NodeSlot, gang: GangSpec, index: number): WorkerAllocation => ({
  node: slot.node.id,
  accelerators: gang.accelerators === 0 ? "" : slot.pick(index * gang.accelerators, gang.accelerators),
});

/** Number of workers of the gang that fit on one type now, at most the size of the gang. */
export function placeableWorkers(type: TypeCapacity, gang: GangSpec): number {
  let count = 0;
  const needed = needsPart(gang) ? { ...gang, accelerators: 0 } : gang;
  visitNodes(type, needed, true, (slot) => {
    count += slot.workersThatFit(gang, gang.workers - count);
    return count < gang.workers;
  });
  return count;
}

/**
 * Visits usable nodes with enough free accelerators for one worker, fullest or emptiest first, until `visit` returns
 * false.
 */
function visitNodes(type: TypeCapacity, gang: GangSpec, isPacking: boolean, visit: (slot: NodeSlot) => boolean): void {
  for (
    let free = firstCount(type, gang, isPacking);
    free >= gang.accelerators;
    free = nextCount(type, free, isPacking)
  ) {
    const nodes = type.byFree[free] as NodeSet;
    for (let position = nodes.next(0); position >= 0; position = nodes.next(position + 1)) {
      if (!visit(type.slots[position] as NodeSlot)) return;
    }
  }
}

/**
 * Number of free accelerators of the nodes at which the search begins: the smallest number that holds a worker, or the
 * largest.
 */
const firstCount = ({ freeCounts, perNodeMax }: TypeCapacity, { accelerators }: GangSpec, isPacking: boolean): number =>
  isPacking ? freeCounts.next(accelerators) : freeCounts.previous(perNodeMax);

const nextCount = ({ freeCounts }: TypeCapacity, free: number, isPacking: boolean): number =>
  isPacking ? freeCounts.next(free + 1) : freeCounts.previous(free - 1);

/**
 * Number of workers of the gang that the usable nodes of a type would hold if they were empty, at most `gang.workers`.
 */
export function emptyFleetWorkers({ slots }: { readonly slots: readonly NodeSlot[] }, gang: GangSpec): number {
  let count = 0;
  for (const slot of slots) {
    if (count >= gang.workers) break;
    if (slot.usable) count += Math.min(gang.workers - count, emptyNodeWorkers(slot, gang));
  }
  return count;
}

export function emptyNodeWorkers(slot: NodeSlot, gang: GangSpec): number {
  const { acceleratorCount, workersMax } = slot.node;
  let fits = Math.min(gang.workers, workersMax ?? gang.workers);
  if (gang.accelerators > 0) fits = Math.min(fits, workersOnEmpty(slot, acceleratorCount, gang));
  for (const { asked, of } of nodeResources) {
    const needed = asked(gang);
    if (needed > 0) fits = Math.min(fits, Math.floor(of(slot.node) / needed));
  }
  return fits;
}

function workersOnEmpty({ node }: NodeSlot, count: number, gang: GangSpec): number {
  if (gang.profile !== undefined) {
    const part = partOn(node, gang);
    return part === undefined ? 0 : count * openCount(part, 0);
  }
  if (needsFraction(gang)) return count * Math.floor(WHOLE_MILLI / fractionOn(gang, node));
  return Math.floor(count / gang.accelerators);
}
