/** Capacity orders: their nodes counted again, their phases, and which joining nodes were counted. */
import { ENDED_ORDERS_KEPT, OPEN_ORDERS_MAX, ORDER_CHANGES_KEPT } from "@headroom/model";
import type { CapacityOrder, Event } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Findings } from "@headroom/engine/internals";

const isOver = ({ phase }: CapacityOrder): boolean => phase === "gone" || phase === "cancelled";
const EARLY = ["planned", "ordered"];
const countsNodes = ({ phase, automatic }: CapacityOrder): boolean =>
  phase === "arriving" || phase === "qualifying" || (automatic !== undefined && EARLY.includes(phase));
/** An order of the engine with a provisioner is leaving until the provisioner says that its machines are gone. */
const hasProvisioner = ({ automatic }: CapacityOrder): boolean =>
  automatic !== undefined && automatic.provisioner !== "manual";

export function checkCapacityOrders(findings: Findings, state: ReadonlyState): void {
  const counted = new Map<string, number>();
  for (const { id, capacityOrder: name, pool } of state.nodes.values()) {
    if (name === undefined) continue;
    counted.set(name, (counted.get(name) ?? 0) + 1);
    const order = state.capacityOrders.get(name);
    findings.expect(
      order !== undefined && !isOver(order) && order.pool === pool,
      () => `node ${id} belongs to the order ${name}, which is over or of another pool`,
    );
  }
  const orders = [...state.capacityOrders.values()];
  const proving = new Set<string>();
  for (const { capacityOrder, qualification } of state.nodes.values())
    if (capacityOrder !== undefined && qualification !== undefined && qualification.phase !== "failed")
      proving.add(capacityOrder);
  for (const order of orders)
    checkOrder(findings, order, { count: counted.get(order.name) ?? 0, isProving: proving.has(order.name) });
  const open = orders.filter((order) => !isOver(order)).length;
  findings.expect(open <= OPEN_ORDERS_MAX, () => `${open} orders are open`);
  findings.expect(orders.length - open <= ENDED_ORDERS_KEPT, () => `${orders.length - open} orders are over and kept`);
}

function checkOrder(
  findings: Findings,
  order: CapacityOrder,
  { count, isProving }: { readonly count: number; readonly isProving: boolean },
): void {
  const { name, phase, nodeCount, joinedCount, orderedAtMs, changes } = order;
  if (!isOver(order))
    findings.expect(count === joinedCount, () => `order ${name} has ${count} nodes, and says ${joinedCount}`);
  findings.expect(
    joinedCount >= 0 && joinedCount <= nodeCount,
    () => `order ${name} of ${nodeCount} nodes has ${joinedCount}`,
  );
  findings.expect(
    !countsNodes(order) || joinedCount < nodeCount || isProving,
    () => `order ${name} is ${phase}, and all its nodes have joined`,
  );
  const isEarly = EARLY.includes(phase) && order.automatic === undefined;
  findings.expect(!isEarly || joinedCount === 0, () => `order ${name} is ${phase}, and has nodes`);
  findings.expect(
    phase !== "leaving" || joinedCount > 0 || hasProvisioner(order),
    () => `order ${name} is leaving, and has no nodes`,
  );
  findings.expect(
    (phase === "planned") === (orderedAtMs === null) || phase === "cancelled" || order.automatic !== undefined,
    () => `order ${name} is ${phase}, and was ordered at ${orderedAtMs}`,
  );
  findings.expect(
    changes.length > 0 && changes.length <= ORDER_CHANGES_KEPT && changes.at(-1)?.phase === phase,
    () => `order ${name} is ${phase}, which its last change does not say`,
  );
}

/**
 * Checks that each node that joined was counted against an order if one could take it, at once and once. Orders that
 * the batch changed afterwards say nothing about the moment of the join.
 */
export function checkOrderEvents(findings: Findings, state: ReadonlyState, events: readonly Event[]): void {
  if (state.capacityOrders.size === 0) return;
  const isSettled = !events.some(({ kind }) => kind === "nodeRemoved");
  for (const [at, event] of events.entries()) {
    if (event.kind === "capacityOrderNodeJoined") {
      const before = events[at - 1];
      findings.expect(
        before?.kind === "nodeJoined" && before.node.id === event.nodeId,
        () => `${event.nodeId} counts against ${event.name} without having joined`,
      );
    }
    const next = events[at + 1];
    if (event.kind !== "nodeJoined" || next?.kind === "capacityOrderNodeJoined" || !isSettled) continue;
    const { id, pool, acceleratorCount } = event.node;
    const left = [...state.capacityOrders.values()].find(
      (order) =>
        countsNodes(order) &&
        mayTake(order, id) &&
        order.pool === pool &&
        order.shape.acceleratorCount === acceleratorCount &&
        !isChangedAfter(events, at, order.name),
    );
    findings.expect(left === undefined, () => `${id} joined ${pool} and does not count against ${left?.name}`);
  }
}

/** An order that knows the names of all its nodes takes no other node. */
const mayTake = ({ automatic, nodeCount }: CapacityOrder, id: string): boolean =>
  automatic === undefined || automatic.nodeNames.length < nodeCount || automatic.nodeNames.some((name) => name === id);

const isChangedAfter = (events: readonly Event[], at: number, name: string): boolean =>
  events
    .slice(at + 1)
    .some(
      (event) =>
        (event.kind === "capacityOrderCreated" && event.order.name === name) ||
        (event.kind === "capacityOrderDecided" && event.order.name === name) ||
        ((event.kind === "capacityOrderAdvanced" || event.kind === "capacityOrderReported") && event.name === name),
    );
