/** The questions that filters ask about a request, to explain why it waits. Each answer is computed at most once. */
import { bisect } from "@headroom/model";
import type { GangSpec } from "@headroom/model";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import { isInGroups } from "../../cluster/request.ts";
import type { Placement } from "../../cluster/request.ts";
import type { World } from "../../cluster/world.ts";
import { findBesideStarts } from "../backfill/beside-starts.ts";
import { reservationsOf } from "../backfill/reservations.ts";
import type { Reservation } from "../backfill/reservations.ts";
import { fitsUsableFleet } from "../could-ever.ts";
import { findPlacement } from "../place.ts";
import { placeGroups } from "../place-groups.ts";
import { AcceptedNodes } from "./accepted-nodes.ts";
import { windowsInTheWay } from "./calendar-windows.ts";
import { limitOn } from "./quota.ts";

export class Inquiry {
  readonly world: World;
  readonly request: PlacementRequest;
  /** True if the usable fleet could hold the request if nothing ran. */
  readonly couldEver: boolean;
  readonly nowMs: number;
  #fits: boolean | null = null;
  #accepted: readonly AcceptedNodes[] | null = null;
  #able: readonly AcceptedNodes[] | null = null;
  #open: readonly AcceptedNodes[] | null = null;
  #best: { readonly nodes: AcceptedNodes; readonly placeable: number } | null = null;
  #emptyFleetHolds: boolean | null = null;

  constructor(world: World, request: PlacementRequest, couldEver: boolean, nowMs: number) {
    this.world = world;
    this.request = request;
    this.couldEver = couldEver;
    this.nowMs = nowMs;
  }

  /** True if the request fits now, protected starts aside. */
  get fits(): boolean {
    return (this.#fits ??= this.couldEver && this.place(this.request) !== null);
  }

  /** Accepted nodes of each accepted type, the most preferred type first. */
  get accepted(): readonly AcceptedNodes[] {
    return (this.#accepted ??= this.#acceptedNodes());
  }

  #acceptedNodes(): readonly AcceptedNodes[] {
    const { world, request } = this;
    const windows = windowsInTheWay(world, request);
    return world.capacity
      .acceptable(request.acceleratorTypes)
      .map((type) => new AcceptedNodes(world, request, { type, windows }));
  }

  /** A gang never mixes accelerator types, so each type is judged separately: those that could hold it if empty. */
  get able(): readonly AcceptedNodes[] {
    return (this.#able ??= this.accepted.filter((nodes) => nodes.holds(this.request.gang) >= this.request.workers));
  }

  /** The types that could hold the gang if empty and that no quota excludes. */
  get open(): readonly AcceptedNodes[] {
    return (this.#open ??= this.able.filter(({ type }) => limitOn(this.world, this.request, type.type) === null));
  }

  /** The open type with the most free accelerators. For task groups, quotas do not exclude single types. */
  get freest(): AcceptedNodes {
    const types = isInGroups(this.request) ? this.accepted : this.open;
    return types.reduce((left, right) => (right.freeCount > left.freeCount ? right : left));
  }

  /** The open type on which most workers fit now, and their number. */
  get best(): { readonly nodes: AcceptedNodes; readonly placeable: number } {
    return (this.#best ??= this.open
      .map((nodes) => ({ nodes, placeable: nodes.placeable(this.request.gang) }))
      .reduce((left, right) => (right.placeable > left.placeable ? right : left)));
  }

  /**
   * True if even the empty fleet is too small. `couldEver` can be false although a type holds all workers: a constraint
   * may rule the type out, or the nodes may be hot spares.
   */
  get exceedsFleet(): boolean {
    return !this.couldEver || (!isInGroups(this.request) && this.able.length === 0);
  }

  /** True if some type, if empty, would hold all workers by their number. */
  get emptyFleetHolds(): boolean {
    return (this.#emptyFleetHolds ??= this.holds(this.request.gang) >= this.request.workers);
  }

  /** Number of the gang's workers that any one type would hold if empty. */
  holds(gang: GangSpec): number {
    return Math.max(0, ...this.accepted.map((nodes) => nodes.holds(gang)));
  }

  /** Largest amount on any accepted node. */
  most(amountOf: (slot: NodeSlot) => number): number {
    return Math.max(0, ...this.accepted.map((nodes) => nodes.most(amountOf)));
  }

  /** A placement of a variant of the request now, or `null` if the variant does not fit. */
  readonly place = (variant: PlacementRequest): Placement | null => findPlacement(this.world, variant);

  readonly fitsFleet = (variant: PlacementRequest): boolean => fitsUsableFleet(this.world, variant);

  /** True if the task groups of the request would fit now without quotas. */
  groupsFitWithoutQuotas(): boolean {
    return placeGroups(this.world, this.request, { layer: "idle", heedsQuotas: false }) !== null;
  }

  /** The largest number of workers, below the requested one, that could be placed now; 0 for task groups. */
  readonly placeableWorkers = (): number => {
    if (isInGroups(this.request)) return 0;
    for (let workers = this.request.workers - 1; workers > 0; workers--)
      if (this.place(this.request.with({ workers })) !== null) return workers;
    return 0;
  };

  /**
   * The first protected start before `endMs` that blocks the request: the request fits beside the earlier ones but not
   * beside this one. If the request now fits beside all of them together, the first protected start. `null` if protected
   * starts do not block the request.
   */
  protectedStartBefore(endMs: number): Reservation | null {
    const { world, request } = this;
    const starts = reservationsOf(world).filter(({ startMs, bucket }) => startMs < endMs && bucket.request !== request);
    if (starts.length > 1 && findBesideStarts(world, request, starts) !== null) return starts[0] as Reservation;
    const blocksWith = (count: number): boolean => findBesideStarts(world, request, starts.slice(0, count)) === null;
    return starts[bisect(0, starts.length, blocksWith) - 1] ?? null;
  }
}
