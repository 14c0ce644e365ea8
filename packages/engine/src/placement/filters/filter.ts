/**
 * A placement constraint in one declaration: the signature by which requests are alike, the nodes that pass, the events
 * that can change the result, and the reason that it gives. `filters.ts` holds the ordered list.
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
 * Basis of a rejection: declared properties of nodes, which also apply to an empty fleet; the calendar; or running work
 * and tentative plans.
 */
export type FilterBasis = "fleet" | "calendar" | "work";

export interface Filter {
  readonly name: string;
  /**
   * Workloads with equal signatures for every filter share a bucket of the queue; `undefined`: the filter does not
   * concern the workload.
   */
  readonly signature: SignatureOf;
  readonly basis: FilterBasis;
  /**
   * Whether the request needs more than a look-up by free amounts. Absent: the filter constrains types or amounts, not
   * nodes.
   */
  readonly appliesTo?: (world: World, request: PlacementRequest) => boolean;
  /** The test of single nodes, prepared once for a search. Absent: the filter constrains only sets of nodes. */
  readonly check?: (world: World, request: PlacementRequest, layer: Layer) => NodeCheck;
  /** Events that can change the result, in addition to those that free capacity. */
  readonly wakeOn: readonly EventKind[];
  /** The reason, if the request would fit without this filter; `null`: it would not. */
  readonly explain?: (inquiry: Inquiry) => BlockedReason | null;
}

/** A request that does not fit now, with queries about it. */
export interface Inquiry {
  readonly world: World;
  readonly request: PlacementRequest;
  /** Whether the usable fleet could hold the request if nothing ran. */
  readonly couldEver: boolean;
  /** A placement now for a variant of the request. */
  place(variant: PlacementRequest): Placement | null;
  fitsFleet(variant: PlacementRequest): boolean;
  /** The largest number of workers, below the requested one, that could be placed now; 0 for task groups. */
  placeableWorkers(): number;
}
