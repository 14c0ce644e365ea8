/** Free capacity in the cells of one accelerator type, updated while a request is placed worker by worker. */
import { fractionOn, needsFraction } from "@headroom/model";
import type { GangSpec, WorkerAllocation } from "@headroom/model";
import { sizeOf } from "./cell-tree.ts";
import { around } from "./cell-tree.ts";
import type { Cell, CellTree } from "./cell-tree.ts";
import type { Layer, NodeSlot } from "../../cluster/node-slot.ts";
import { partOf } from "../../placement/place-parts.ts";
import type { PartSpot } from "../../placement/place-parts.ts";
import type { Candidate } from "../../placement/place-constrained.ts";

export interface Offer {
  readonly candidates: readonly Candidate[];
  readonly layer: Layer;
  readonly gang: GangSpec;
}

/** Accelerators for one worker, and the smallest cell that holds them. */
export interface Picked {
  readonly cell: Cell;
  readonly leaves: readonly number[];
}

export class Room {
  readonly #tree: CellTree;
  readonly #gang: GangSpec;
  /** `#isFree` is 1 for each accelerator that a worker could use. `#isIdle` is 1 for each of these that is idle now. */
  readonly #isFree: Uint8Array;
  readonly #isIdle: Uint8Array;
  /** Number of accelerators in each cell that a worker could use. */
  readonly #freeIn: Int32Array;
  /** Number of further workers that fit on each node by resources other than accelerators. */
  readonly #fits = new Map<NodeSlot, number>();
  /**
   * The parts of shared accelerators that workers of the request already use. The value is in thousandths, or has a
   * hexadecimal digit for each slice of a MIG device.
   */
  readonly #given = new Map<number, number>();
  readonly #layer: Layer;

