/**
 * Capacity orders with whose nodes the fleet could hold a workload that it cannot hold now. The nodes join a copy of the
 * fleet without work; nothing is decided there. An order is no capacity, so this answers only "when", never "where".
 */
import { clockOf } from "@headroom/engine";
import type { Engine, ReadonlyState } from "@headroom/engine";
import { expectedArrival, isOfTypes, isOutstanding, nodeId, poolName } from "@headroom/model";
import type { CapacityOrder, ExpectedArrival, Input, NodeSpec, WorkloadId } from "@headroom/model";
import {
  couldEverFit,
  fitsUsableFleet,
  forkFleet,
  isBeyondQuotas,
  takeInOnly,
  worldOf,
} from "@headroom/engine/internals";
import type { PlacementRequest, QueueBucket } from "@headroom/engine/internals";
import { counterfactualCommand } from "./counterfactuals.ts";

export interface ExpectedCapacity {
  /** The orders that are needed together, the first expected one first. */
  readonly orders: readonly CapacityOrder[];
  /** When the last of them is expected. */
  readonly p50AtMs: number;
  readonly p95AtMs: number;
}

/** Orders that are tried for one workload, the first expected ones. */
const ORDERS_TRIED_MAX = 32;
/** Nodes that are tried for one workload. */
const NODES_TRIED_MAX = 50_000;

interface Known {
  readonly sequence: number;
  readonly nowMs: number;
  /** A copy of the fleet for all requests. */
  readonly fleet: Engine;
  readonly byBucket: Map<QueueBucket, ExpectedCapacity | null>;
}

/** Answers for the present state. Equal requests share one, and all share a copy of the fleet. */
const answers = new WeakMap<Engine, Known>();

/** `null`: the fleet could hold the workload, no outstanding order would change that, or it does not wait. */
export function expectedCapacity(engine: Engine, id: WorkloadId): ExpectedCapacity | null {
  const { state } = engine;
  const workload = state.workloads.get(id);
  if (workload === undefined || workload.endedAtMs !== null || !hasOutstanding(state)) return null;
  const world = worldOf(engine);
  const bucket = world.queue.classOf(workload);
  if (couldEverFit(world, bucket)) return null;
  const { byBucket, fleet } = answersOf(engine);
  const known = byBucket.get(bucket);
  if (known !== undefined) return known;
  const answer = neededOrders(engine, new OrderedFleet(fleet, bucket.request));
  byBucket.set(bucket, answer);
  return answer;
}

function answersOf(engine: Engine): Known {
  const { sequence } = engine.state;
  const nowMs = clockOf(engine);
  const known = answers.get(engine);
  if (known?.sequence === sequence && known.nowMs === nowMs) return known;
  const fresh: Known = { sequence, nowMs, fleet: forkFleet(engine), byBucket: new Map() };
  answers.set(engine, fresh);
  return fresh;
}

const hasOutstanding = ({ capacityOrders }: ReadonlyState): boolean => {
  for (const order of capacityOrders.values()) if (isOutstanding(order)) return true;
  return false;
};

/** The first expected orders that are enough. No order can be left out, and the last one is needed. */
function neededOrders(engine: Engine, ordered: OrderedFleet): ExpectedCapacity | null {
  const nowMs = clockOf(engine);
  const taken: CapacityOrder[] = [];
  let fits = false;
  for (const order of usefulOrders(engine.state, ordered.request, nowMs)) {
    if (fits || !ordered.add(order)) break;
    taken.push(order);
    fits = ordered.fits();
  }
  const needed = fits ? taken.filter((order, at) => at === taken.length - 1 || !ordered.fitsWithout(order)) : [];
  ordered.clear();
  if (!fits) return null;
  const expected = needed.map((order) => provenArrival(engine.state, order, nowMs));
  return {
    orders: needed,
    p50AtMs: Math.max(...expected.map(({ p50AtMs }) => p50AtMs)),
    p95AtMs: Math.max(...expected.map(({ p95AtMs }) => p95AtMs)),
  };
}

/** When nodes of the order are in service: the limit of the suite that they have to pass is part of the lead time. */
function provenArrival({ pools }: ReadonlyState, order: CapacityOrder, nowMs: number): ExpectedArrival {
  const { p50AtMs, p95AtMs } = expectedArrival(order, nowMs);
  const proofMs = pools.get(order.pool)?.qualification?.limitMs ?? 0;
  return { p50AtMs: p50AtMs + proofMs, p95AtMs: p95AtMs + proofMs };
}

