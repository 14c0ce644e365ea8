/**
 * Capacity orders: a person creates, advances and cancels them. Nodes that join count against an order that is arriving.
 * Nothing here places work: an order is no capacity.
 */
import {
  MANUAL_PROVISIONER,
  OPEN_ORDERS_MAX,
  isOutstanding,
  isOrderOver,
  mayAdvance,
  nextOrderPhase,
  orderOfNode,
  unreachable,
} from "@headroom/model";
import type { CapacityOrder, Command, NodeId, NodeShape, PoolName } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { World } from "../cluster/world.ts";
import type { ReadonlyState } from "../state/state.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";

type CommandOf<Kind extends Command["kind"]> = Command & { readonly kind: Kind };

type OrderCommand = Extract<Command, { readonly kind: `${string}CapacityOrder` }>;

/** The decision about a command, without its effect: for a dry run. */
export function planCapacityOrder({ state }: World, command: OrderCommand): Decision {
  switch (command.kind) {
    case "createCapacityOrder":
      return planCreation(state, command);
    case "advanceCapacityOrder":
      return planAdvance(state, command);
    case "cancelCapacityOrder":
      return planCancellation(state, command);
    default:
      return unreachable(command);
  }
}

export function planCreation(
  state: ReadonlyState,
  { order, phase }: Pick<CommandOf<"createCapacityOrder">, "order" | "phase">,
): Decision {
  const { name, pool } = order;
  const known = state.capacityOrders.get(name);
  if (known !== undefined && !isOrderOver(known))
    return refused({ code: "capacityOrderExists", name, phase: known.phase });
  if (!state.pools.has(pool)) return refused({ code: "unknownPool", pool });
  const count = [...state.capacityOrders.values()].filter((each) => !isOrderOver(each)).length;
  if (count >= OPEN_ORDERS_MAX)
    return refused({ code: "tooManyCapacityOrders", count: count + 1, maxCount: OPEN_ORDERS_MAX });
  if ((order.shape ?? shapeIn(state, pool)) === null) return refused({ code: "unknownNodeShape", pool });
  return done({ kind: "capacityOrderSet", name, phase });
}

