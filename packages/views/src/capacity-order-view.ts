/** Capacity orders as resources of the API, and its requests as commands. */
import type { Engine, ReadonlyState } from "@headroom/engine";
import type { OrderCommandBody } from "@headroom/explain";
import { expectedArrival, isOrderOver, isOutstanding, poolName } from "@headroom/model";
import type { BurstGround, CapacityOrder as EngineOrder } from "@headroom/model";
import { PAGE_ITEMS_DEFAULT } from "@headroom/protocol";
import type { AdvanceRequest, CapacityOrder, OrderQuery, OrderRequest, Page } from "@headroom/protocol";
import { orderLateMs, orderSentence } from "./capacity-order-text.ts";
import { refusedCursor } from "./page-cursor.ts";

/** Maximum number of ids of nodes in one order's resource. */
const NODES_SHOWN_MAX = 1_000;

/** Orders in the order of creation, as of an instant: the engine of an idle fleet has an old clock. The cursor is the name of the last order of a page. */
export function orderList(
  { state }: Engine,
  {
    pool,
    all,
    cursor,
    limit = PAGE_ITEMS_DEFAULT,
  }: Partial<Omit<OrderQuery, "cursor">> & { cursor?: string | null | undefined },
  nowMs: number,
): Page<CapacityOrder> {
  const names = [...state.capacityOrders.keys()];
  const after = cursor === undefined || cursor === null ? -1 : names.indexOf(cursor);
  if (after < 0 && typeof cursor === "string") throw refusedCursor(cursor);
  const chosen = [...state.capacityOrders.values()]
    .slice(after + 1)
    .filter((order) => (pool === undefined || order.pool === pool) && (all === true || !isOrderOver(order)));
  const page = chosen.slice(0, limit);
  const nodes = nodesByOrder(state);
  const items = page.map((order) => orderResource(order, nodes.get(order.name) ?? [], nowMs));
  return { items, nextCursor: chosen.length > page.length ? (page.at(-1)?.name ?? null) : null };
}

/** The order; `null`: it does not exist. */
export function orderView({ state }: Engine, name: string, nowMs: number): CapacityOrder | null {
  const order = state.capacityOrders.get(name);
  if (order === undefined) return null;
  return orderResource(order, nodesByOrder(state).get(name) ?? [], nowMs);
}

function nodesByOrder({ nodes }: ReadonlyState): ReadonlyMap<string, readonly string[]> {
  const byOrder = new Map<string, string[]>();
  for (const { id, capacityOrder: name } of nodes.values()) {
    if (name === undefined) continue;
    const ids = byOrder.get(name);
    if (ids === undefined) byOrder.set(name, [id]);
    else ids.push(id);
  }
  return byOrder;
}

function orderResource(order: EngineOrder, nodes: readonly string[], nowMs: number): CapacityOrder {
  const { name, pool, phase, nodeCount, joinedCount, shape, arrival, price, orderedAtMs, changes } = order;
  return {
    name,
    pool,
    phase,
    nodeCount,
    joinedCount,
    shape: { ...shape },
    arrival: { ...arrival },
    ...(price === undefined ? {} : { price: { ...price } }),
    orderedAtMs,
    expected: isOutstanding(order) ? { ...expectedArrival(order, nowMs) } : null,
    lateMs: orderLateMs(order, nowMs),
    nodes: nodes.slice(0, NODES_SHOWN_MAX),
    changes: changes.map((change) => ({ ...change })),
    automatic: automaticPart(order),
    sentence: orderSentence(order, nowMs),
  };
}

function automaticPart({ automatic }: EngineOrder): CapacityOrder["automatic"] {
  if (automatic === undefined) return null;
  const { ground, nodeNames } = automatic;
  return { ...automatic, ground: groundForm(ground), nodeNames: nodeNames.slice(0, NODES_SHOWN_MAX) };
}

/** Ids of workloads are left out: a reader of the order may not be a reader of every team. */
const groundForm = ({
  workloads: _ids,
  dearerPools,
  ...ground
}: BurstGround): NonNullable<CapacityOrder["automatic"]>["ground"] => ({
  ...ground,
  dearerPools: dearerPools.map((each) => ({ ...each })),
});

export const createOrderCommand = ({
  phase,
  reason,
  pool,
  ...order
}: OrderRequest): OrderCommandBody & {
  readonly kind: "createCapacityOrder";
} => {
  const { name, nodeCount, arrival, price, shape } = order;
  const stated = { ...(price === undefined ? {} : { price }), ...(shape === undefined ? {} : { shape }) };
  return {
    kind: "createCapacityOrder",
    order: { name, pool: poolName(pool), nodeCount, arrival, ...stated },
    phase: phase ?? "planned",
    reason: reason ?? "",
  };
};

export const advanceOrderCommand = (
  name: string,
  { phase, arrival, reason }: AdvanceRequest,
): OrderCommandBody & { readonly kind: "advanceCapacityOrder" } => ({
  kind: "advanceCapacityOrder",
  name,
  phase: phase ?? null,
  reason: reason ?? "",
  arrival,
});
