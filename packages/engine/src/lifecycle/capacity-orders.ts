/**
 * Capacity orders: a person creates, advances and cancels them. Nodes that join count against an order that is arriving.
 * Nothing here places work: an order is no capacity.
 */
import { OPEN_ORDERS_MAX, isOutstanding, isOrderOver, mayAdvance, nextOrderPhase, orderOfNode } from "@headroom/model";
import type { CapacityOrder, CapacityOrderPhase, Command, NodeId, NodeShape, PoolName } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { ReadonlyState } from "../state/state.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";

type CommandOf<Kind extends Command["kind"]> = Command & { readonly kind: Kind };

export function createCapacityOrder(
  batch: Batch,
  { order, phase, actor, reason }: CommandOf<"createCapacityOrder">,
): Decision {
  const { state } = batch.world;
  const { name, pool } = order;
  const known = state.capacityOrders.get(name);
  if (known !== undefined && !isOrderOver(known))
    return refused({ code: "capacityOrderExists", name, phase: known.phase });
  if (!state.pools.has(pool)) return refused({ code: "unknownPool", pool });
  const count = [...state.capacityOrders.values()].filter((each) => !isOrderOver(each)).length;
  if (count >= OPEN_ORDERS_MAX)
    return refused({ code: "tooManyCapacityOrders", count: count + 1, maxCount: OPEN_ORDERS_MAX });
  const shape = order.shape ?? shapeIn(state, pool);
  if (shape === null) return refused({ code: "unknownNodeShape", pool });
  batch.emit({
    kind: "capacityOrderCreated",
    version: 1,
    atMs: batch.nowMs,
    order: { ...order, shape },
    phase,
    actor,
    reason,
  });
  return done({ kind: "capacityOrderSet", name, phase });
}

/** The shape of the pool's first node; `null`: the pool has none. */
function shapeIn({ nodes }: ReadonlyState, pool: PoolName): NodeShape | null {
  for (const node of nodes.values()) {
    if (node.pool !== pool) continue;
    const { acceleratorCount, coresMilli, memoryMib } = node;
    return { acceleratorCount, coresMilli, memoryMib };
  }
  return null;
}

export function advanceCapacityOrder(
  batch: Batch,
  { name, phase: asked, actor, reason, arrival }: CommandOf<"advanceCapacityOrder">,
): Decision {
  const order = batch.world.state.capacityOrders.get(name);
  if (order === undefined) return refused({ code: "unknownCapacityOrder", name });
  const phase = asked ?? nextOrderPhase(order.phase);
  // With the present phase, the command states a new expectation of an order that is still to come.
  const isExpectation = phase === order.phase && arrival !== undefined && isOutstanding(order);
  if (phase === null || !(isExpectation || mayAdvance(order.phase, phase)))
    return refused({ code: "cannotAdvanceOrder", name, from: order.phase, to: phase ?? "gone" });
  batch.emit({
    kind: "capacityOrderAdvanced",
    version: 1,
    atMs: batch.nowMs,
    name,
    phase,
    actor,
    reason,
    ...(arrival === undefined ? {} : { arrival }),
  });
  keepOrder(batch, name);
  return done({ kind: "capacityOrderSet", name, phase: phaseOf(batch, name, phase) });
}

/** The phase after the command; an order whose nodes have all joined or left advances at once. */
const phaseOf = ({ world }: Batch, name: string, phase: CapacityOrderPhase): CapacityOrderPhase =>
  world.state.capacityOrders.get(name)?.phase ?? phase;

export function cancelCapacityOrder(batch: Batch, { name, actor, reason }: CommandOf<"cancelCapacityOrder">): Decision {
  const order = batch.world.state.capacityOrders.get(name);
  if (order === undefined) return refused({ code: "unknownCapacityOrder", name });
  if (!isOutstanding(order)) return refused({ code: "cannotAdvanceOrder", name, from: order.phase, to: "cancelled" });
  batch.emit({ kind: "capacityOrderCancelled", version: 1, atMs: batch.nowMs, name, actor, reason });
  return done({ kind: "capacityOrderSet", name, phase: "cancelled" });
}

/** Counts a node that has just joined against the order of its pool and shape that is expected first. */
export function countJoinedNode(batch: Batch, nodeId: NodeId): void {
  const { capacityOrders, nodes } = batch.world.state;
  const node = nodes.get(nodeId);
  if (capacityOrders.size === 0 || node === undefined) return;
  const order = orderOfNode(capacityOrders.values(), node, batch.nowMs);
  if (order === null) return;
  const { name } = order;
  batch.emit({ kind: "capacityOrderNodeJoined", version: 1, atMs: batch.nowMs, name, nodeId });
  keepOrder(batch, name);
}

/** Records that all nodes of an order have joined, or that the last node of a leaving order has left. */
function keepOrder(batch: Batch, name: string): void {
  const order = batch.world.state.capacityOrders.get(name);
  if (order === undefined) return;
  const fact = { version: 1, atMs: batch.nowMs, name } as const;
  if (isFull(order)) batch.emit({ kind: "capacityOrderFilled", ...fact });
  else if (order.phase === "leaving" && order.joinedCount === 0) batch.emit({ kind: "capacityOrderEmptied", ...fact });
}

const isFull = ({ phase, joinedCount, nodeCount }: CapacityOrder): boolean =>
  (phase === "arriving" || phase === "qualifying") && joinedCount >= nodeCount;

/** Called in every round: nodes of leaving orders may have left. */
export function keepCapacityOrders(batch: Batch): void {
  const { capacityOrders } = batch.world.state;
  if (capacityOrders.size === 0) return;
  const leaving = [...capacityOrders.values()].filter(({ phase }) => phase === "leaving");
  for (const { name } of leaving) keepOrder(batch, name);
}
