/** Capacity orders, and the nodes that belong to them. No index depends on an order: it is no capacity. */
import { ENDED_ORDERS_KEPT, ORDER_CHANGES_KEPT, invariant, isOrderOver } from "@headroom/model";
import type { CapacityOrder, CapacityOrderEvent, NodeId, OrderChange } from "@headroom/model";
import type { State } from "../state/mutable-state.ts";
import { nodeOf } from "./writable.ts";
import type { Appliers, WritableWorld } from "./writable.ts";

export const capacityOrderEvents: Appliers<CapacityOrderEvent> = {
  capacityOrderCreated({ state: { capacityOrders } }, { order, phase, actor, reason, atMs }) {
    // The name of an order that is over is free. The new order is the last one of the table.
    capacityOrders.delete(order.name);
    const orderedAtMs = phase === "planned" ? null : atMs;
    const changes = [{ atMs, phase, actor, reason }];
    capacityOrders.set(order.name, { ...order, phase, orderedAtMs, joinedCount: 0, changes });
  },
  capacityOrderAdvanced({ state }, { name, phase, actor, reason, arrival, atMs }) {
    const stated = arrival === undefined ? {} : { arrival };
    const order = orderOf(state, name);
    const orderedAtMs = order.orderedAtMs ?? (phase === "planned" ? null : atMs);
    change(state, { ...order, ...stated, orderedAtMs }, { atMs, phase, actor, reason, ...stated });
  },
  capacityOrderCancelled({ state }, { name, actor, reason, atMs }) {
    change(state, orderOf(state, name), { atMs, phase: "cancelled", actor, reason });
  },
  capacityOrderNodeJoined({ state }, { name, nodeId }) {
    const order = orderOf(state, name);
    const node = state.nodes.get(nodeId);
    invariant(node !== undefined, `node ${nodeId} of order ${name} does not exist`);
    node.capacityOrder = name;
    node.revision = state.sequence;
    state.capacityOrders.set(name, { ...order, joinedCount: order.joinedCount + 1 });
  },
  capacityOrderFilled({ state }, { name, atMs }) {
    change(state, orderOf(state, name), { atMs, phase: "inService", actor: null, reason: "" });
  },
  capacityOrderEmptied({ state }, { name, atMs }) {
    change(state, orderOf(state, name), { atMs, phase: "gone", actor: null, reason: "" });
  },
};

function orderOf({ capacityOrders }: State, name: string): CapacityOrder {
  const order = capacityOrders.get(name);
  invariant(order !== undefined, `no capacity order ${name}`);
  return order;
}

function change(state: State, order: CapacityOrder, made: OrderChange): void {
  const changes = [...order.changes, made].slice(-ORDER_CHANGES_KEPT);
  const changed = { ...order, phase: made.phase, changes };
  state.capacityOrders.set(order.name, changed);
  if (isOrderOver(changed)) end(state, changed);
}

/** The nodes of an order that is over belong to none, and the oldest orders that are over are forgotten. */
function end(state: State, { name }: CapacityOrder): void {
  for (const node of state.nodes.values()) {
    if (node.capacityOrder !== name) continue;
    delete node.capacityOrder;
    node.revision = state.sequence;
  }
  const over = [...state.capacityOrders.values()].filter(isOrderOver);
  for (const { name: oldest } of over.slice(0, Math.max(0, over.length - ENDED_ORDERS_KEPT)))
    state.capacityOrders.delete(oldest);
}

/** The node, which is about to be removed, belongs to no order any more. */
export function leaveOrder(world: WritableWorld, nodeId: NodeId): void {
  const { capacityOrder } = nodeOf(world, nodeId);
  const order = capacityOrder === undefined ? undefined : world.state.capacityOrders.get(capacityOrder);
  if (order !== undefined) world.state.capacityOrders.set(order.name, { ...order, joinedCount: order.joinedCount - 1 });
}
