/**
 * Capacity by accelerator type, indexed so that the search for a worker's node visits no node with too few free
 * accelerators. For each type, usable nodes (up, not draining) are indexed by their number of free accelerators.
 * Separate indexes contain the nodes with terminating work, and those with a partly free accelerator.
 */
import { shapeOf, compareText, InvariantError, invariant, NodeSet } from "@headroom/model";
import type { AcceleratorSet, Node, AttemptId, NodeId, GangSpec, WorkerAllocation } from "@headroom/model";
import { Marks } from "./marks.ts";
import type { Booked } from "./marks.ts";
import { PowerMeters, hasPowerCaps } from "./power-meters.ts";
import { NodeSlot } from "./node-slot.ts";
import type { Layer } from "./node-slot.ts";

/**
 * A scan of the nodes is as fast as a lookup by count, if it visits fewer than this number of nodes for each node that
 * it finds.
 */
const SCANNED_PER_FOUND = 8;

/** All nodes of one accelerator type. The type `""` has the nodes without accelerators. */
export class TypeCapacity {
  readonly type: string;
  /** The family of the type, or `undefined` if it has none. */
  readonly family: string | undefined;
  readonly slots: NodeSlot[] = [];
  /** Usable nodes by number of free accelerators. */
  readonly byFree: NodeSet[] = [new NodeSet()];
  /**
   * Numbers of free accelerators for which `byFree` contains nodes. In a pool with one large node nearly all sets are
   * empty.
   */
  readonly freeCounts: NodeSet = new NodeSet();
  freeCount = 0;
  /** Number of accelerators on usable nodes, free or not. */
  usableCount = 0;
  readonly releasing: NodeSet = new NodeSet();
  /** Number of whole accelerators on usable nodes that terminating work will free. */
  releasingCount = 0;
  usableCoresMilli = 0;
  usableMemoryMib = 0;

  constructor(type: string, family: string | undefined) {
    this.type = type;
    this.family = family;
  }

  get perNodeMax(): number {
    return this.byFree.length - 1;
  }

  /**
   * All nodes with this number of whole accelerators that are free or releasing, in the order of joining. If a lookup
   * by count would be slower, all nodes are returned.
   */
  roomy(accelerators: number, layer: Layer): readonly NodeSlot[] {
    const free = this.freeCount + (layer === "idle" ? 0 : this.releasingCount);
    if (accelerators === 0 || free * SCANNED_PER_FOUND > this.slots.length * accelerators) return this.slots;
    const positions: number[] = [];
    for (let count = this.freeCounts.next(accelerators); count >= 0; count = this.freeCounts.next(count + 1)) {
      const nodes = this.byFree[count] as NodeSet;
      for (let at = nodes.next(0); at >= 0; at = nodes.next(at + 1)) positions.push(at);
    }
    if (layer !== "idle")
      for (let at = this.releasing.next(0); at >= 0; at = this.releasing.next(at + 1)) {
        const { freeCount, releasingCount } = this.slots[at] as NodeSlot;
        if (freeCount < accelerators && freeCount + releasingCount >= accelerators) positions.push(at);
      }
    return positions.sort((left, right) => left - right).map((at) => this.slots[at] as NodeSlot);
  }

  list(slot: NodeSlot): void {
    while (this.byFree.length <= slot.totalCount) this.byFree.push(new NodeSet());
    this.#file(slot.freeCount, slot.position);
    if (slot.hasReleasing) this.releasing.add(slot.position);
    this.#sum(slot, 1);
  }

  unlist(slot: NodeSlot): void {
    this.#unfile(slot.freeCount, slot.position);
    this.releasing.delete(slot.position);
    this.#sum(slot, -1);
  }

