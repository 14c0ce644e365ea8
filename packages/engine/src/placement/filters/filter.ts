/**
 * A placement constraint (filter), declared in one place: the signature by which requests are equal, the check of a
 * node, the events that can change the result, and the reason that the filter reports. `filters.ts` holds the ordered
 * list.
 */
import type { EventKind } from "../../contract/events.ts";
import type { BlockedReason } from "../../contract/verdicts.ts";
import type { Layer, NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { SignatureOf } from "../../cluster/queue.ts";
import type { Placement } from "../../cluster/request.ts";
import type { World } from "../../cluster/world.ts";

export type NodeCheck = (slot: NodeSlot) => boolean;

/**
 * The data that the result of a filter depends on. `fleet`: declared properties of nodes, which also apply to an empty
 * fleet. `calendar`: calendar windows. `work`: running work and tentative plans.
 */
export type FilterBasis = "fleet" | "calendar" | "work";

export interface Filter {
  readonly name: string;
  /**
   * Workloads with equal signatures for every filter share a bucket of the queue. The signature is `undefined` if the
   * filter does not concern the workload.
   */
  readonly signature: SignatureOf;
  readonly basis: FilterBasis;
  /**
   * Returns whether the filter applies to the request. If it does, the index of free amounts does not suffice to place
   * the request. A filter without this function constrains types or amounts, not nodes.
   */
  readonly appliesTo?: (world: World, request: PlacementRequest) => boolean;
  /**
   * Prepares the check of single nodes, once for a search. A filter without this function constrains sets of nodes, not
   * single nodes.
   */
  readonly check?: (world: World, request: PlacementRequest, layer: Layer) => NodeCheck;
  /** Events that can change the result, in addition to those that free capacity. */
  readonly wakeOn: readonly EventKind[];
  /** The reason to report if the request would fit without this filter, or `null` if it would not fit either. */
  readonly explain?: (inquiry: Inquiry) => BlockedReason | null;
}

/** A request that does not fit now, and the questions that a filter can ask about it. */
export interface Inquiry {
  readonly world: World;
  readonly request: PlacementRequest;
  /** True if the usable fleet could hold the request if nothing ran. */
  readonly couldEver: boolean;
  /** A placement of a variant of the request now, or `null` if the variant does not fit. */
  place(variant: PlacementRequest): Placement | null;
  fitsFleet(variant: PlacementRequest): boolean;
  /** The largest number of workers, below the requested one, that could be placed now; 0 for task groups. */
  placeableWorkers(): number;
}