/** Outstanding orders of accepted accelerator types: ordered ones before planned ones, then by their expected dates. */
function usefulOrders(
  { capacityOrders, pools, poolRemovals }: ReadonlyState,
  { acceleratorTypes }: PlacementRequest,
  nowMs: number,
): readonly CapacityOrder[] {
  const useful = [...capacityOrders.values()].filter((order) => {
    const pool = pools.get(order.pool);
    if (pool === undefined || poolRemovals.has(order.pool) || !isOutstanding(order)) return false;
    return order.joinedCount < order.nodeCount && isOfTypes(acceleratorTypes, pool);
  });
  const rank = ({ orderedAtMs }: CapacityOrder): number => (orderedAtMs === null ? 1 : 0);
  const expected = (order: CapacityOrder): number => expectedArrival(order, nowMs).p50AtMs;
  return useful
    .toSorted((left, right) => rank(left) - rank(right) || expected(left) - expected(right))
    .slice(0, ORDERS_TRIED_MAX);
}

/** A copy of the fleet that nodes of orders join and leave. */
class OrderedFleet {
  readonly request: PlacementRequest;
  readonly #fleet: Engine;
  readonly #nodes = new Map<string, readonly NodeSpec[]>();
  #nodeCount = 0;

  constructor(fleet: Engine, request: PlacementRequest) {
    this.#fleet = fleet;
    this.request = request;
  }

  /** False: the nodes would be more than are tried. */
  add(order: CapacityOrder): boolean {
    // Each worker lies on one node, so further nodes of the same shape do not help.
    const count = Math.min(order.nodeCount - order.joinedCount, this.request.workers);
    this.#nodeCount += count;
    if (this.#nodeCount > NODES_TRIED_MAX) return false;
    const nodes = orderedNodes(this.#fleet.state, order, count);
    this.#nodes.set(order.name, nodes);
    this.#join(nodes);
    return true;
  }

  fits(): boolean {
    const world = worldOf(this.#fleet);
    return fitsUsableFleet(world, this.request) && !isBeyondQuotas(world, this.request);
  }

  /** Leaves the order out if the others are enough. */
  fitsWithout({ name }: CapacityOrder): boolean {
    const nodes = this.#nodes.get(name) ?? [];
    this.#remove(nodes);
    if (this.fits()) {
      this.#nodes.delete(name);
      return true;
    }
    this.#join(nodes);
    return false;
  }

  /** Leaves the fleet as it was. */
  clear(): void {
    for (const nodes of this.#nodes.values()) this.#remove(nodes);
    this.#nodes.clear();
  }

  #join(nodes: readonly NodeSpec[]): void {
    this.#takeIn(nodes.map((node): Input => ({ kind: "nodeSeen", node })));
    // They count as nodes that have passed the suite of their pool.
    const unproven = nodes.flatMap(({ id: node }) => {
      const { id, run = 0 } = this.#fleet.state.nodes.get(node)?.qualification ?? {};
      return id === undefined ? [] : [{ nodeId: node, id, run: run + 1 }];
    });
    this.#takeIn(unproven.map((each): Input => ({ kind: "qualificationStarted", ...each, expectedMs: 0 })));
    const passed = { isPassed: true, detail: "", durationMs: 0 };
    this.#takeIn(unproven.map((each): Input => ({ kind: "qualificationEnded", ...each, ...passed })));
  }

  #remove(nodes: readonly NodeSpec[]): void {
    this.#takeIn(nodes.map(({ id }) => counterfactualCommand({ kind: "removeNode", nodeId: id, running: "refuse" })));
  }

  #takeIn(inputs: readonly Input[]): void {
    takeInOnly(this.#fleet, inputs, clockOf(this.#fleet));
  }
}

/** Nodes of an order, as far as they are outstanding, in fabric domains of their own: where they will stand is not known. */
export function orderedNodes(
  { pools, sites }: ReadonlyState,
  { name, pool, shape }: CapacityOrder,
  count: number,
): readonly NodeSpec[] {
  const site = pools.get(pool)?.site;
  const levels = (site === undefined ? undefined : sites.get(site))?.fabricLevels ?? [];
  const labels = pools.get(pool)?.labels;
  return Array.from({ length: count }, (_, index) => ({
    // No name of an order or a node contains a space.
    id: nodeId(`${name} ${index + 1}`),
    pool: poolName(pool),
    fabric: levels.map(() => `order ${name}`),
    ...shape,
    ...(labels === undefined ? {} : { labels }),
  }));
}