export function createCapacityOrder(batch: Batch, command: CommandOf<"createCapacityOrder">): Decision {
  const { state } = batch.world;
  const decision = planCreation(state, command);
  const { order, phase, actor, reason } = command;
  const shape = order.shape ?? shapeIn(state, order.pool);
  if (decision.kind === "refused" || shape === null) return decision;
  const created = { ...order, shape };
  batch.emit({ kind: "capacityOrderCreated", version: 1, atMs: batch.nowMs, order: created, phase, actor, reason });
  return decision;
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

function planAdvance(
  state: ReadonlyState,
  { name, phase: asked, arrival }: CommandOf<"advanceCapacityOrder">,
): Decision {
  const order = state.capacityOrders.get(name);
  if (order === undefined) return refused({ code: "unknownCapacityOrder", name });
  const phase = asked ?? nextOrderPhase(order.phase);
  // With the present phase, the command states a new expectation of an order that is still outstanding.
  const isExpectation = phase === order.phase && arrival !== undefined && isOutstanding(order);
  // A provisioner advances the orders of the engine.
  if (phase === null || hasProvisioner(order) || !(isExpectation || mayAdvance(order.phase, phase)))
    return refused({ code: "cannotAdvanceOrder", name, from: order.phase, to: phase ?? "gone" });
  // An order whose last node has left is gone at once.
  const isEmpty = phase === "leaving" && order.joinedCount === 0;
  return done({ kind: "capacityOrderSet", name, phase: isEmpty ? "gone" : phase });
}

export function advanceCapacityOrder(batch: Batch, command: CommandOf<"advanceCapacityOrder">): Decision {
  const { name, actor, reason, arrival } = command;
  const order = batch.world.state.capacityOrders.get(name);
  const decision = planAdvance(batch.world.state, command);
  const phase = command.phase ?? (order === undefined ? null : nextOrderPhase(order.phase));
  if (decision.kind === "refused" || phase === null) return decision;
  const stated = arrival === undefined ? {} : { arrival };
  batch.emit({ kind: "capacityOrderAdvanced", version: 1, atMs: batch.nowMs, name, phase, actor, reason, ...stated });
  keepOrder(batch, name);
  return decision;
}

function planCancellation(state: ReadonlyState, { name }: CommandOf<"cancelCapacityOrder">): Decision {
  const order = state.capacityOrders.get(name);
  if (order === undefined) return refused({ code: "unknownCapacityOrder", name });
  if (!isOutstanding(order)) return refused({ code: "cannotAdvanceOrder", name, from: order.phase, to: "cancelled" });
  return done({ kind: "capacityOrderSet", name, phase: "cancelled" });
}

export function cancelCapacityOrder(batch: Batch, command: CommandOf<"cancelCapacityOrder">): Decision {
  const decision = planCancellation(batch.world.state, command);
  if (decision.kind === "refused") return decision;
  const { name, actor, reason } = command;
  const order = batch.world.state.capacityOrders.get(name);
  if (order !== undefined && hasProvisioner(order)) return releaseOrder(batch, order, actor);
  batch.emit({ kind: "capacityOrderCancelled", version: 1, atMs: batch.nowMs, name, actor, reason });
  return decision;
}

/** Machines may exist that have not joined: the order is leaving until its provisioner says that there are none. */
function releaseOrder(batch: Batch, { name, automatic }: CapacityOrder, actor: string): Decision {
  const { nodes: known } = batch.world.state;
  const nodes = (automatic?.nodeNames ?? []).filter((id) => known.get(id)?.capacityOrder === name);
  const busy = nodes.filter((id) => !batch.world.capacity.slot(id).isEmpty);
  if (busy.length > 0)
    return refused({
      code: "fleetInUse",
      of: "node",
      name: busy.join(", "),
      workloads: busy.length,
      nodes: busy.length,
    });
  const fact = {
    version: 1,
    atMs: batch.nowMs,
    name,
    nodes,
    reason: "ended",
    idleMs: 0,
    isWhole: true,
    actor,
  } as const;
  batch.emit({ kind: "capacityNodesReleased", ...fact });
  return done({ kind: "capacityOrderSet", name, phase: "leaving" });
}

/** Counts a node that has just joined against the order of its pool and shape that is expected first, and returns the order. */
export function countJoinedNode(batch: Batch, nodeId: NodeId): string | null {
  const { capacityOrders, nodes } = batch.world.state;
  const node = nodes.get(nodeId);
  if (capacityOrders.size === 0 || node === undefined) return null;
  const order = orderOfNode(capacityOrders.values(), node, batch.nowMs);
  if (order === null) return null;
  const { name } = order;
  batch.emit({ kind: "capacityOrderNodeJoined", version: 1, atMs: batch.nowMs, name, nodeId });
  return name;
}

/**
 * Records that all nodes of an order have joined, or that the last node of a leaving order has left. An order with a
 * provisioner is gone when the provisioner says that none of its machines exists.
 */
export function keepOrder(batch: Batch, name: string): void {
  const order = batch.world.state.capacityOrders.get(name);
  if (order === undefined) return;
  const fact = { version: 1, atMs: batch.nowMs, name } as const;
  if (isFull(order)) {
    if (!isProving(batch.world.state, order)) batch.emit({ kind: "capacityOrderFilled", ...fact });
    else if (order.phase !== "qualifying") batch.emit({ kind: "capacityOrderQualifying", ...fact });
  } else if (order.phase === "leaving" && order.joinedCount === 0 && !hasProvisioner(order))
    batch.emit({ kind: "capacityOrderEmptied", ...fact });
}

const hasProvisioner = ({ automatic }: CapacityOrder): boolean =>
  automatic !== undefined && automatic.provisioner !== MANUAL_PROVISIONER;

const isFull = (order: CapacityOrder): boolean =>
  (order.phase === "arriving" ||
    order.phase === "qualifying" ||
    (order.automatic !== undefined && isOutstanding(order))) &&
  order.joinedCount >= order.nodeCount;

/** Whether a node of the order still has to pass the suite of its pool. One that has failed keeps nobody waiting. */
function isProving({ nodes, pools }: ReadonlyState, { pool, name }: CapacityOrder): boolean {
  if (pools.get(pool)?.qualification === undefined) return false;
  for (const { capacityOrder, qualification } of nodes.values())
    if (capacityOrder === name && qualification !== undefined && qualification.phase !== "failed") return true;
  return false;
}

/** Called in every round: nodes of leaving orders may have left. */
export function keepCapacityOrders(batch: Batch): void {
  const { capacityOrders } = batch.world.state;
  if (capacityOrders.size === 0) return;
  const leaving = [...capacityOrders.values()].filter(({ phase }) => phase === "leaving");
  for (const { name } of leaving) keepOrder(batch, name);
}
