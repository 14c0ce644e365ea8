/**
 * Nodes with which waiting work would start, of any pool: the question that a person has before an order. The engine orders by the same
 * search for pools with `burst` (`engine/src/round/order-nodes.ts`); here no rule, wait or budget of a pool counts.
 */
import { isOfTypes } from "@headroom/model";
import type { NodeShape, Pool, WorkloadId } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import {
  fleetWithExpectedNodes,
  isHeldByLimit,
  queueOrder,
  readyTaskCount,
  reservationsOf,
  worldOf,
} from "@headroom/engine/internals";
import type { ExtendedFleet, PlacementRequest, QueueBucket, World } from "@headroom/engine/internals";

export interface AdviceQuestion {
  /** Only nodes of this pool. `null`: of any. */
  readonly pool: string | null;
  /** Only nodes for this workload; the work ahead of it gets its places first. `null`: for all. */
  readonly workload: string | null;
  /** Most nodes for one pool. */
  readonly nodesMax: number;
}

/** Nodes of one pool. Money is in micro US dollars an hour; times are in ms. */
export interface AdvisedOrder {
  readonly pool: string;
  readonly nodes: number;
  readonly shape: NodeShape;
  readonly microUsdPerHour: number;
  readonly leadTime: LeadTime | null;
  readonly taskCount: number;
  readonly workloadCount: number;
  /** At most `NAMED_MAX`. */
  readonly workloads: readonly WorkloadId[];
  /** Other pools that could hold the same work. */
  readonly others: readonly { readonly pool: string; readonly nodes: number; readonly microUsdPerHour: number }[];
}

export interface LeadTime {
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/** `limit`: quotas or budgets. `noPool`: no pool has such nodes, or not enough of them would help. */
export type UnservedReason = "limit" | "noPool";

export interface OrderAdvice {
  readonly orders: readonly AdvisedOrder[];
  /** Tasks that start without an order: on free nodes, on nodes that are coming, or at their protected start. */
  readonly taskCountWithout: number;
  readonly unserved: readonly { readonly workload: WorkloadId; readonly reason: UnservedReason }[];
  readonly unservedCount: number;
  /** False: the queue is longer than what was looked at. */
  readonly isComplete: boolean;
}

/** Workloads that are named for an order, and that no order serves. */
const NAMED_MAX = 20;
/** Tasks that are placed, and searches for nodes of a pool. */
const TASKS_MAX = 4_096;
const SEARCHES_MAX = 2_048;

interface AdvisedPool {
  readonly pool: Pool;
  readonly shape: NodeShape;
  readonly leadTime: LeadTime | null;
  /** Name of the considered order. Names of orders have no colon. */
  readonly order: string;
  nodes: number;
  taskCount: number;
  readonly workloads: Set<WorkloadId>;
  readonly others: Map<string, { nodes: number; microUsdPerHour: number }>;
}

export function orderAdvice(engine: Engine, question: AdviceQuestion, nowMs: number): OrderAdvice {
  const world = worldOf(engine);
  const candidates = [...world.state.pools.values()].flatMap((pool) => advisedPoolOf(world, pool, question) ?? []);
  const search = new AdviceSearch(world, candidates, question, nowMs);
  const order = queueOrder(
    world,
    world.queue.waitingClasses().filter(({ request }) => !request.isGrowth),
  );
  for (let head = order.first(); head !== null && !search.isOver; head = order.first()) {
    search.cover(head);
    order.drop(head);
  }
  return search.end();
}

/** `null`: nothing says which nodes the pool has. */
function advisedPoolOf(world: World, pool: Pool, { pool: wanted }: AdviceQuestion): AdvisedPool | null {
  const { burst, name } = pool;
  if ((wanted !== null && wanted !== name) || world.state.poolRemovals.has(name)) return null;
  const shape = burst === undefined ? usualShape(world, pool) : shapeOf(burst);
  if (shape === null) return null;
  return {
    pool,
    shape,
    leadTime:
      burst === undefined ? newestLeadTime(world, pool) : { p50Ms: burst.leadTimeMs, p95Ms: burst.leadTimeP95Ms },
    order: `advised:${name}`,
    nodes: 0,
    taskCount: 0,
    workloads: new Set(),
    others: new Map(),
  };
}

const shapeOf = ({ acceleratorCount, coresMilli, memoryMib }: NodeShape): NodeShape => ({
  acceleratorCount,
  coresMilli,
  memoryMib,
});

/** The shape of most nodes of the pool; among equals, the one that joined first. */
function usualShape({ state }: World, { name }: Pool): NodeShape | null {
  const counts = new Map<string, { readonly shape: NodeShape; count: number }>();
  for (const node of state.nodes.values()) {
    if (node.pool !== name) continue;
    const shape = shapeOf(node);
    const key = JSON.stringify(shape);
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { shape, count: 1 });
    else known.count += 1;
  }
  return [...counts.values()].toSorted((left, right) => right.count - left.count)[0]?.shape ?? null;
}

/** The lead time that the newest order of the pool stated. */
function newestLeadTime({ state }: World, { name }: Pool): LeadTime | null {
  const { arrival } = [...state.capacityOrders.values()].findLast((each) => each.pool === name) ?? {};
  return arrival?.kind === "leadTime" ? { p50Ms: arrival.p50Ms, p95Ms: arrival.p95Ms } : null;
}

const priceOf = ({ pool, shape }: AdvisedPool, nodes: number): number =>
  nodes * Math.max(1, shape.acceleratorCount) * pool.priceMicroUsdPerHour;

