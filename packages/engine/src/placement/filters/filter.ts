/**
 * A placement constraint, declared in one place: what makes two requests alike to it, which nodes pass, which events can change the
 * answer, and the reason that it gives. `filters.ts` holds the ordered list.
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
  /** Workloads with equal signatures for every filter share a bucket of the queue; `undefined`: the workload asks nothing of this filter. */
  readonly signature: SignatureOf;
  readonly basis: FilterBasis;
  /** Whether free counts alone do not decide where the request goes. Absent: the filter constrains no nodes, but types or amounts. */
  readonly appliesTo?: (world: World, request: PlacementRequest) => boolean;
  /** The test of single nodes, prepared once for a search. Absent: the filter constrains nodes only together. */
  readonly check?: (world: World, request: PlacementRequest, layer: Layer) => NodeCheck;
  /** Events that can change the answer, besides those that free capacity. */
  readonly wakeOn: readonly EventKind[];
  /** The reason, where the request would have a place without this filter; `null`: it would not. */
  readonly explain?: (inquiry: Inquiry) => BlockedReason | null;
}

/** A request that has no place now, and what may be asked about it. */
export interface Inquiry {
  readonly world: World;
  readonly request: PlacementRequest;
  /** Whether the usable fleet could hold the request if nothing ran. */
  readonly couldEver: boolean;
  /** A place now for this variant of it. */
  place(variant: PlacementRequest): Placement | null;
  fitsFleet(variant: PlacementRequest): boolean;
  /** The most workers, fewer than asked for, that could be placed now; 0 for task groups. */
  placeableWorkers(): number;
}
