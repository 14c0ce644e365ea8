/**
 * The nodes of one type that a request accepts by their declared properties. Nodes that a calendar window closes to the
 * request are accepted, but what is free on them does not count as free.
 */
import type { ClosedCapacity, GangSpec } from "@headroom/model";
import { emptyFleetWorkers, placeableWorkers } from "../place-on-type.ts";
import type { TypeCapacity } from "../../cluster/capacity.ts";
import type { IndexedWindow } from "../../cluster/calendar-index.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import { acceptedBy, passesAll } from "./filters.ts";

/** Maximum number of closed nodes that a reason names. */
const NODES_NAMED_MAX = 3;

function freeOn(slots: Iterable<NodeSlot>): number {
  let count = 0;
  for (const { freeCount } of slots) count += freeCount;
  return count;
}

export class AcceptedNodes {
  readonly type: TypeCapacity;
  /** The accepted nodes. `null` if every node of the type is accepted; the type's index then gives the answers. */
  readonly #slots: readonly NodeSlot[] | null;
  readonly #windows: readonly IndexedWindow[];
  /** Accepted nodes that one of the windows closes. */
  readonly #closed: ReadonlySet<NodeSlot>;

  constructor(
    world: World,
    request: PlacementRequest,
    { type, windows }: { readonly type: TypeCapacity; readonly windows: readonly IndexedWindow[] },
  ) {
    this.type = type;
    const accepts = acceptedBy(world, request);
    this.#slots = passesAll(accepts) ? null : type.slots.filter((slot) => slot.usable && accepts(slot));
    this.#windows = windows;
    this.#closed = new Set(
      windows.length === 0 ? [] : this.slots.filter(({ node: { id } }) => windows.some(({ nodes }) => nodes.has(id))),
    );
  }

  /** Number of free accelerators on nodes that no window closes. */
  get freeCount(): number {
    return (this.#slots === null ? this.type.freeCount : freeOn(this.#slots)) - freeOn(this.#closed);
  }

  /** Free accelerators of closed nodes; `null`: none. */
  get closedCapacity(): ClosedCapacity | null {
    const slots = [...this.#closed].filter(({ freeCount }) => freeCount > 0);
    const ids = slots.map(({ node: { id } }) => id);
    const closing = this.#windows.find(({ nodes }) => ids.some((id) => nodes.has(id)))?.window;
    if (closing === undefined) return null;
    const { name, kind: window, startMs, endMs } = closing;
    const nodes = ids.slice(0, NODES_NAMED_MAX);
    return { freeCount: freeOn(slots), nodeCount: ids.length, nodes, name, window, startMs, endMs };
  }

  get usableCount(): number {
    return this.#slots?.reduce((sum, { totalCount }) => sum + totalCount, 0) ?? this.type.usableCount;
  }

  get slots(): readonly NodeSlot[] {
    return this.#slots ?? this.type.slots.filter(({ usable }) => usable);
  }

  /** Number of the gang's workers that fit now, on nodes that no window closes. It is at most the size of the gang. */
  placeable(gang: GangSpec): number {
    if (this.#slots === null && this.#closed.size === 0) return placeableWorkers(this.type, gang);
    let count = 0;
    for (const slot of this.slots) {
      if (count >= gang.workers) break;
      if (this.#closed.has(slot)) continue;
      count += slot.workersThatFit(gang, gang.workers - count);
    }
    return count;
  }

  /** Number of the gang's workers that would fit if all nodes were empty. It is at most the size of the gang. */
  holds(gang: GangSpec): number {
    return emptyFleetWorkers({ slots: this.#slots ?? this.type.slots }, gang);
  }

  /** Like `holds`, for all nodes of the type, whether they are accepted or not. */
  typeHolds(gang: GangSpec): number {
    return emptyFleetWorkers(this.type, gang);
  }

  /** Largest amount on any accepted node. */
  most(amountOf: (slot: NodeSlot) => number): number {
    let most = 0;
    for (const slot of this.slots) most = Math.max(most, amountOf(slot));
    return most;
  }
}