class AdviceSearch {
  readonly #world: World;
  readonly #fleet: ExtendedFleet;
  readonly #candidates: readonly AdvisedPool[];
  readonly #question: AdviceQuestion;
  readonly #nowMs: number;
  readonly #unserved: { workload: WorkloadId; reason: UnservedReason }[] = [];
  #unservedCount = 0;
  #taskCountWithout = 0;
  #taskCount = 0;
  #searchCount = 0;
  /** Workloads whose protected start is counted: it is that of one task. */
  readonly #protected = new Set<WorkloadId>();

  constructor(world: World, candidates: readonly AdvisedPool[], question: AdviceQuestion, nowMs: number) {
    this.#world = world;
    this.#candidates = candidates;
    this.#question = question;
    this.#nowMs = nowMs;
    this.#fleet = fleetWithExpectedNodes(world, nowMs);
  }

  get isOver(): boolean {
    return this.#taskCount >= TASKS_MAX || this.#searchCount >= SEARCHES_MAX;
  }

  cover({ request, waiting }: QueueBucket): void {
    const isLimited = isHeldByLimit(this.#world, request);
    // Equal requests fail equally: after the first one that nothing holds, no search is needed.
    let isHopeless = isLimited;
    // Work that nobody asked about had no place, and was not searched for.
    let isSkipped = false;
    for (const workload of waiting.from(0)) {
      if (this.isOver) return;
      const { id } = workload;
      if (!isHopeless || (isSkipped && this.#isWanted(id)))
        isHopeless = !this.#coverTasks(request, id, readyTaskCount(workload, this.#nowMs));
      isSkipped = isHopeless && !isLimited && !this.#isWanted(id);
      if (isHopeless && this.#isWanted(id)) this.#noteUnserved(id, isLimited ? "limit" : "noPool");
    }
  }

  end(): OrderAdvice {
    this.#fleet.end();
    const chosen = this.#candidates.filter(({ nodes }) => nodes > 0);
    return {
      orders: chosen.map((each) => ({
        pool: each.pool.name,
        nodes: each.nodes,
        shape: each.shape,
        microUsdPerHour: priceOf(each, each.nodes),
        leadTime: each.leadTime,
        taskCount: each.taskCount,
        workloadCount: each.workloads.size,
        workloads: [...each.workloads].slice(0, NAMED_MAX),
        others: Array.from(each.others, ([pool, cost]) => ({ pool, ...cost })),
      })),
      taskCountWithout: this.#taskCountWithout,
      unserved: this.#unserved,
      unservedCount: this.#unservedCount,
      isComplete: !this.isOver,
    };
  }

  #isWanted(id: WorkloadId): boolean {
    return this.#question.workload === null || this.#question.workload === id;
  }

  /** Returns whether all tasks have a place. */
  #coverTasks(request: PlacementRequest, id: WorkloadId, count: number): boolean {
    for (let task = 0; task < count && !this.isOver; task++) {
      this.#taskCount++;
      if (this.#fleet.place(request) !== null) {
        if (this.#isWanted(id)) this.#taskCountWithout++;
        continue;
      }
      // Work that nobody asked about gets no nodes, and equal work behind it has no place either.
      if (!this.#isWanted(id) || !this.#order(request, id)) return false;
    }
    return true;
  }

  #order(request: PlacementRequest, id: WorkloadId): boolean {
    const startMs = this.#protected.has(id) ? null : this.#protectedStartMs(id);
    if (startMs !== null) this.#protected.add(id);
    const choices = this.#candidates.flatMap((each) => {
      const { pool, shape, order, leadTime } = each;
      if (!isOfTypes(request.acceleratorTypes, pool) || this.#searchCount >= SEARCHES_MAX) return [];
      if (startMs !== null && startMs <= this.#nowMs + (leadTime?.p50Ms ?? 0)) return [];
      this.#searchCount++;
      const count = this.#question.nodesMax - each.nodes;
      const nodes = this.#fleet.fewest(request, { pool, shape, order, count });
      return nodes === null ? [] : [{ each, nodes, microUsdPerHour: priceOf(each, nodes) }];
    });
    const [best, ...others] = choices.toSorted(
      (left, right) =>
        // A pool without a price is not free: its price is not known.
        Number(left.microUsdPerHour === 0) - Number(right.microUsdPerHour === 0) ||
        left.microUsdPerHour - right.microUsdPerHour ||
        (left.each.leadTime?.p50Ms ?? Infinity) - (right.each.leadTime?.p50Ms ?? Infinity) ||
        left.nodes * left.each.shape.acceleratorCount - right.nodes * right.each.shape.acceleratorCount,
    );
    if (best === undefined) {
      if (startMs === null) return false;
      this.#taskCountWithout++;
      return true;
    }
    const { each, nodes } = best;
    this.#fleet.join({ pool: each.pool, shape: each.shape, order: each.order, count: nodes });
    if (this.#fleet.place(request) === null) return false;
    each.nodes += nodes;
    each.taskCount++;
    each.workloads.add(id);
    for (const other of others) {
      const { name } = other.each.pool;
      const known = each.others.get(name) ?? { nodes: 0, microUsdPerHour: 0 };
      each.others.set(name, {
        nodes: known.nodes + other.nodes,
        microUsdPerHour: known.microUsdPerHour + other.microUsdPerHour,
      });
    }
    return true;
  }

  #protectedStartMs(id: WorkloadId): number | null {
    if (this.#world.rules.backfill.protectedStarts === 0) return null;
    return reservationsOf(this.#world).find(({ workloadId }) => workloadId === id)?.startMs ?? null;
  }

  #noteUnserved(workload: WorkloadId, reason: UnservedReason): void {
    this.#unservedCount++;
    if (this.#unserved.length < NAMED_MAX) this.#unserved.push({ workload, reason });
  }
}
