/**
 * A placement constraint, declared in one place: the signature that makes requests equal, the check of a node, the
 * events that can change the result, and the reason that it reports. `filters.ts` holds the ordered list.
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
 * The data behind a rejection. `fleet`: declared properties of nodes, which also apply to an empty fleet. `calendar`:
 * its windows. `work`: running work and tentative plans.
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
   * Whether the filter applies, so that the index of free amounts does not suffice for the request. Absent: the filter
   * constrains types or amounts, not nodes.
   */
  readonly appliesTo?: (world: World, request: PlacementRequest) => boolean;
  /**
   * The check of one node, prepared once for a search. Absent: the filter constrains sets of nodes, not single nodes.
   */
  readonly check?: (world: World, request: PlacementRequest, layer: Layer) => NodeCheck;
  /** Events that can change the result, in addition to those that free capacity. */
  readonly wakeOn: readonly EventKind[];
  /** The reason to report if the request would fit without this filter; `null`: it would not fit either. */
  readonly explain?: (inquiry: Inquiry) => BlockedReason | null;
}

/** A request that does not fit now, and what a filter can ask about it. */
export interface Inquiry {
  readonly world: World;
  readonly request: PlacementRequest;
  /** Whether the usable fleet could hold the request if nothing ran. */
  readonly couldEver: boolean;
  /** A placement of a variant of the request now; `null`: it does not fit. */
  place(variant: PlacementRequest): Placement | null;
  fitsFleet(variant: PlacementRequest): boolean;
  /** The largest number of workers, below the requested one, that could be placed now; 0 for task groups. */
  placeableWorkers(): number;
}
