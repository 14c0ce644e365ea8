/**
 * Idle capacity that is held for work whose other nodes are ordered. The engine orders the fewest nodes with which a gang
 * fits, so it counts on idle ones. If later work took these, the gang would wait for a second order. Waiting requests are
 * placed, in queue order, on the fleet with the coming nodes; what a request gets there on present nodes is held
 * against the requests behind it, if it also needs a coming node. Policies with protected starts are left alone.
 */
import { expectedArrival } from "@headroom/model";
import type { Node, NodeId, Rules, WorkloadId } from "@headroom/model";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { Placement } from "../../cluster/request.ts";
import type { World } from "../../cluster/world.ts";
import { queueOrder } from "../../ordering/round-order.ts";
import { readyTaskCount } from "../../state/ready-task.ts";
import type { ReadonlyState } from "../../state/state.ts";
import { isHeldByLimit } from "../could-ever.ts";
import { fleetWithExpectedNodes } from "../expected-nodes.ts";
import { orderOfExpected } from "../extended-fleet.ts";
import { orderDueAtMs } from "../order-due.ts";
import { findBesideStarts } from "./beside-starts.ts";
import type { Reservation } from "./reservations.ts";

/** Tasks that are placed on the expected fleet in one search. Nothing is held for the others. */
const TASKS_MAX = 4_096;

/** Idle capacity is not held for nodes that come later than this: it would be wasted for too long. */
const HELD_AHEAD_MS = 3_600_000;

/**
 * Searches for held places in one phase. After further starts that change held places, the others are kept as they are: a search costs
 * as much as placing the whole queue.
 */
const SEARCHES_MAX = 8;

/** Whether capacity may be held: the engine ordered nodes that have not all come, and are not much too late. */
export const mayHoldForOrders = (rules: Pick<Rules, "backfill">, state: ReadonlyState, nowMs: number): boolean =>
  state.capacityOrders.size > 0 && rules.backfill.protectedStarts === 0 && soonOrders(state, nowMs).size > 0;

/** When the nodes of each order of the engine are expected, for those that come soon. Orders that nobody has placed do not. */
function soonOrders(state: ReadonlyState, nowMs: number): ReadonlyMap<string, number> {
  const soon = new Map<string, number>();
  for (const order of state.capacityOrders.values()) {
    if ((orderDueAtMs(state, order) ?? nowMs) <= nowMs) continue;
    const atMs = Math.max(nowMs, expectedArrival(order, nowMs).p50AtMs);
    if (atMs <= nowMs + HELD_AHEAD_MS) soon.set(order.name, atMs);
  }
  return soon;
}

interface HeldPlaces {
  /** Position of each bucket in the queue order. */
  readonly ranks: ReadonlyMap<QueueBucket, number>;
  readonly places: readonly Reservation[];
  readonly nodes: ReadonlySet<NodeId>;
}

/** A request that starts, where, and whether the place was found beside what is held for requests ahead. */
interface Started {
  readonly bucket: QueueBucket;
  readonly workers: Placement["workers"];
  readonly isBeside: boolean;
}

export class HeldForOrders {
  readonly #world: World;
  readonly #nowMs: number;
  /** `null` until a request fits that could take held capacity, and after a start that changes held places. */
  #held: HeldPlaces | null = null;
  #searchCount = 0;
  #hasBlocked = false;
  #hasChanged = false;

  constructor(world: World, nowMs: number) {
    this.#world = world;
    this.#nowMs = nowMs;
  }

  /** Whether a request that fits was refused because of held capacity. */
  get hasBlocked(): boolean {
    return this.#hasBlocked;
  }

  /** Whether a request was refused because of places that a start has changed since, so that it may fit now. */
  get isOutdated(): boolean {
    return this.#hasBlocked && this.#hasChanged;
  }

  /** The held places, if a request was found that could take them. */
  get list(): readonly Reservation[] {
    return this.#hasBlocked ? this.all() : (this.#held?.places ?? []);
  }

  all(): readonly Reservation[] {
    return this.#find().places;
  }

