/**
 * A placement constraint (filter), declared in one place: the signature by which requests are equal, the check of a
 * node, the events that can change the result, and the reason that the filter reports. `filters.ts` holds the ordered
 * list.
 */
import type { EventKind, BlockedReason, FleetLack } from "@headroom/model";
import type { Layer, NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { SignatureOf } from "../../cluster/queue.ts";
import type { World } from "../../cluster/world.ts";
import type { Inquiry } from "./inquiry.ts";

export type NodeCheck = (slot: NodeSlot) => boolean;

/**
 * The data that the result of a filter depends on. `fleet`: declared properties of nodes, which also apply to an empty
 * fleet. `calendar`: calendar windows. `work`: running work and tentative plans.
 */
export type FilterBasis = "fleet" | "calendar" | "work";

export interface Explanation {
  readonly reasons: readonly BlockedReason[];
  /** True: the reasons exclude some accelerator types only. The reasons of a later filter come before them. */
  readonly isPartial?: boolean;
}

interface FilterBase {
  /**
   * Workloads with equal signatures for every filter share a bucket of the queue. The signature is `undefined` if the
   * filter does not concern the workload. A filter without this function distinguishes no workloads.
   */
  readonly signature: SignatureOf | null;
  /** Events that can change the result, in addition to those that free capacity. */
  readonly wakeOn: readonly EventKind[];
  /**
   * The reasons to report for a request that does not fit now, or `null` if another filter blocks it. A filter without
   * this function never blocks work that the empty fleet could hold; its declaration says why.
   */
  readonly explain: ((inquiry: Inquiry) => Explanation | null) | null;
  /** Returns what the usable fleet lacks by this filter even if nothing runs. Absent: it never lacks anything. */
  readonly lack?: (inquiry: Inquiry) => FleetLack | null;
}

/** Constrains nodes: single ones, or the nodes of all workers together (`sets`). */
export interface NodeFilter extends FilterBase {
  /** Prepares the check of single nodes, once for a search. */
  readonly check: ((world: World, request: PlacementRequest, layer: Layer) => NodeCheck) | "sets";
  readonly basis: FilterBasis;
  /**
   * Returns whether the filter applies to the request. If it does, the index of free amounts does not suffice to place
   * the request.
   */
  readonly appliesTo: (world: World, request: PlacementRequest) => boolean;
}

/**
 * Constrains no nodes that are searched. `index`: the index of usable nodes leaves out what the filter excludes.
 * `types`: the accelerator types to search. `amounts`: free capacity and quotas. `times`: the run time beside protected
 * starts.
 */
interface IndexFilter extends FilterBase {
  readonly check: "index" | "types" | "amounts" | "times";
}

export type Filter = NodeFilter | IndexFilter;
