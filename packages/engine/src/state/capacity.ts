/**
 * Capacity by accelerator type, indexed so that "where does this worker fit" visits no node that has too few free
 * accelerators: for each type, the usable nodes (up, not draining) by their count of free accelerators, and apart those
 * on which somebody was asked to leave and those with an accelerator of which a part is free.
 */
import type { AcceleratorSet } from "../model/accelerator-set.ts";
import type { Node } from "../model/fleet.ts";
import type { AttemptId, NodeId } from "../model/ids.ts";
import { shapeOf } from "../model/gang.ts";
import type { GangSpec, WorkerAllocation } from "../model/workload.ts";
import { compareText } from "./canonical.ts";
import { InvariantError, invariant } from "./invariant.ts";
import { Marks } from "./marks.ts";
import { NodeSet } from "./node-set.ts";
import { NodeSlot } from "./node-slot.ts";

/** All nodes of one accelerator type (`""`: nodes without). */
export class TypeCapacity {
  readonly type: string;
  readonly slots: NodeSlot[] = [];
  /** Usable nodes by count of free accelerators. */
  readonly byFree: NodeSet[] = [new NodeSet()];
  /** The counts of free accelerators that any usable node has: on a pool of one large node nearly all sets are empty. */
  readonly freeCounts: NodeSet = new NodeSet();
  /** Free accelerators on usable nodes. */
  freeCount = 0;
  /** Accelerators on usable nodes, free or not. */
  usableCount = 0;
  /** Usable nodes on which somebody was asked to leave. */
  readonly coming: NodeSet = new NodeSet();
  /** Accelerators on usable nodes that will be free, whole, when those have left. */
  comingCount = 0;
  /** Cores (thousandths) and memory (MiB) of all usable nodes. */
  usableCoresMilli = 0;
  usableMemoryMib = 0;

  constructor(type: string) {
    this.type = type;
  }

  get perNodeMax(): number {
    return this.byFree.length - 1;
  }

  list(slot: NodeSlot): void {
    while (this.byFree.length <= slot.totalCount) this.byFree.push(new NodeSet());
    this.#file(slot.freeCount, slot.position);
    if (slot.hasComing) this.coming.add(slot.position);
    this.#sum(slot, 1);
  }

  unlist(slot: NodeSlot): void {
    this.#unfile(slot.freeCount, slot.position);
    this.coming.delete(slot.position);
    this.#sum(slot, -1);
  }

  #sum(slot: NodeSlot, sign: 1 | -1): void {
    this.freeCount += sign * slot.freeCount;
    this.comingCount += sign * slot.comingCount;
    this.usableCount += sign * slot.totalCount;
    this.usableCoresMilli += sign * slot.node.coresMilli;
    this.usableMemoryMib += sign * slot.node.memoryMib;
  }

  /** Files a slot anew after its amounts changed from these counts. */
  refile(slot: NodeSlot, freeBefore: number, comingBefore: number): void {
    if (!slot.usable) return;
    if (slot.freeCount !== freeBefore) {
      this.#unfile(freeBefore, slot.position);
      this.#file(slot.freeCount, slot.position);
      this.freeCount += slot.freeCount - freeBefore;
    }
    this.comingCount += slot.comingCount - comingBefore;
    if (slot.hasComing) this.coming.add(slot.position);
    else this.coming.delete(slot.position);
  }

  #file(freeCount: number, position: number): void {
    (this.byFree[freeCount] as NodeSet).add(position);
    this.freeCounts.add(freeCount);
  }

  #unfile(freeCount: number, position: number): void {
    const nodes = this.byFree[freeCount] as NodeSet;
    nodes.delete(position);
    if (nodes.next(0) < 0) this.freeCounts.delete(freeCount);
  }
}

export class Capacity {
  readonly #types = new Map<string, TypeCapacity>();
  readonly #slots = new Map<NodeId, NodeSlot>();
  #sortedTypes: readonly TypeCapacity[] = [];
  /** Who keeps away from whom, by node. */
  readonly marks: Marks = new Marks();
  /** Grows whenever something that did not fit may fit now: capacity freed or added. */
  freedEpoch = 0;
  /** Grows whenever the set of usable nodes changes: what the empty fleet could hold may have changed. */
  fleetEpoch = 0;

  /** Told of every change of what a node has free; for the scores, if the policy has any. */
  watch: ((slot: NodeSlot) => void) | null = null;

  /** Grows whenever a node joins or changes: where nodes lie in the fabric may have changed. */
  nodesEpoch = 0;

  slot(id: NodeId): NodeSlot {
    const slot = this.#slots.get(id);
    invariant(slot !== undefined, `no node ${id}`);
    return slot;
  }

  type(name: string): TypeCapacity | undefined {
    return this.#types.get(name);
  }

