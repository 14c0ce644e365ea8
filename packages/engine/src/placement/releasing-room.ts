/**
 * Counts, node by node, the workers that would fit as running work ends. A request can only fit if the count suffices.
 * The count is cheaper than a search, so the search runs only then.
 */
import type { NodeId, WorkerAllocation } from "@headroom/model";
import type { TypeCapacity } from "../cluster/capacity.ts";
import type { NodeSlot } from "../cluster/node-slot.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { World } from "../cluster/world.ts";
import { acceptableTypes, isInGroups, wholeNeeded } from "../cluster/request.ts";

/** Capacity of the usable nodes of accepted types for one request, including releasing capacity. */
export class ReleasingRoom {
  readonly #world: World;
  readonly #preemptor: PlacementRequest;
  readonly #types: ReadonlyMap<string, TypeCapacity>;
  readonly #byNode = new Map<NodeSlot, number>();
  readonly #byType = new Map<string, number>();

  constructor(world: World, preemptor: PlacementRequest) {
    this.#world = world;
    this.#preemptor = preemptor;
    this.#types = new Map(acceptableTypes(world, preemptor).map((type) => [type.type, type]));
    const { accelerators } = preemptor.gang;
    for (const type of this.#types.values())
      for (const slot of type.roomy(accelerators, "releasing")) this.#count(type.type, slot);
  }

  /** Recounts the nodes on which these workers run. */
  changed(workers: readonly WorkerAllocation[]): void {
    let last: NodeId | null = null;
    for (const { node } of workers) {
      const slot = this.#world.capacity.slot(node);
      if (node !== last && this.#types.has(slot.node.acceleratorType)) this.#count(slot.node.acceleratorType, slot);
      last = node;
    }
  }

  #count(type: string, slot: NodeSlot): void {
    if (!slot.usable) return;
    const { gang, workers } = this.#preemptor;
    const fits = slot.workersThatFit(gang, workers, "releasing");
    const before = this.#byNode.get(slot) ?? 0;
    if (fits === before) return;
    this.#byNode.set(slot, fits);
    this.#byType.set(type, (this.#byType.get(type) ?? 0) + fits - before);
  }

  /**
   * Number of workers that the nodes of one accelerator type could hold. Each node counts at most the requested number.
   */
  of(type: string): number {
    return this.#byType.get(type) ?? 0;
  }

  /** True if one accelerator type holds the requested number of workers. Always true for task groups. */
  get suffices(): boolean {
    if (isInGroups(this.#preemptor)) return true;
    for (const count of this.#byType.values()) if (count >= this.#preemptor.workers) return true;
    return false;
  }
}

/**
 * Returns whether one accelerator type would have enough whole accelerators if the victims ended. `given` lists the
 * accelerators that their end would free, by node. The end of a fraction frees at most its accelerator. Only nodes with
 * free capacity or victims are read.
 */
export function couldSuffice(
  world: World,
  preemptor: PlacementRequest,
  given: readonly ReadonlyMap<NodeId, number>[],
): boolean {
  if (wholeNeeded(preemptor) === 0) return true;
  const { capacity } = world;
  const { workers } = preemptor;
  const { accelerators } = preemptor.gang;
  const roomOf = ({ freeCount, releasingCount, totalCount }: NodeSlot, more: number): number =>
    Math.floor(Math.min(freeCount + releasingCount + more, totalCount) / accelerators);
  const rooms = new Map<string, number>();
  for (const type of acceptableTypes(world, preemptor)) {
    let room = 0;
    for (const slot of type.roomy(accelerators, "releasing")) if (slot.usable) room += roomOf(slot, 0);
    if (room >= workers) return true;
    rooms.set(type.type, room);
  }
  // One map names each node once.
  const givenSoFar = given.length > 1 ? new Map<NodeId, number>() : null;
  for (const byNode of given)
    for (const [node, more] of byNode) {
      const slot = capacity.slot(node);
      const { acceleratorType } = slot.node;
      const before = rooms.get(acceleratorType);
      if (before === undefined || !slot.usable) continue;
      const sofar = givenSoFar?.get(node) ?? 0;
      givenSoFar?.set(node, sofar + more);
      const room = before + roomOf(slot, sofar + more) - roomOf(slot, sofar);
      if (room >= workers) return true;
      rooms.set(acceleratorType, room);
    }
  return false;
}
