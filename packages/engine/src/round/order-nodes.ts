/**
 * Chooses the nodes to order: waiting requests are placed, in queue order, on the fleet with all nodes that are coming.
 * A request that does not fit there gets the fewest further nodes, in the pool where they cost least.
 */
import {
  DAY_MS,
  GROUND_WORKLOADS_MAX,
  MANUAL_PROVISIONER,
  OPEN_ORDERS_MAX,
  extraNodesOf,
  giveUpMsOf,
  isOfTypes,
  isOrderOver,
  isOutstanding,
  hashText,
  taskOf,
  whySuspended,
} from "@headroom/model";
import type { BurstRule, CapacityOrder, NodeId, Pool, WorkloadId } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { queueOrder } from "../ordering/round-order.ts";
import { reservationsOf } from "../placement/backfill/reservations.ts";
import { isHeldByLimit } from "../placement/could-ever.ts";
import { fleetWithExpectedNodes } from "../placement/expected-nodes.ts";
import type { ExtendedFleet } from "../placement/extended-fleet.ts";
import { readyTask, readyTaskCount } from "../state/ready-task.ts";
import type { ReadonlyState, WorkloadEntity } from "../state/state.ts";
import { wakeAt } from "./wake-at.ts";

/** Tasks that are placed on the expected fleet in one round. The others are looked at when these have their nodes. */
const TASKS_MAX = 4_096;

/** A pool for which nodes may be ordered now, with the nodes that this round orders. */
interface OpenPool {
  readonly pool: Pool;
  readonly rule: BurstRule;
  readonly order: string;
  /** Nodes that rules and budgets allow beside those that exist or are coming. */
  readonly nodesMax: number;
  readonly extraNodes: number;
  nodes: number;
  tasks: number;
  waitedMs: number;
  readonly workloads: Set<WorkloadId>;
  readonly dearer: Map<string, { nodes: number; microUsdPerHour: number }>;
}

/** Returns the nodes of the fleet that waiting work or protected starts count on. */
export function orderForWaiting(batch: Batch, pools: readonly Pool[]): ReadonlySet<NodeId> {
  const { world } = batch;
  const needed = new Set(reservationsOf(world).flatMap(({ placement }) => placement.workers.map(({ node }) => node)));
  if (!world.queue.hasRequests) return needed;
  const open = pools.flatMap((pool) => openPool(batch, pool) ?? []);
  const isExpecting = [...world.state.capacityOrders.values()].some(isOutstanding);
  if (open.length === 0 && !isExpecting) return needed;
  const buckets = world.queue.waitingClasses().filter(({ request }) => !request.isGrowth);
  if (!isExpecting && !anyMayBurst(batch, buckets, open)) return needed;
  const search = new OrderSearch(batch, open);
  const order = queueOrder(world, buckets);
  for (let head = order.first(); head !== null && !search.isOver; head = order.first()) {
    search.cover(head);
    order.drop(head);
  }
  for (const node of search.end()) needed.add(node);
  for (const each of open) if (each.nodes > 0) decide(batch, each);
  return needed;
}

/** Whether some waiting workload has waited long enough for a pool whose nodes could hold one of its workers. */
function anyMayBurst(batch: Batch, buckets: readonly QueueBucket[], open: readonly OpenPool[]): boolean {
  for (const bucket of buckets)
    for (const each of open) {
      if (couldHold(each, bucket.request) && hasWaitedIn(batch, bucket, each.rule)) return true;
    }
  return false;
}

/**
 * Whether a workload of the bucket has waited long enough. The bucket knows a bound below which no wait began, so that its workloads are
 * read only when one of them may be due, not in every round.
 */
function hasWaitedIn(batch: Batch, bucket: QueueBucket, rule: BurstRule): boolean {
  const boundMs = bucket.waitsSinceMs + rule.orderAfterMs;
  if (boundMs > batch.nowMs) {
    wakeAt(batch, boundMs);
    return false;
  }
  let sinceMs = Number.POSITIVE_INFINITY;
  for (const workload of bucket.waiting.from(0)) {
    if (hasWaited(batch, workload, rule)) return true;
    sinceMs = Math.min(sinceMs, waitsSinceMs(workload, batch.nowMs));
  }
  bucket.waitsSinceMs = sinceMs;
  return false;
}

/** A quick test that leaves out constraints. */
const couldHold = ({ pool, rule }: OpenPool, { acceleratorTypes, gang }: PlacementRequest): boolean =>
  isOfTypes(acceleratorTypes, pool) &&
  (gang.taskGroups !== undefined ||
    (gang.accelerators <= rule.acceleratorCount &&
      gang.coresMilli <= rule.coresMilli &&
      gang.memoryMib <= rule.memoryMib));