  /** The types a gang may use, most preferred first; an empty preference means any type, in order of name. */
  acceptable(types: readonly string[]): readonly TypeCapacity[] {
    if (types.length === 0) return this.#sortedTypes;
    return types.flatMap((name) => this.#types.get(name) ?? []);
  }

  join(node: Node): void {
    let type = this.#types.get(node.acceleratorType);
    if (type === undefined) {
      type = new TypeCapacity(node.acceleratorType);
      this.#types.set(node.acceleratorType, type);
      this.#sortedTypes = [...this.#types.values()].toSorted((left, right) => compareText(left.type, right.type));
    }
    const slot = new NodeSlot(node, type.slots.length);
    type.slots.push(slot);
    this.#slots.set(node.id, slot);
    if (slot.usable) type.list(slot);
    this.nodesEpoch++;
    this.freedEpoch++;
    this.fleetEpoch++;
  }

  /** Lets `change` write a node's `health` or `draining` and files the node anew. */
  update(node: Node, change: () => void): void {
    const slot = this.slot(node.id);
    const type = this.#typeOf(slot);
    if (slot.usable) type.unlist(slot);
    change();
    if (slot.usable) type.list(slot);
    this.freedEpoch++;
    this.fleetEpoch++;
  }

  /** Lets `change` write the amounts of a node that holds nothing, and takes them over. */
  resize(node: Node, change: () => void): void {
    const old = this.slot(node.id);
    invariant(old.attempts.size === 0, `node ${node.id} changes size while it holds work`);
    const type = this.#typeOf(old);
    if (old.usable) type.unlist(old);
    change();
    const slot = new NodeSlot(node, old.position);
    type.slots[old.position] = slot;
    this.#slots.set(node.id, slot);
    if (slot.usable) type.list(slot);
    this.nodesEpoch++;
    this.freedEpoch++;
    this.fleetEpoch++;
  }

  /** Books a gang's workers. Throws if any of it is taken: the independent half of the pair with `place`. */
  take(attempt: AttemptId, gang: GangSpec, workers: readonly WorkerAllocation[]): void {
    for (const worker of workers) {
      const { node, accelerators } = worker;
      const shape = shapeOf(gang, worker);
      const slot = this.slot(node);
      const { freeCount, comingCount } = slot;
      slot.hold(accelerators, shape, 1);
      if (gang.apart !== undefined) this.marks.book(gang.apart, slot, "held", 1);
      slot.attempts.set(attempt, (slot.attempts.get(attempt) ?? 0) + 1);
      this.#refile(slot, freeCount, comingCount);
      const { bookedCount, bookedOver } = slot;
      const isOver = bookedOver || slot.isOverHeld;
      if (isOver || bookedCount !== shape.accelerators) throw wrongBooking(attempt, slot, accelerators);
    }
  }

  /** Gives workers back. `leaving`: they had been asked to leave. */
  release(attempt: AttemptId, gang: GangSpec, workers: readonly WorkerAllocation[], leaving: boolean): void {
    for (const worker of workers) {
      const { node, accelerators } = worker;
      const shape = shapeOf(gang, worker);
      const slot = this.slot(node);
      const { freeCount, comingCount } = slot;
      if (leaving) slot.leave(accelerators, shape, -1);
      slot.hold(accelerators, shape, -1);
      if (gang.apart !== undefined) {
        if (leaving) this.marks.book(gang.apart, slot, "leaving", -1);
        this.marks.book(gang.apart, slot, "held", -1);
      }
      const count = (slot.attempts.get(attempt) as number) - 1;
      if (count === 0) slot.attempts.delete(attempt);
      else slot.attempts.set(attempt, count);
      this.#refile(slot, freeCount, comingCount);
    }
    this.freedEpoch++;
  }

  /** Workers are asked to leave (1), or that is taken back (-1). */
  leave(gang: GangSpec, workers: readonly WorkerAllocation[], sign: 1 | -1): void {
    for (const worker of workers) {
      const slot = this.slot(worker.node);
      const { freeCount, comingCount } = slot;
      slot.leave(worker.accelerators, shapeOf(gang, worker), sign);
      if (gang.apart !== undefined) this.marks.book(gang.apart, slot, "leaving", sign);
      this.#refile(slot, freeCount, comingCount);
    }
  }

  /** A place is promised (1); the promise is kept or withdrawn (-1). */
  promise(gang: GangSpec, workers: readonly WorkerAllocation[], sign: 1 | -1): void {
    for (const worker of workers) {
      const slot = this.slot(worker.node);
      const { freeCount, comingCount } = slot;
      slot.promise(worker.accelerators, shapeOf(gang, worker), sign);
      if (gang.apart !== undefined) this.marks.book(gang.apart, slot, "promised", sign);
      this.#refile(slot, freeCount, comingCount);
    }
  }

  #refile(slot: NodeSlot, freeBefore: number, comingBefore: number): void {
    this.#typeOf(slot).refile(slot, freeBefore, comingBefore);
    this.watch?.(slot);
  }

  #typeOf(slot: NodeSlot): TypeCapacity {
    const type = this.#types.get(slot.node.acceleratorType);
    invariant(type !== undefined, `no accelerator type ${slot.node.acceleratorType}`);
    return type;
  }
}

const wrongBooking = (attempt: AttemptId, slot: NodeSlot, set: AcceleratorSet): InvariantError =>
  new InvariantError(
    `${attempt} cannot have accelerators ${set === "" ? "none" : set} on node ${slot.node.id}: not as many as it needs, or taken`,
  );
