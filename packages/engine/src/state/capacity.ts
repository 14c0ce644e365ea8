/**
 * Free capacity by accelerator type, indexed so that "where does this worker fit" visits no node that has too few free
 * accelerators: for each type, the usable nodes (up, not draining) by their count of free accelerators.
 */
import { forEachRange } from "../model/accelerator-set.ts";
import type { AcceleratorSet } from "../model/accelerator-set.ts";
import type { Node } from "../model/fleet.ts";
import type { AttemptId, NodeId } from "../model/ids.ts";
import type { GangSpec, WorkerAllocation } from "../model/workload.ts";
import { compareText } from "./canonical.ts";
import { invariant } from "./invariant.ts";
import { NodeSet, lowestBit } from "./node-set.ts";

/** A node's free capacity: one bit for each free accelerator, and what is left of cores and memory. */
export class NodeSlot {
  readonly node: Node;
  /** Position within its type, in order of joining. */
  readonly position: number;
  readonly free: Int32Array;
  readonly totalCount: number;
  freeCount: number;
  coresFreeMilli: number;
  memoryFreeMib: number;
  readonly attempts: Set<AttemptId> = new Set();

  constructor(node: Node, position: number) {
    this.node = node;
    this.position = position;
    this.free = new Int32Array((node.acceleratorCount + 31) >>> 5);
    for (let index = 0; index < node.acceleratorCount; index++)
      this.free[index >>> 5] = (this.free[index >>> 5] as number) | (1 << (index & 31));
    this.totalCount = node.acceleratorCount;
    this.freeCount = node.acceleratorCount;
    this.coresFreeMilli = node.coresMilli;
    this.memoryFreeMib = node.memoryMib;
  }

  get usable(): boolean {
    return this.node.health === "up" && !this.node.draining;
  }

  /** The `count` lowest free accelerators after the first `skip` free ones. */
  pick(skip: number, count: number): AcceleratorSet {
    let passed = 0;
    let taken = 0;
    let set = "";
    let first = -1;
    let last = -1;
    for (let wordIndex = 0; wordIndex < this.free.length && taken < count; wordIndex++) {
      let word = this.free[wordIndex] as number;
      while (word !== 0 && taken < count) {
        const index = (wordIndex << 5) + lowestBit(word);
        word &= word - 1;
        if (passed < skip) {
          passed++;
          continue;
        }
        taken++;
        if (index === last + 1 && first >= 0) {
          last = index;
          continue;
        }
        if (first >= 0) set = appendRange(set, first, last);
        first = index;
        last = index;
      }
    }
    invariant(
      taken === count,
      `node ${this.node.id} has ${passed + taken} free accelerators, ${skip + count} were promised`,
    );
    return first >= 0 ? appendRange(set, first, last) : set;
  }

  /** How many workers of the gang fit on what is free, at most `max`. */
  workersThatFit(gang: GangSpec, max: number): number {
    let count = max;
    if (gang.accelerators > 0) count = Math.min(count, Math.floor(this.freeCount / gang.accelerators));
    if (gang.coresMilli > 0) count = Math.min(count, Math.floor(this.coresFreeMilli / gang.coresMilli));
    if (gang.memoryMib > 0) count = Math.min(count, Math.floor(this.memoryFreeMib / gang.memoryMib));
    return count;
  }
}

function appendRange(set: string, first: number, last: number): string {
  const range = first === last ? `${first}` : `${first}-${last}`;
  return set === "" ? range : `${set},${range}`;
}

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

  constructor(type: string) {
    this.type = type;
  }

  get perNodeMax(): number {
    return this.byFree.length - 1;
  }

  list(slot: NodeSlot): void {
    while (this.byFree.length <= slot.totalCount) this.byFree.push(new NodeSet());
    this.#file(slot.freeCount, slot.position);
    this.freeCount += slot.freeCount;
    this.usableCount += slot.totalCount;
  }

  unlist(slot: NodeSlot): void {
    this.#unfile(slot.freeCount, slot.position);
    this.freeCount -= slot.freeCount;
    this.usableCount -= slot.totalCount;
  }

  /** Moves a slot between the sets after its free count became `freeCount`. */
  refile(slot: NodeSlot, freeCount: number): void {
    if (slot.usable) {
      this.#unfile(slot.freeCount, slot.position);
      this.#file(freeCount, slot.position);
      this.freeCount += freeCount - slot.freeCount;
    }
    slot.freeCount = freeCount;
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
  /** Grows whenever something that did not fit may fit now: capacity freed or added. */
  freedEpoch = 0;
  /** Grows whenever the set of usable nodes changes: what the empty fleet could hold may have changed. */
  fleetEpoch = 0;

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

  /** Takes over changed amounts of a node that holds nothing. */
  resize(node: Node): void {
    const old = this.slot(node.id);
    invariant(old.attempts.size === 0, `node ${node.id} changes size while it holds work`);
    const type = this.#typeOf(old);
    if (old.usable) type.unlist(old);
    const slot = new NodeSlot(node, old.position);
    type.slots[old.position] = slot;
    this.#slots.set(node.id, slot);
    if (slot.usable) type.list(slot);
    this.freedEpoch++;
    this.fleetEpoch++;
  }

  /** Books a gang's workers. Throws if any accelerator is taken: the independent half of the pair with `place`. */
  take(attempt: AttemptId, gang: GangSpec, workers: readonly WorkerAllocation[]): void {
    for (const worker of workers) {
      const slot = this.slot(worker.node);
      let count = 0;
      forEachRange(worker.accelerators, (first, last) => {
        for (let index = first; index <= last; index++) {
          const bit = 1 << (index & 31);
          const word = slot.free[index >>> 5] as number;
          invariant((word & bit) !== 0, `accelerator ${index} of node ${worker.node} is not free for ${attempt}`);
          slot.free[index >>> 5] = word & ~bit;
          count++;
        }
      });
      invariant(
        count === gang.accelerators,
        `${attempt} was given ${count} accelerators on ${worker.node}, needs ${gang.accelerators}`,
      );
      slot.coresFreeMilli -= gang.coresMilli;
      slot.memoryFreeMib -= gang.memoryMib;
      invariant(
        slot.coresFreeMilli >= 0 && slot.memoryFreeMib >= 0,
        `node ${worker.node} is over-committed by ${attempt}`,
      );
      slot.attempts.add(attempt);
      this.#typeOf(slot).refile(slot, slot.freeCount - count);
    }
  }

  release(attempt: AttemptId, gang: GangSpec, workers: readonly WorkerAllocation[]): void {
    for (const worker of workers) {
      const slot = this.slot(worker.node);
      let count = 0;
      forEachRange(worker.accelerators, (first, last) => {
        for (let index = first; index <= last; index++)
          slot.free[index >>> 5] = (slot.free[index >>> 5] as number) | (1 << (index & 31));
        count += last - first + 1;
      });
      slot.coresFreeMilli += gang.coresMilli;
      slot.memoryFreeMib += gang.memoryMib;
      slot.attempts.delete(attempt);
      this.#typeOf(slot).refile(slot, slot.freeCount + count);
    }
    this.freedEpoch++;
  }

  #typeOf(slot: NodeSlot): TypeCapacity {
    const type = this.#types.get(slot.node.acceleratorType);
    invariant(type !== undefined, `no accelerator type ${slot.node.acceleratorType}`);
    return type;
  }
}