  /** `placement`: where the request fits. Returns it, or another one that takes nothing that is held for requests ahead. */
  beside(bucket: QueueBucket, placement: Placement): Placement | null {
    const { ranks, places, nodes } = this.#find();
    const rank = ranks.get(bucket) ?? Number.POSITIVE_INFINITY;
    const ahead = places.filter((held) => (ranks.get(held.bucket) as number) < rank);
    const takesNone = ahead.length === 0 || placement.workers.every(({ node }) => !nodes.has(node));
    const found = takesNone ? placement : findBesideStarts(this.#world, bucket.request, ahead);
    this.#hasBlocked ||= found === null;
    return found;
  }

  /**
   * Must be called before each start. Places that are held for requests ahead have room beside it. Those of other requests are
   * searched again if it takes their nodes, and so are those of a workload whose last task starts.
   */
  started({ bucket, workers, isBeside }: Started): void {
    if (this.#held === null) return;
    const { ranks, places, nodes } = this.#held;
    const first = bucket.waiting.first();
    const isLast = first !== undefined && readyTaskCount(first, this.#nowMs) <= 1;
    const rank = isBeside ? (ranks.get(bucket) ?? Number.POSITIVE_INFINITY) : 0;
    const taken = new Set(workers.flatMap(({ node }) => (nodes.has(node) ? [node] : [])));
    const left = places.filter(
      (held) =>
        !(isLast && held.workloadId === first.id) &&
        ((ranks.get(held.bucket) as number) < rank || held.placement.workers.every(({ node }) => !taken.has(node))),
    );
    if (left.length === places.length) return;
    const isSearchedAgain = this.#searchCount < SEARCHES_MAX;
    this.#hasChanged ||= this.#hasBlocked || !isSearchedAgain;
    this.#held = isSearchedAgain ? null : { ranks, places: left, nodes: nodesOf(left) };
  }

  #find(): HeldPlaces {
    if (this.#held === null) {
      this.#searchCount++;
      this.#held = findHeldPlaces(this.#world, this.#nowMs);
    }
    return this.#held;
  }
}

const nodesOf = (places: readonly Reservation[]): ReadonlySet<NodeId> =>
  new Set(places.flatMap(({ placement }) => placement.workers.map(({ node }) => node)));

function findHeldPlaces(world: World, nowMs: number): HeldPlaces {
  const ranks = new Map<QueueBucket, number>();
  const places: Reservation[] = [];
  const soon = soonOrders(world.state, nowMs);
  const buckets = world.queue.waitingClasses().filter(({ request }) => !request.isGrowth);
  const order = queueOrder(world, buckets);
  const fleet = fleetWithExpectedNodes(world, nowMs);
  let taskCount = 0;
  for (let head = order.first(); head !== null && taskCount < TASKS_MAX; head = order.first()) {
    ranks.set(head, ranks.size);
    for (const { id, tasks } of isHeldByLimit(world, head.request) ? [] : tasksOf(head, nowMs)) {
      let placement: Placement | null = null;
      for (let task = 0; task < tasks; task++) {
        placement = ++taskCount > TASKS_MAX ? null : fleet.place(head.request);
        if (placement === null) break;
        const startMs = startOf(world.state, placement, soon);
        const held = startMs === null ? null : presentPart(world.state, placement);
        if (startMs === null || held === null) continue;
        const endMs = startMs + durationOf(head.request);
        places.push({ workloadId: id, bucket: head, placement: held, startMs, endMs });
      }
      if (placement === null) break;
    }
    order.drop(head);
  }
  fleet.end();
  return { ranks, places, nodes: nodesOf(places) };
}

function* tasksOf(
  { waiting }: QueueBucket,
  nowMs: number,
): Generator<{ readonly id: WorkloadId; readonly tasks: number }> {
  for (const workload of waiting.from(0)) yield { id: workload.id, tasks: readyTaskCount(workload, nowMs) };
}

const durationOf = ({ durationMs }: PlacementRequest): number => Math.max(1, durationMs);

/** Whether a node of an order takes no work yet: it waits for the others, or has to qualify. */
const isAwaited = ({ arriving, capacityOrder, qualification }: Node): boolean =>
  arriving === true || (capacityOrder !== undefined && qualification !== undefined && qualification.phase !== "failed");

/** When the last node of the placement comes; `null`: it needs no coming node, or one that comes late. */
function startOf({ nodes }: ReadonlyState, { workers }: Placement, soon: ReadonlyMap<string, number>): number | null {
  let startMs: number | null = null;
  for (const { node } of workers) {
    const known = nodes.get(node);
    if (known !== undefined && !isAwaited(known)) continue;
    const order = known === undefined ? orderOfExpected(node) : known.capacityOrder;
    const atMs = soon.get(order ?? "");
    if (atMs === undefined) return null;
    startMs = Math.max(startMs ?? atMs, atMs);
  }
  return startMs;
}

/** The workers on nodes that take work now; `null`: there are none. */
function presentPart({ nodes }: ReadonlyState, placement: Placement): Placement | null {
  const workers = placement.workers.filter(({ node }) => {
    const known = nodes.get(node);
    return known !== undefined && !isAwaited(known);
  });
  return workers.length === 0 ? null : { ...placement, workers };
}
