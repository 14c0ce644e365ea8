/** Capacity orders, and the nodes that belong to them. No index depends on an order: it is no capacity. */
import {
  DAY_MS,
  ENDED_ORDERS_KEPT,
  ORDER_CHANGES_KEPT,
  invariant,
  isOrderOver,
  newBurstAccount,
} from "@headroom/model";
import type { BurstAccount, CapacityOrder, CapacityOrderEvent, NodeId, OrderChange, PoolName } from "@headroom/model";
import type { State } from "../state/mutable-state.ts";
import { nodeOf } from "./writable.ts";
import type { Appliers, WritableWorld } from "./writable.ts";

/** No nodes are ordered for a pool in the hour after a person cancelled one of its orders. */
const CANCELLED_PAUSE_MS = 3_600_000;

/** Actor of the removal of nodes that the engine released. */
const BURST_ACTOR = "burst";

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
  capacityOrderCancelled(world, { name, actor, reason, atMs }) {
    const { state } = world;
    const order = orderOf(state, name);
    // Nodes that have come take work, also if the others do not come.
    openNodes(world, order);
    change(state, order, { atMs, phase: "cancelled", actor, reason });
    if (order.automatic !== undefined) pauseOrders(state, order.pool, atMs);
  },
  capacityOrderNodeJoined(world, { name, nodeId, atMs }) {
    const { state } = world;
    const order = orderOf(state, name);
    const node = state.nodes.get(nodeId);
    invariant(node !== undefined, `node ${nodeId} of order ${name} does not exist`);
    node.capacityOrder = name;
    node.revision = state.sequence;
    const joined = { ...order, joinedCount: order.joinedCount + 1 };
    const { automatic } = order;
    if (automatic === undefined) {
      state.capacityOrders.set(name, joined);
      return;
    }
    node.idleSinceMs = atMs;
    if (order.nodeCount > 1) world.capacity.update(node, () => (node.arriving = true));
    const nodeNames = [...new Set([...automatic.nodeNames, nodeId])];
    state.capacityOrders.set(name, { ...joined, automatic: { ...automatic, nodeNames } });
  },
  capacityOrderQualifying({ state }, { name, atMs }) {
    change(state, orderOf(state, name), { atMs, phase: "qualifying", actor: null, reason: "" });
  },
  capacityOrderFilled(world, { name, atMs }) {
    const { state } = world;
    const order = orderOf(state, name);
    openNodes(world, order);
    change(state, order, { atMs, phase: "inService", actor: null, reason: "" });
    const account = state.burstAccounts.get(order.pool);
    if (order.automatic !== undefined && account !== undefined)
      state.burstAccounts.set(order.pool, { ...account, failures: 0, blockedUntilMs: 0 });
  },
  capacityOrderEmptied({ state }, { name, atMs }) {
    change(state, orderOf(state, name), { atMs, phase: "gone", actor: null, reason: "" });
  },
  capacityOrderDecided({ state }, { order, provisioner, releaseAfterMs, ground, requestId, atMs }) {
    const identity = requestId === undefined ? {} : { requestId };
    const automatic = {
      provisioner,
      decidedAtMs: atMs,
      releaseAfterMs,
      ground,
      nodeNames: [],
      detail: "",
      ...identity,
    };
    const changes = [{ atMs, phase: "planned", actor: null, reason: "" } as const];
    const stored = { ...order, phase: "planned", orderedAtMs: null, joinedCount: 0, changes, automatic } as const;
    state.capacityOrders.delete(order.name);
    state.capacityOrders.set(order.name, stored);
    countDecision(state, order.pool, { nodes: order.nodeCount, atMs });
  },
  capacityOrderIdentified({ state }, { name, requestId }) {
    const order = orderOf(state, name);
    state.capacityOrders.set(name, { ...order, automatic: { ...automaticOf(order), requestId } });
  },
  capacityOrderRestStopped({ state }, { name }) {
    const order = orderOf(state, name);
    const { missingCount: _stopped, ...automatic } = automaticOf(order);
    state.capacityOrders.set(name, { ...order, automatic });
  },
  capacityOrderReported({ state }, { name, phase, detail, nodes, expectedAtMs, priceMicroUsdPerHour, atMs }) {
    const order = orderOf(state, name);
    const automatic = automaticOf(order);
    const nodeNames = nodes === undefined ? automatic.nodeNames : [...new Set([...automatic.nodeNames, ...nodes])];
    const arrival =
      expectedAtMs === undefined
        ? {}
        : { arrival: { kind: "dates", p50AtMs: expectedAtMs, p95AtMs: expectedAtMs } as const };
    const price =
      priceMicroUsdPerHour === undefined
        ? {}
        : { price: { microUsd: priceMicroUsdPerHour, per: "acceleratorHour" } as const };
    const orderedAtMs = order.orderedAtMs ?? atMs;
    const reported = { ...order, ...arrival, ...price, orderedAtMs, automatic: { ...automatic, nodeNames, detail } };
    change(state, reported, { atMs, phase, actor: null, reason: detail, ...arrival });
  },
  capacityOrderFailed(world, { name, detail, retryAtMs, missingCount = 0, atMs }) {
    const { state } = world;
    const order = orderOf(state, name);
    openNodes(world, order);
    const { joinedCount } = order;
    const missing = missingCount === 0 ? {} : { missingCount };
    const failed = { ...order, automatic: { ...automaticOf(order), detail, ...missing } };
    const kept = joinedCount > 0 ? { ...failed, nodeCount: joinedCount } : failed;
    change(state, kept, { atMs, phase: joinedCount > 0 ? "inService" : "leaving", actor: null, reason: detail });
    const account = state.burstAccounts.get(order.pool) ?? newBurstAccount(order.pool);
    state.burstAccounts.set(order.pool, { ...account, failures: account.failures + 1, blockedUntilMs: retryAtMs });
  },
  capacityNodesReleased(world, { name, nodes, reason, isWhole, actor, atMs }) {
    const { state } = world;
    for (const id of nodes) {
      const node = nodeOf(world, id);
      world.capacity.update(node, () => {
        node.removal = { actor: actor ?? BURST_ACTOR, sinceMs: atMs, awaits: name };
        node.revision = state.sequence;
      });
      world.removing.add(id);
    }
    if (!isWhole) return;
    const order = orderOf(state, name);
    change(state, order, { atMs, phase: "leaving", actor, reason });
    if (actor !== null) pauseOrders(state, order.pool, atMs);
  },
};