/** When the workload's next task began to wait. */
function waitsSinceMs(workload: WorkloadEntity, nowMs: number): number {
  const task = readyTask(workload, nowMs);
  const retryAtMs = task === null || task >= workload.nextTask ? 0 : (taskOf(workload, task).retryAtMs ?? 0);
  return Math.max(workload.submittedAtMs, workload.spec.notBeforeMs ?? 0, retryAtMs);
}

function hasWaited(batch: Batch, workload: WorkloadEntity, { orderAfterMs }: BurstRule): boolean {
  const dueAtMs = waitsSinceMs(workload, batch.nowMs) + orderAfterMs;
  if (dueAtMs <= batch.nowMs) return true;
  wakeAt(batch, dueAtMs);
  return false;
}

const extraNodesIn = ({ capacityOrders }: ReadonlyState, pool: Pool): number => {
  let count = 0;
  for (const order of capacityOrders.values())
    if (order.pool === pool.name && order.automatic !== undefined) count += extraNodesOf(order);
  return count;
};

/** `null`: the rules of the pool allow no further node now. */
function openPool(batch: Batch, pool: Pool): OpenPool | null {
  const { state } = batch.world;
  const { burst: rule, name } = pool;
  const account = state.burstAccounts.get(name);
  if (rule === undefined || state.poolRemovals.has(name)) return null;
  const contact = state.executorStates.get(pool.executor);
  if (contact !== undefined && whySuspended(contact) !== null) return null;
  if ((account?.blockedUntilMs ?? 0) > batch.nowMs) {
    wakeAt(batch, account?.blockedUntilMs ?? 0);
    return null;
  }
  if ([...state.capacityOrders.values()].filter((each) => !isOrderOver(each)).length >= OPEN_ORDERS_MAX) return null;
  const extraNodes = extraNodesIn(state, pool);
  const nodesMax = Math.min(
    rule.nodesMax - extraNodes,
    leftToday(batch, rule, account),
    affordable(pool, rule, extraNodes),
  );
  if (nodesMax <= 0) return null;
  return {
    pool,
    rule,
    order: freeName(state, orderName(name, (account?.orderCount ?? 0) + 1)),
    nodesMax,
    extraNodes,
    nodes: 0,
    tasks: 0,
    waitedMs: 0,
    workloads: new Set(),
    dearer: new Map(),
  };
}

/** `burst-spot-7`. Names of orders are bounded, so a long name of a pool is shortened, with a hash that tells it apart. */
function orderName(pool: string, count: number): string {
  const known =
    pool.length <= POOL_NAME_SHOWN ? pool : `${pool.slice(0, POOL_NAME_SHOWN - 9)}-${hashText(pool).slice(0, 8)}`;
  return `burst-${known}-${count}`;
}

const POOL_NAME_SHOWN = 44;

/** People name orders too. An order never replaces another one, and its provisioner must not know its name already. */
function freeName({ capacityOrders }: ReadonlyState, wanted: string): string {
  let name = wanted;
  for (let further = 2; capacityOrders.has(name); further++) name = `${wanted}-${further}`;
  return name;
}

function leftToday(
  batch: Batch,
  { nodesPerDay }: BurstRule,
  account: { readonly dayStartMs: number; readonly dayNodes: number } | undefined,
): number {
  if (nodesPerDay === undefined) return Number.POSITIVE_INFINITY;
  const dayStartMs = batch.nowMs - (batch.nowMs % DAY_MS);
  const left = nodesPerDay - (account?.dayStartMs === dayStartMs ? account.dayNodes : 0);
  if (left <= 0) wakeAt(batch, dayStartMs + DAY_MS);
  return left;
}

const nodeHour = ({ priceMicroUsdPerHour }: Pool, { acceleratorCount }: BurstRule): number =>
  priceMicroUsdPerHour * Math.max(1, acceleratorCount);

/** Nodes that cost no more than the pool's money, even if no extra node is released for a day. */
function affordable(pool: Pool, rule: BurstRule, extraNodes: number): number {
  const dayPrice = 24 * nodeHour(pool, rule);
  if (rule.microUsdPerDay === undefined || dayPrice === 0) return Number.POSITIVE_INFINITY;
  return Math.floor(rule.microUsdPerDay / dayPrice) - extraNodes;
}

class OrderSearch {
  readonly #batch: Batch;
  readonly #fleet: ExtendedFleet;
  readonly #open: readonly OpenPool[];
  readonly #needed = new Set<NodeId>();
  #taskCount = 0;

  constructor(batch: Batch, open: readonly OpenPool[]) {
    this.#batch = batch;
    this.#open = open;
    this.#fleet = fleetWithExpectedNodes(batch.world, batch.nowMs);
  }

  get isOver(): boolean {
    return this.#taskCount >= TASKS_MAX;
  }