  constructor(tree: CellTree, { candidates, layer, gang }: Offer) {
    this.#tree = tree;
    this.#gang = gang;
    this.#layer = layer;
    this.#isFree = new Uint8Array(tree.leaves.length);
    this.#isIdle = new Uint8Array(tree.leaves.length);
    this.#freeIn = new Int32Array(tree.cells.length);
    for (const { slot, fits } of candidates) {
      this.#fits.set(slot, fits);
      const node = tree.nodeCells.get(slot.node.id);
      if (node === undefined) continue;
      for (let leaf = node.first; leaf < node.end; leaf++) {
        if (!this.#couldTake(leaf, layer)) continue;
        this.#count(leaf, 1);
        this.#isIdle[leaf] = Number(layer === "idle" || this.#couldTake(leaf, "idle"));
      }
    }
  }

  #couldTake(leaf: number, layer: Layer): boolean {
    const slot = (this.#tree.leaves[leaf] as Cell).slot as NodeSlot;
    const index = this.#tree.indices[leaf] as number;
    if (this.#gang.profile !== undefined) return this.#partOf(leaf, layer) !== null;
    if (!needsFraction(this.#gang)) return slot.isWhole(index, layer);
    return slot.room(index, layer) - (this.#given.get(leaf) ?? 0) >= fractionOn(this.#gang, slot.node);
  }

  #partOf(leaf: number, layer: Layer): PartSpot | null {
    const slot = (this.#tree.leaves[leaf] as Cell).slot as NodeSlot;
    const index = this.#tree.indices[leaf] as number;
    return partOf(slot, index, { shape: this.#gang, layer, given: new Map([[index, this.#given.get(leaf) ?? 0]]) });
  }

  #count(leaf: number, sign: 1 | -1): void {
    this.#isFree[leaf] = sign === 1 ? 1 : 0;
    for (const { id } of around(this.#tree.leaves[leaf] as Cell))
      this.#freeIn[id] = (this.#freeIn[id] as number) + sign;
  }

  freeIn({ id }: Cell): number {
    return this.#freeIn[id] as number;
  }

  /** Returns whether a worker could use the whole cell now, without waiting for other work to end. */
  isWhole({ id, first, end }: Cell): boolean {
    if (this.#freeIn[id] !== end - first) return false;
    if (this.#layer === "idle") return true;
    for (let leaf = first; leaf < end; leaf++) if (this.#isIdle[leaf] === 0) return false;
    return true;
  }

  /** Returns whether the node has cores, memory and a slot for another worker. Accelerators are not checked. */
  hasWorkerFree(slot: NodeSlot): boolean {
    return (this.#fits.get(slot) ?? 0) > 0;
  }

  /** Number of accelerators in `leaves` that other work still uses. */
  awaited(leaves: readonly number[]): number {
    return leaves.reduce((count, leaf) => count + 1 - (this.#isIdle[leaf] as number), 0);
  }

  /**
   * The accelerators of a node or group that a worker would get. Idle accelerators are used if they suffice. They come
   * from the smallest cell that has enough of them.
   */
  pick(container: Cell): Picked | null {
    const { accelerators: count } = this.#gang;
    if (this.freeIn(container) < count) return null;
    const isIdle = (leaf: number): boolean => this.#isFree[leaf] === 1 && this.#isIdle[leaf] === 1;
    const isFree = (leaf: number): boolean => this.#isFree[leaf] === 1;
    for (const could of this.#layer === "idle" ? [isFree] : [isIdle, isFree]) {
      const cell = smallest(container, count, could);
      if (cell !== null) return { cell, leaves: fill(cell, count, could).toSorted((left, right) => left - right) };
    }
    return null;
  }

  /** Assigns accelerators to a worker. For a MIG profile, returns the first slice of the worker. */
  give(slot: NodeSlot, leaves: readonly number[]): Pick<WorkerAllocation, "slice"> {
    this.#fits.set(slot, (this.#fits.get(slot) as number) - 1);
    const spot = this.#gang.profile === undefined ? null : this.#partOf(leaves[0] as number, this.#layer);
    const given = spot?.digits ?? (needsFraction(this.#gang) ? fractionOn(this.#gang, slot.node) : undefined);
    for (const leaf of leaves) {
      if (given !== undefined) this.#given.set(leaf, (this.#given.get(leaf) ?? 0) + given);
      if (given === undefined || !this.#couldTake(leaf, this.#layer)) this.#count(leaf, -1);
    }
    return spot === null ? {} : { slice: spot.slice };
  }
}

type Could = (leaf: number) => boolean;

function countIn({ first, end }: Cell, could: Could): number {
  let count = 0;
  for (let leaf = first; leaf < end; leaf++) if (could(leaf)) count++;
  return count;
}

/**
 * The smallest cell inside `cell` with at least `count` usable accelerators. If several are equally small, the one with
 * the fewest usable accelerators is chosen.
 */
function smallest(cell: Cell, count: number, could: Could): Cell | null {
  const free = countIn(cell, could);
  if (free < count) return null;
  let best: Cell | null = null;
  for (const child of cell.children) {
    const inside = smallest(child, count, could);
    if (inside === null) continue;
    if (
      best === null ||
      sizeOf(inside) < sizeOf(best) ||
      (sizeOf(inside) === sizeOf(best) && countIn(inside, could) < countIn(best, could))
    )
      best = inside;
  }
  return best ?? cell;
}

/** Takes whole subcells if possible, so that the remaining accelerators stay together. */
function fill(cell: Cell, count: number, could: Could): number[] {
  if (count === 0) return [];
  if (cell.children.length === 0) return could(cell.first) ? [cell.first] : [];
  const taken: number[] = [];
  const parts = cell.children.map((child) => ({ child, free: countIn(child, could) })).filter(({ free }) => free > 0);
  while (taken.length < count && parts.length > 0) {
    const left = count - taken.length;
    const enough = parts.filter(({ free }) => free >= left);
    const chosen =
      enough.length > 0
        ? enough.reduce((best, part) => (part.free < best.free ? part : best))
        : parts.reduce((best, part) => (part.free > best.free ? part : best));
    parts.splice(parts.indexOf(chosen), 1);
    taken.push(...fill(chosen.child, Math.min(left, chosen.free), could));
  }
  return taken;
}
