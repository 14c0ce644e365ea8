/** The nodes of one type that a request accepts by their declared properties. */
import type { GangSpec } from "@headroom/model";
import { emptyFleetWorkers, placeableWorkers } from "../place-on-type.ts";
import type { TypeCapacity } from "../../cluster/capacity.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import { acceptedBy, passesAll } from "./filters.ts";

export class AcceptedNodes {
  readonly type: TypeCapacity;
  /** The accepted nodes. `null` if every node of the type is accepted; the type's index then gives the answers. */
  readonly #slots: readonly NodeSlot[] | null;

  constructor(world: World, request: PlacementRequest, type: TypeCapacity) {
    this.type = type;
    const accepts = acceptedBy(world, request);
    this.#slots = passesAll(accepts) ? null : type.slots.filter((slot) => slot.usable && accepts(slot));
  }

  get freeCount(): number {
    return this.#slots?.reduce((sum, { freeCount }) => sum + freeCount, 0) ?? this.type.freeCount;
  }

  get usableCount(): number {
    return this.#slots?.reduce((sum, { totalCount }) => sum + totalCount, 0) ?? this.type.usableCount;
  }

  get slots(): readonly NodeSlot[] {
    return this.#slots ?? this.type.slots.filter(({ usable }) => usable);
  }

  /** Number of the gang's workers that fit now. It is at most the size of the gang. */
  placeable(gang: GangSpec): number {
    if (this.#slots === null) return placeableWorkers(this.type, gang);
    let count = 0;
    for (const slot of this.#slots) {
      if (count >= gang.workers) break;
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