/** The engine does not order again at once after a person has cancelled. */
function pauseOrders(state: State, pool: PoolName, atMs: number): void {
  const account = state.burstAccounts.get(pool);
  if (account !== undefined) state.burstAccounts.set(pool, { ...account, blockedUntilMs: atMs + CANCELLED_PAUSE_MS });
}

/** The nodes of the order, which waited for each other, take work. */
function openNodes(world: WritableWorld, { automatic, name }: CapacityOrder): void {
  const { state } = world;
  for (const id of automatic?.nodeNames ?? []) {
    const node = state.nodes.get(id);
    if (node?.capacityOrder !== name || node.arriving !== true) continue;
    world.capacity.update(node, () => delete node.arriving);
    node.idleSinceMs = state.nowMs;
    node.revision = state.sequence;
  }
}

function automaticOf({ automatic, name }: CapacityOrder): NonNullable<CapacityOrder["automatic"]> {
  invariant(automatic !== undefined, `the engine did not make order ${name}`);
  return automatic;
}

function countDecision(state: State, pool: PoolName, { nodes, atMs }: { nodes: number; atMs: number }): void {
  const known: BurstAccount = state.burstAccounts.get(pool) ?? newBurstAccount(pool);
  const dayStartMs = atMs - (atMs % DAY_MS);
  const before = known.dayStartMs === dayStartMs ? known.dayNodes : 0;
  const counted = { ...known, orderCount: known.orderCount + 1, dayStartMs, dayNodes: before + nodes };
  state.burstAccounts.set(pool, counted);
}

/** Work on a node that the engine ordered has ended, or the node is lost: its idle time begins. */
export function beginIdleTime({ state }: WritableWorld, places: Iterable<{ readonly node: NodeId }>): void {
  if (state.burstAccounts.size === 0) return;
  for (const { node: id } of places) {
    const node = state.nodes.get(id);
    if (node?.idleSinceMs === undefined) continue;
    node.idleSinceMs = state.nowMs;
    node.revision = state.sequence;
  }
}

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
    delete node.idleSinceMs;
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