  #sum(slot: NodeSlot, sign: 1 | -1): void {
    this.freeCount += sign * slot.freeCount;
    this.releasingCount += sign * slot.releasingCount;
    this.usableCount += sign * slot.totalCount;
    this.usableCoresMilli += sign * slot.node.coresMilli;
    this.usableMemoryMib += sign * slot.node.memoryMib;
  }

  /** Updates the index after a node's amounts have changed. The arguments are the counts before the change. */
  refile(slot: NodeSlot, freeBefore: number, releasingBefore: number): void {
    if (!slot.usable) return;
    if (slot.freeCount !== freeBefore) {
      this.#unfile(freeBefore, slot.position);
      this.#file(slot.freeCount, slot.position);
      this.freeCount += slot.freeCount - freeBefore;
    }
    this.releasingCount += slot.releasingCount - releasingBefore;
    if (slot.hasReleasing) this.releasing.add(slot.position);
    else this.releasing.delete(slot.position);
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
  #lastSlot: NodeSlot | null = null;
  #lastType: TypeCapacity | null = null;
  #sortedTypes: readonly TypeCapacity[] = [];
  hasFamilies = false;
  readonly marks: Marks = new Marks();
  /** Capacity epoch. It grows whenever capacity was freed or added, so that a rejected request may fit. */
  freedEpoch = 0;
  /** Grows whenever the set of usable nodes changes, so that the fleet without any work could hold other requests. */
  fleetEpoch = 0;
  /**
   * Value of `fleetEpoch` after the last change that is no join of a node. Requests that the usable fleet could hold
   * since then still fit it.
   */
  growingSinceEpoch = 0;
  /**
   * Value of `fleetEpoch` for the next plan that treats hot spares as ordinary nodes. It is unique, and lower than the
   * value of any other epoch.
   */
  #openedEpoch = -2;
  readonly #hotSpares = new Set<NodeSlot>();
  /** The `freedEpoch` at which every pool had all of its hot spares, or no further empty node existed. */
  hotSparesSettledAt = -1;

  /** Called for every change of a node's free capacity; used by node scores, if the policy has any. */
  watch: ((slot: NodeSlot) => void) | null = null;

  /** The draw of domains with a cap; `null`: no site has caps. */
  power: PowerMeters | null = null;

  /** Grows whenever a node joins, changes or leaves, because positions in the fabric may have changed. */
  nodesEpoch = 0;

  /** Types with removed nodes that still have a position. `settle` closes the gaps before anything reads them. */
  readonly #gaps = new Set<string>();
  /** Whether any type has such a gap. A field, because every event reads it. */
  hasGaps = false;

  slot(id: NodeId): NodeSlot {
    // Cached, because an attempt causes several bookings on its node in a row.
    if (this.#lastSlot !== null && this.#lastSlot.node.id === id) return this.#lastSlot;
    const slot = this.#slots.get(id);
    if (slot === undefined) throw new InvariantError(`no node ${id}`);
    this.#lastSlot = slot;
    return slot;
  }

  /** All nodes, in the order of joining. */
  get slots(): Iterable<NodeSlot> {
    return this.#slots.values();
  }

  /** Reads the caps of the sites again. The epoch of the nodes must change too. */
  meterPower(fleet: ConstructorParameters<typeof PowerMeters>[0]): void {
    this.power = hasPowerCaps(fleet) ? new PowerMeters(fleet, this) : null;
  }

  /** Whether the domains of the node draw no more than their caps with these booked accelerators. */
  hasPower(slot: NodeSlot, accelerators: AcceleratorSet, layer: Layer): boolean {
    return this.power === null || accelerators === "" || this.power.isWithin(slot, layer);
  }

  type(name: string): TypeCapacity | undefined {
    return this.#types.get(name);
  }

  get allTypes(): readonly TypeCapacity[] {
    return this.#sortedTypes;
  }

  /** The accepted types of a gang, most preferred first; without preference all types, by name. */
  acceptable(names: readonly string[]): readonly TypeCapacity[] {
    if (names.length === 0) return this.#sortedTypes;
    if (!this.hasFamilies) return names.flatMap((name) => this.#types.get(name) ?? []);
    // A family stands for all of its types, in the order of their names. A type that is named before its family keeps
    // its rank.
    return [...new Set(names.flatMap((name) => this.named(name)))];
  }

  /** The type with this name. If there is none, the types of the family with this name. */
  named(name: string): readonly TypeCapacity[] {
    const type = this.#types.get(name);
    return type === undefined ? this.#sortedTypes.filter(({ family }) => family === name) : [type];
  }

  /** Records that nodes changed: rejected requests may fit now, also because of positions in the fabric. */
  nodesChanged(): void {
    this.#nodeJoined();
    this.growingSinceEpoch = this.fleetEpoch;
  }

  #nodeJoined(): void {
    this.nodesEpoch++;
    this.freedEpoch++;
    this.fleetEpoch++;
  }

  /** Adds a node. `isOpened`: whether the node joins for a plan that treats hot spares as ordinary nodes. */
  join(node: Node, isOpened = false): void {
    let type = this.#types.get(node.acceleratorType);
    if (type === undefined) {
      type = new TypeCapacity(node.acceleratorType, node.acceleratorFamily);
      this.#types.set(node.acceleratorType, type);
      this.#sortTypes();
    } else if (type.family !== node.acceleratorFamily) {
      type = this.#rebuilt(node.acceleratorType, node.acceleratorFamily, type.slots);
      this.nodesChanged();
    }
    const slot = new NodeSlot(node, type.slots.length);
    slot.isOpened = isOpened;
    type.slots.push(slot);
    this.#slots.set(node.id, slot);
    if (slot.usable) type.list(slot);
    if (node.hotSpare === true) this.#hotSpares.add(slot);
    this.#nodeJoined();
  }

  #sortTypes(): void {
    this.#sortedTypes = [...this.#types.values()].toSorted((left, right) => compareText(left.type, right.type));
    this.hasFamilies = this.#sortedTypes.some(({ family }) => family !== undefined);
  }

  /**
   * Removes an empty node. Its position stays as a gap until `settle`, so that the nodes of a pool that leave one after
   * another cost one pass over their type.
   */
  remove(node: Node): void {
    const slot = this.slot(node.id);
    invariant(slot.isEmpty, `node ${node.id} is removed while it holds work or a nomination`);
    const type = this.#typeOf(slot);
    if (slot.usable) type.unlist(slot);
    this.#slots.delete(node.id);
    this.#hotSpares.delete(slot);
    this.#lastSlot = null;
    this.#gaps.add(type.type);
    this.hasGaps = true;
  }

  /** Gives the remaining nodes their positions after removals. Returns the types that have no nodes left. */
  settle(): readonly string[] {
    if (!this.hasGaps) return [];
    for (const name of this.#gaps) {
      const { family, slots } = this.#types.get(name) ?? { family: undefined, slots: [] };
      this.#rebuilt(name, family, slots);
    }
    const gone = [...this.#gaps].filter((name) => !this.#types.has(name));
    this.#gaps.clear();
    this.hasGaps = false;
    this.nodesChanged();
    return gone;
  }

  /** Rebuilds the index of a type from these nodes, in the order of joining. A type without nodes has no index. */
  #rebuilt(name: string, family: string | undefined, all: readonly NodeSlot[]): TypeCapacity {
    const type = new TypeCapacity(name, family);
    const slots = all.filter((slot) => this.#slots.get(slot.node.id) === slot);
    for (const slot of slots.toSorted((left, right) => left.node.ordinal - right.node.ordinal)) {
      slot.position = type.slots.length;
      type.slots.push(slot);
      if (slot.usable) type.list(slot);
    }
    if (slots.length === 0) this.#types.delete(name);
    else this.#types.set(name, type);
    this.#lastType = null;
    this.#sortTypes();
    return type;
  }

  /** Records the family of a node's type. */
  joinFamily(node: Node): void {
    const { acceleratorType: name, acceleratorFamily: family } = node;
    const type = this.#types.get(name);
    if (type === undefined || type.family === family) return;
    this.#rebuilt(name, family, type.slots);
    this.nodesChanged();
  }

  /** Runs `change`, which modifies the accelerator type and the amounts of an empty node, and updates the index. */
  retype(node: Node, change: () => void): void {
    const old = this.slot(node.id);
    invariant(old.attempts.size === 0, `node ${node.id} changes its accelerators while it holds work`);
    const { type: oldName, family: oldFamily, slots } = this.#typeOf(old);
    change();
    const slot = new NodeSlot(node, 0);
    const { acceleratorType: name, acceleratorFamily: family } = node;
    const others = slots.filter((each) => each !== old);
    this.#slots.set(node.id, slot);
    this.#lastSlot = null;
    if (name === oldName) this.#rebuilt(name, family, [...others, slot]);
    else {
      this.#rebuilt(oldName, oldFamily, others);
      this.#rebuilt(name, family, [...(this.#types.get(name)?.slots ?? []), slot]);
    }
    if (this.#hotSpares.delete(old)) this.#hotSpares.add(slot);
    this.nodesChanged();
  }

  /** Nodes that are hot spares, whatever their current health. */
  get hotSpares(): ReadonlySet<NodeSlot> {
    return this.#hotSpares;
  }

  /** Runs `ask` while these hot spares count as ordinary nodes. `ask` must not record events. */
  opened<T>(hotSpares: readonly NodeSlot[], ask: () => T): T {
    const { fleetEpoch } = this;
    this.fleetEpoch = this.#openedEpoch--;
    for (const slot of hotSpares) this.#open(slot, true);
    try {
      return ask();
    } finally {
      for (const slot of hotSpares) this.#open(slot, false);
      this.fleetEpoch = fleetEpoch;
    }
  }

  #open(slot: NodeSlot, isOpened: boolean): void {
    const type = this.#typeOf(slot);
    if (slot.usable) type.unlist(slot);
    slot.isOpened = isOpened;
    if (slot.usable) type.list(slot);
  }

  /**
   * Runs `change`, which modifies whether a node takes work (`health`, `draining`, `hotSpare`), and updates the index.
   */
  update(node: Node, change: () => void): void {
    const slot = this.slot(node.id);
    const type = this.#typeOf(slot);
    if (slot.usable) type.unlist(slot);
    change();
    if (slot.usable) type.list(slot);
    if (node.hotSpare === true) this.#hotSpares.add(slot);
    else this.#hotSpares.delete(slot);
    this.freedEpoch++;
    this.fleetEpoch++;
    this.growingSinceEpoch = this.fleetEpoch;
  }

  /** Runs `change`, which modifies the foreign use of a node, and updates the index. */
  changeForeignUse(node: Node, change: () => void): void {
    const slot = this.slot(node.id);
    const type = this.#typeOf(slot);
    if (slot.usable) type.unlist(slot);
    change();
    slot.takeForeignUse();
    this.power?.recount(slot);
    if (slot.usable) type.list(slot);
    this.watch?.(slot);
    this.freedEpoch++;
  }

  /** Runs `change`, which modifies the amounts of an empty node, and updates the index. */
  resize(node: Node, change: () => void): void {
    const old = this.slot(node.id);
    invariant(old.attempts.size === 0, `node ${node.id} changes size while it holds work`);
    const type = this.#typeOf(old);
    if (old.usable) type.unlist(old);
    change();
    const slot = new NodeSlot(node, old.position);
    type.slots[old.position] = slot;
    this.#slots.set(node.id, slot);
    this.#lastSlot = null;
    if (slot.usable) type.list(slot);
    if (this.#hotSpares.delete(old)) this.#hotSpares.add(slot);
    this.nodesChanged();
  }

  /**
   * Books the workers of a gang. Throws if any part of their places is already taken; this check shares no code with
   * the search in `place`.
   */
  take(attempt: AttemptId, gang: GangSpec, workers: readonly WorkerAllocation[]): void {
    for (const worker of workers) {
      const slot = this.#book("held", gang, worker, 1);
      slot.attempts.set(attempt, (slot.attempts.get(attempt) ?? 0) + 1);
      const isOver = slot.bookedOver || slot.isOverHeld;
      if (isOver || slot.bookedCount !== shapeOf(gang, worker).accelerators)
        throw wrongBooking(attempt, slot, worker.accelerators);
    }
  }

  /** Releases workers. `terminating`: whether the workers were marked as terminating. */
  release(attempt: AttemptId, gang: GangSpec, workers: readonly WorkerAllocation[], terminating: boolean): void {
    for (const worker of workers) {
      if (terminating) this.#book("terminating", gang, worker, -1);
      const { attempts } = this.#book("held", gang, worker, -1);
      const count = (attempts.get(attempt) as number) - 1;
      if (count === 0) attempts.delete(attempt);
      else attempts.set(attempt, count);
    }
    this.freedEpoch++;
  }

  /** Marks workers as terminating (1), or undoes that (-1). */
  leave(gang: GangSpec, workers: readonly WorkerAllocation[], sign: 1 | -1): void {
    for (const worker of workers) this.#book("terminating", gang, worker, sign);
  }

  /** Books a nomination (1), or removes it (-1). */
  nomination(gang: GangSpec, workers: readonly WorkerAllocation[], sign: 1 | -1): void {
    for (const worker of workers) this.#book("nominated", gang, worker, sign);
  }

  #book(layer: Booked, gang: GangSpec, worker: WorkerAllocation, sign: 1 | -1): NodeSlot {
    const slot = this.slot(worker.node);
    const shape = shapeOf(gang, worker);
    const { freeCount, releasingCount } = slot;
    if (layer === "held") slot.hold(worker, shape, sign);
    else if (layer === "terminating") slot.leave(worker, shape, sign);
    else slot.nomination(worker, shape, sign);
    if (gang.antiAffinity !== undefined) this.marks.book(gang.antiAffinity, slot, layer, sign);
    if (this.power !== null) this.power.recount(slot);
    this.#typeOf(slot).refile(slot, freeCount, releasingCount);
    this.watch?.(slot);
    return slot;
  }

  /** See `NodeSlot.lend`. */
  lend(node: NodeId, [coresMilli, memoryMib, workers]: readonly [number, number, number], sign: 1 | -1): void {
    const slot = this.slot(node);
    slot.lend(coresMilli, memoryMib, workers, sign);
    this.watch?.(slot);
  }

  #typeOf(slot: NodeSlot): TypeCapacity {
    const name = slot.node.acceleratorType;
    if (this.#lastType !== null && this.#lastType.type === name) return this.#lastType;
    const type = this.#types.get(name);
    if (type === undefined) throw new InvariantError(`no accelerator type ${name}`);
    this.#lastType = type;
    return type;
  }
}

const wrongBooking = (attempt: AttemptId, slot: NodeSlot, set: AcceleratorSet): InvariantError =>
  new InvariantError(
    `attempt ${attempt} cannot hold accelerators ${set === "" ? "none" : set} on node ${slot.node.id}: their number is wrong, or one is taken`,
  );
