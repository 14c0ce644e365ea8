/**
 * Chooses the position of a MIG instance: on a divided device rather than an undivided one, then at the position that
 * leaves the device the most positions for all profiles, then on the lowest accelerator and position. Positions are
 * counted instead of slices, because instances of equal size can block different numbers of positions.
 */
import { isOpen, migTable, positionsLost } from "@headroom/model";
import type { WorkerAllocation, WorkerShape } from "@headroom/model";
import { partOn } from "../cluster/device-slices.ts";
import { acceleratorSetOf } from "../cluster/node-slot.ts";
import type { Layer, NodeSlot } from "../cluster/node-slot.ts";

export interface PartSpot {
  readonly index: number;
  readonly slice: number;
  readonly digits: number;
  /** 1 if this would be the first instance on the device, else 0. */
  readonly divides: 0 | 1;
  /** Number of positions, over all profiles, that the instance would block. */
  readonly lost: number;
}

interface Sought {
  readonly shape: WorkerShape;
  readonly layer: Layer;
  /** Slices that count as taken in addition to the booked slices, by accelerator. */
  readonly given?: ReadonlyMap<number, number>;
}

/** The best position on one accelerator, or `null` if there is none. */
export function partOf(slot: NodeSlot, index: number, { shape, layer, given }: Sought): PartSpot | null {
  const part = partOn(slot.node, shape);
  const table = migTable(slot.node.mig);
  if (part === undefined || table === undefined) return null;
  const taken = slot.slicesTaken(index, layer) + (given?.get(index) ?? 0);
  let best: PartSpot | null = null;
  for (const place of part.places) {
    if (!isOpen(place, taken)) continue;
    const lost = positionsLost(table, taken, place.digits);
    if (best === null || lost < best.lost)
      best = { index, slice: place.start, digits: place.digits, divides: taken === 0 ? 1 : 0, lost };
  }
  return best;
}

/** The best position on a node, or `null` if there is none. */
export function bestPart(slot: NodeSlot, sought: Sought): PartSpot | null {
  let best: PartSpot | null = null;
  for (let index = 0; index < slot.totalCount; index++) {
    const spot = partOf(slot, index, sought);
    if (spot !== null && (best === null || isBetter(spot, best))) best = spot;
  }
  return best;
}

const isBetter = (left: PartSpot, right: PartSpot): boolean =>
  left.divides === right.divides ? left.lost < right.lost : left.divides < right.divides;

/**
 * MIG slices for several workers on one node, placed one after another. Returns fewer workers if not all of them fit.
 */
export function partsOn(slot: NodeSlot, count: number, { shape, layer }: Sought): WorkerAllocation[] {
  const given = new Map<number, number>();
  const workers: WorkerAllocation[] = [];
  while (workers.length < count) {
    const spot = bestPart(slot, { shape, layer, given });
    if (spot === null) break;
    give(given, spot);
    workers.push(partAt(slot, spot));
  }
  return workers;
}

/** Marks the slices of a position as taken. */
export const give = (given: Map<number, number>, { index, digits }: Pick<PartSpot, "index" | "digits">): void =>
  void given.set(index, (given.get(index) ?? 0) + digits);

export const partAt = ({ node }: NodeSlot, { index, slice }: PartSpot): WorkerAllocation => ({
  node: node.id,
  accelerators: acceleratorSetOf([index]),
  slice,
});
