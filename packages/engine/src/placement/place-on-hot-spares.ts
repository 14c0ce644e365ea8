/**
 * Places gangs that lost workers with their nodes on hot spares, both for replacements and for restarts. It uses as few
 * spares as possible, and never more than the lost workers need. A used spare becomes an ordinary node.
 */
import { takesWork } from "@headroom/model";
import type { WorkloadId } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { NodeSlot } from "../cluster/node-slot.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { World } from "../cluster/world.ts";
import { emptyNodeWorkers } from "./place-on-type.ts";
import { acceptableTypes, growingAttempt } from "../cluster/request.ts";
import type { Placement } from "../cluster/request.ts";

export interface PlacementOnHotSpares {
  readonly placement: Placement;
  /** The hot spares that the placement uses. */
  readonly taken: readonly NodeSlot[];
}

/** Maximum number of combinations of spares that are tried; a pool usually has only a few spares. */
const CHOICES_MAX = 64;

/** The result of `find` with some hot spares as ordinary nodes, or `null` if no combination of spares helps. */
export function placeOnHotSpares(
  world: World,
  request: PlacementRequest,
  find: (hotSpares: readonly NodeSlot[]) => Placement | null,
): PlacementOnHotSpares | null {
  for (const hotSpares of choicesOfHotSpares(world, request)) {
    const placement = world.capacity.opened(hotSpares, () => find(hotSpares));
    if (placement === null) continue;
    const nodes = new Set(placement.workers.map(({ node }) => node));
    return { placement, taken: hotSpares.filter(({ node }) => nodes.has(node.id)) };
  }
  return null;
}

/** Turns the spares into ordinary nodes. The caller records the placement that uses them next. */
export function takeHotSpares(batch: Batch, workloadId: WorkloadId, { taken }: PlacementOnHotSpares): void {
  for (const { node } of taken)
    batch.emit({
      kind: "hotSpareReleased",
      version: 1,
      atMs: batch.nowMs,
      nodeId: node.id,
      reason: "taken",
      workloadId,
    });
}

/**
 * Combinations of hot spares to try: single spares, then pairs, and so on up to the number that the lost workers need.
 * Only neighbours in the fabric are combined.
 */
export function choicesOfHotSpares(world: World, request: PlacementRequest): readonly (readonly NodeSlot[])[] {
  if (request.lostWorkers === 0 || world.capacity.hotSpares.size === 0) return [];
  const choices: NodeSlot[][] = [];
  for (const { type } of acceptableTypes(world, request)) {
    const hotSpares = hotSparesOf(world, request, type);
    const needed = neededOf(hotSpares, request);
    for (let count = 1; count <= needed; count++)
      for (let first = 0; first + count <= hotSpares.length; first++)
        choices.push(hotSpares.slice(first, first + count));
  }
  return choices.slice(0, CHOICES_MAX);
}

/**
 * Hot spares that could hold a worker. Those nearest to the running workers of the gang come first, then the order is
 * that of the fabric.
 */
function hotSparesOf(world: World, request: PlacementRequest, type: string): readonly NodeSlot[] {
  const [beside] = growingAttempt(world, request)?.workers ?? [];
  const near = beside === undefined ? [] : world.capacity.slot(beside.node).node.fabric;
  const able = [...world.capacity.hotSpares]
    .filter(({ node }) => node.acceleratorType === type && takesWork(node))
    .filter((slot) => emptyNodeWorkers(slot, request.gang) > 0)
    .toSorted((left, right) => left.node.ordinal - right.node.ordinal);
  // Spares of one domain are adjacent. Domains are ordered by the first node that joined each.
  return [...Map.groupBy(able, ({ node }) => JSON.stringify(node.fabric)).values()]
    .flat()
    .toSorted((left, right) => sharedDepth(right.node.fabric, near) - sharedDepth(left.node.fabric, near));
}

function sharedDepth(path: readonly string[], other: readonly string[]): number {
  let depth = 0;
  while (depth < other.length && path[depth] === other[depth]) depth++;
  return depth;
}

/** Number of spares that the lost workers need, at most all spares. */
function neededOf(hotSpares: readonly NodeSlot[], { gang, lostWorkers }: PlacementRequest): number {
  const smallestFirst = hotSpares.map((slot) => emptyNodeWorkers(slot, gang)).toSorted((left, right) => left - right);
  let left = lostWorkers;
  let needed = 0;
  while (left > 0 && needed < smallestFirst.length) left -= smallestFirst[needed++] as number;
  return needed;
}