  /** Places the tasks of a bucket, and orders nodes for those that do not fit. */
  cover({ request, waiting }: QueueBucket): void {
    if (isHeldByLimit(this.#batch.world, request)) return;
    for (const workload of waiting.from(0)) {
      const count = readyTaskCount(workload, this.#batch.nowMs);
      for (let task = 0; task < count; task++) {
        if (this.isOver) return;
        this.#taskCount++;
        if (!this.#place(request) && !this.#order(request, workload)) break;
      }
    }
  }

  /** Returns the nodes that waiting work counts on. */
  end(): ReadonlySet<NodeId> {
    this.#fleet.end();
    return this.#needed;
  }

  #place(request: PlacementRequest): boolean {
    const placement = this.#fleet.place(request);
    for (const { node } of placement?.workers ?? []) this.#needed.add(node);
    return placement !== null;
  }

  #order(request: PlacementRequest, workload: WorkloadEntity): boolean {
    const { nowMs } = this.#batch;
    const choices = this.#open.flatMap((each) => {
      const { pool, rule, order } = each;
      if (!couldHold(each, request) || !hasWaited(this.#batch, workload, rule)) return [];
      if (this.#startsBefore(workload, nowMs + rule.leadTimeMs)) return [];
      const nodes = this.#fleet.fewest(request, {
        pool,
        shape: shapeOf(rule),
        order,
        count: each.nodesMax - each.nodes,
      });
      return nodes === null ? [] : [{ each, nodes, microUsdPerHour: nodes * nodeHour(pool, rule) }];
    });
    // The sort is stable: among equals, the pool that was defined first.
    const [best, ...others] = choices.toSorted(
      (left, right) =>
        left.microUsdPerHour - right.microUsdPerHour || left.each.rule.leadTimeMs - right.each.rule.leadTimeMs,
    );
    if (best === undefined) return false;
    const { each, nodes } = best;
    this.#fleet.join({ pool: each.pool, shape: shapeOf(each.rule), order: each.order, count: nodes });
    if (!this.#place(request)) return false;
    each.nodes += nodes;
    each.tasks++;
    each.workloads.add(workload.id);
    each.waitedMs = Math.max(each.waitedMs, nowMs - waitsSinceMs(workload, nowMs));
    for (const other of others) addDearer(each, other.each.pool.name, other);
    return true;
  }

  /** Whether a protected start of the workload begins before ordered nodes would take work. */
  #startsBefore({ id }: WorkloadEntity, atMs: number): boolean {
    const { world } = this.#batch;
    // A place that is held for ordered work (`held-for-orders.ts`) is that of one task, and the other tasks need nodes too.
    if (world.rules.backfill.protectedStarts === 0) return false;
    return reservationsOf(world).some(({ workloadId, startMs }) => workloadId === id && startMs <= atMs);
  }
}

function addDearer(
  { dearer }: OpenPool,
  pool: string,
  { nodes, microUsdPerHour }: { readonly nodes: number; readonly microUsdPerHour: number },
): void {
  const known = dearer.get(pool) ?? { nodes: 0, microUsdPerHour: 0 };
  dearer.set(pool, { nodes: known.nodes + nodes, microUsdPerHour: known.microUsdPerHour + microUsdPerHour });
}

const shapeOf = ({ acceleratorCount, coresMilli, memoryMib }: BurstRule): CapacityOrder["shape"] => ({
  acceleratorCount,
  coresMilli,
  memoryMib,
});

function decide(batch: Batch, open: OpenPool): void {
  const { pool, rule, order: name, nodes, workloads, dearer } = open;
  // A provisioner that stays silent causes no round.
  wakeAt(batch, batch.nowMs + giveUpMsOf(rule.leadTimeP95Ms));
  batch.emit({
    kind: "capacityOrderDecided",
    version: 2,
    atMs: batch.nowMs,
    order: {
      name,
      pool: pool.name,
      nodeCount: nodes,
      shape: shapeOf(rule),
      arrival: { kind: "leadTime", p50Ms: rule.leadTimeMs, p95Ms: rule.leadTimeP95Ms },
      price: { microUsd: pool.priceMicroUsdPerHour, per: "acceleratorHour" },
    },
    provisioner: rule.provisioner,
    releaseAfterMs: rule.releaseAfterMs,
    ground: {
      workloads: [...workloads].slice(0, GROUND_WORKLOADS_MAX),
      workloadCount: workloads.size,
      taskCount: open.tasks,
      waitedMs: open.waitedMs,
      extraNodes: open.extraNodes,
      microUsdPerHour: nodes * nodeHour(pool, rule),
      dearerPools: Array.from(dearer, ([dearerPool, cost]) => ({ pool: dearerPool, ...cost })),
    },
    ...(rule.provisioner === MANUAL_PROVISIONER ? {} : { requestId: null }),
  });
}
