/**
 * Orders nodes for work that fits nowhere, and releases extra nodes that are idle. It runs at the end of a round, when
 * everything that fits has started. Start at `keepBursts`; `order-nodes.ts` chooses pools and numbers of nodes.
 */
import { MANUAL_PROVISIONER, isOrderOver } from "@headroom/model";
import type { CapacityOrder, NodeId } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { failOrder } from "../lifecycle/order-reports.ts";
import { orderDueAtMs } from "../placement/order-due.ts";
import { orderForWaiting } from "./order-nodes.ts";
import { wakeAt } from "./wake-at.ts";

export function keepBursts(batch: Batch): void {
  const { state, isAnyBursting } = batch.world;
  if (!isAnyBursting && state.capacityOrders.size === 0) return;
  // A round that was cut has not started everything that fits, and a counterfactual run orders nothing.
  if (!batch.isCut && !batch.isOver && !batch.isCounterfactual) orderAndRelease(batch);
}

function orderAndRelease(batch: Batch): void {
  const { state } = batch.world;
  const orders = [...state.capacityOrders.values()].filter(
    (each) => each.automatic !== undefined && !isOrderOver(each),
  );
  const pools = [...state.pools.values()].filter(({ burst }) => burst !== undefined);
  if (orders.length + pools.length === 0) return;
  const needed = orderForWaiting(batch, pools);
  for (const { name } of orders) {
    const order = state.capacityOrders.get(name);
    if (order !== undefined) releaseNodes(batch, order, needed);
  }
}

/**
 * Ends orders that are far too late: other pools get their turn. Before the placing phases, because the nodes of such an
 * order that have joined take work from then on.
 */
export function giveUpOrders(batch: Batch): void {
  const { capacityOrders } = batch.world.state;
  if (capacityOrders.size === 0) return;
  for (const order of capacityOrders.values()) giveUp(batch, order);
}

function giveUp(batch: Batch, order: CapacityOrder): void {
  const dueAtMs = orderDueAtMs(batch.world.state, order);
  if (dueAtMs === null) return;
  // A person ends an order by hand, but nothing is held for it from then on.
  if (dueAtMs > batch.nowMs) wakeAt(batch, dueAtMs);
  else if (order.automatic?.provisioner !== MANUAL_PROVISIONER)
    failOrder(batch, order, "its nodes did not join in time");
}

/** Releases nodes of one order. `needed`: nodes that waiting work or a protected start counts on. */
function releaseNodes(batch: Batch, order: CapacityOrder, needed: ReadonlySet<NodeId>): void {
  const { name, automatic, phase } = order;
  if (automatic === undefined || phase === "leaving" || isOrderOver(order)) return;
  const { state } = batch.world;
  const present = automatic.nodeNames.flatMap((id) => {
    const node = state.nodes.get(id);
    return node?.capacityOrder === name && node.removal?.awaits === undefined ? [node] : [];
  });
  // A node that a person removes can hold work until it leaves, and its provisioner must not stop it before.
  const nodes = present.filter(({ removal }) => removal === undefined);
  const due: NodeId[] = [];
  let isLost = false;
  let idleMs = Number.POSITIVE_INFINITY;
  for (const { id, health, idleSinceMs, joinedAtMs, qualification } of nodes) {
    // The idle time of a node that qualifies begins when it has passed.
    const isProving = qualification !== undefined && qualification.phase !== "failed";
    const mayLeave = health === "lost" || (phase === "inService" && !isProving && !needed.has(id));
    if (!mayLeave || !batch.world.capacity.slot(id).isEmpty) continue;
    const sinceMs = idleSinceMs ?? joinedAtMs;
    const dueAtMs = sinceMs + automatic.releaseAfterMs;
    if (dueAtMs > batch.nowMs) {
      wakeAt(batch, dueAtMs);
      continue;
    }
    due.push(id);
    isLost ||= health === "lost";
    idleMs = Math.min(idleMs, batch.nowMs - sinceMs);
  }
  if (due.length === 0 && !isDeserted(order, present.length)) return;
  const isWhole = due.length === present.length && phase === "inService";
  batch.emit({
    kind: "capacityNodesReleased",
    version: 1,
    atMs: batch.nowMs,
    name,
    nodes: due,
    reason: isLost ? "lost" : "idle",
    idleMs: due.length === 0 ? 0 : idleMs,
    isWhole,
    actor: null,
  });
}

/** Whether no node of an order in service is left that was not released: it is leaving. */
const isDeserted = ({ phase }: CapacityOrder, nodesLeft: number): boolean => phase === "inService" && nodesLeft === 0;
