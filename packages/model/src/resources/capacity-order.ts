/**
 * Capacity that is coming: an order of nodes for a pool, from the plan to the retirement of the nodes. A person advances
 * it, or a provisioner if the engine made it. It is no capacity: nothing is placed on it, and only nodes that have joined count.
 */
import type { AutomaticOrder } from "./burst.ts";
import type { NodeId, PoolName } from "./ids.ts";
import type { Node, NodeSpec } from "./fleet.ts";

/** Phases in their order. `cancelled` is outside the order: it ends an order whose nodes have not all come. */
export const ORDER_PHASES = ["planned", "ordered", "arriving", "qualifying", "inService", "leaving", "gone"] as const;
export type CapacityOrderPhase = (typeof ORDER_PHASES)[number] | "cancelled";

/** Amounts of each ordered node. A node that joins counts against an order with the same number of accelerators. */
export type NodeShape = Pick<NodeSpec, "acceleratorCount" | "coresMilli" | "memoryMib">;

/**
 * When the nodes are expected, as the middle of the estimate and as the bound that 95% of such orders keep. A lead time
 * counts from the moment of the order; while the order is only planned, it counts from now.
 */
export type OrderArrival =
  | { readonly kind: "leadTime"; readonly p50Ms: number; readonly p95Ms: number }
  | { readonly kind: "dates"; readonly p50AtMs: number; readonly p95AtMs: number };

/** A purchase price for all nodes together, or a price per accelerator and hour. */
export interface OrderPrice {
  readonly microUsd: number;
  readonly per: "order" | "acceleratorHour";
}

export interface CapacityOrderSpec {
  readonly name: string;
  readonly pool: PoolName;
  readonly nodeCount: number;
  readonly shape: NodeShape;
  readonly arrival: OrderArrival;
  readonly price?: OrderPrice;
}

/** An order that is not recorded yet. `shape` absent: that of the pool's first node. */
export type CapacityOrderDraft = Omit<CapacityOrderSpec, "shape"> & { readonly shape?: NodeShape };

/** One change of an order. `actor` is `null` if the engine made it, because nodes joined or left. */
export interface OrderChange {
  readonly atMs: number;
  readonly phase: CapacityOrderPhase;
  readonly actor: string | null;
  readonly reason: string;
  /** The new expectation, if the change states one. */
  readonly arrival?: OrderArrival;
}

export interface CapacityOrder extends CapacityOrderSpec {
  readonly phase: CapacityOrderPhase;
  /** When the order was placed with its supplier; `null`: it is only planned. */
  readonly orderedAtMs: number | null;
  /** Number of nodes of the fleet that belong to the order (`Node.capacityOrder`). */
  readonly joinedCount: number;
  /** The newest changes, oldest first, at most `ORDER_CHANGES_KEPT`. */
  readonly changes: readonly OrderChange[];
  /** Present if the engine made the order. */
  readonly automatic?: AutomaticOrder;
}

export interface ExpectedArrival {
  readonly p50AtMs: number;
  readonly p95AtMs: number;
}

export function expectedArrival(
  { arrival, orderedAtMs }: Pick<CapacityOrder, "arrival" | "orderedAtMs">,
  nowMs: number,
): ExpectedArrival {
  if (arrival.kind === "dates") return { p50AtMs: arrival.p50AtMs, p95AtMs: arrival.p95AtMs };
  const fromMs = orderedAtMs ?? nowMs;
  return { p50AtMs: fromMs + arrival.p50Ms, p95AtMs: fromMs + arrival.p95Ms };
}

const rankOf = (phase: CapacityOrderPhase): number =>
  phase === "cancelled" ? ORDER_PHASES.length : ORDER_PHASES.indexOf(phase);

/** Whether nodes are still to come: the order is neither in service nor later, and not cancelled. */
export const isOutstanding = ({ phase }: Pick<CapacityOrder, "phase">): boolean => rankOf(phase) < rankOf("inService");

/** Whether the order is over: its nodes have left, or it was cancelled. */
export const isOrderOver = ({ phase }: Pick<CapacityOrder, "phase">): boolean => rankOf(phase) >= rankOf("gone");

/** Whether nodes that join the pool count against the order. */
export const takesNodes = ({ phase, joinedCount, nodeCount, automatic }: CapacityOrder): boolean =>
  (phase === "arriving" || phase === "qualifying" || (automatic !== undefined && isOutstanding({ phase }))) &&
  joinedCount < nodeCount;

/** Whether the order knows the names of all its nodes, so that it takes no other node. */
const namesAll = ({ automatic, nodeCount }: CapacityOrder): boolean => (automatic?.nodeNames.length ?? 0) >= nodeCount;

/**
 * Number of nodes of the order that are in the fleet, are coming, or may have machines: an order without nodes can have
 * machines that failed to join or have not been stopped, and they cost money until its provisioner says that they are gone.
 */
export function extraNodesOf(order: CapacityOrder): number {
  if (isOrderOver(order)) return 0;
  if (isOutstanding(order) || order.joinedCount === 0) return order.nodeCount;
  return order.joinedCount + (order.automatic?.missingCount ?? 0);
}

/** The next phase; `null`: the order is over. */
export const nextOrderPhase = (phase: CapacityOrderPhase): CapacityOrderPhase | null =>
  ORDER_PHASES[rankOf(phase) + 1] ?? null;

/**
 * Whether a person may bring an order from one phase to the other: forward, and over phases that did not take place,
 * but to `leaving` only from service and to `gone` only when it is leaving.
 */
export const mayAdvance = (from: CapacityOrderPhase, to: CapacityOrderPhase): boolean =>
  rankOf(to) > rankOf(from) &&
  to !== "cancelled" &&
  (to !== "leaving" || from === "inService") &&
  (to !== "gone" || from === "leaving");

/**
 * The order against which a node counts that joins: the one whose provisioner named it, or else the one of its pool and
 * shape that is expected first. Orders with the same expectation count in the order of creation. `null`: there is none.
 */
export function orderOfNode(
  orders: Iterable<CapacityOrder>,
  { id, pool, acceleratorCount }: Pick<Node, "id" | "pool" | "acceleratorCount">,
  nowMs: number,
): CapacityOrder | null {
  let first: CapacityOrder | null = null;
  for (const order of orders) {
    if (order.pool !== pool || order.shape.acceleratorCount !== acceleratorCount || !takesNodes(order)) continue;
    if (isNamedBy(order, id)) return order;
    if (namesAll(order)) continue;
    if (first === null || expectedArrival(order, nowMs).p50AtMs < expectedArrival(first, nowMs).p50AtMs) first = order;
  }
  return first;
}

/** An executor may report a machine for this long after it is gone. Later, another machine has its name. */
const GONE_MACHINE_REPORTED_MS = 3_600_000;

const isNamedBy = ({ automatic }: CapacityOrder, id: NodeId): boolean => automatic?.nodeNames.includes(id) ?? false;

/**
 * Whether the node is a machine that its provisioner is stopping or has stopped, and no other order expects it: an
 * executor may report it for some time, and it must not join again.
 */
export function isReleasedMachine(orders: Iterable<CapacityOrder>, id: NodeId, nowMs: number): boolean {
  let isReleased = false;
  for (const order of orders) {
    if (!isNamedBy(order, id)) continue;
    if (isOutstanding(order)) return false;
    isReleased ||= !isOrderOver(order) || nowMs < (order.changes.at(-1)?.atMs ?? 0) + GONE_MACHINE_REPORTED_MS;
  }
  return isReleased;
}

/**
 * Whether a node that no order expects may be a machine of a failed order whose machines were not all named, and are being stopped: it
 * must not join, or it would take work until it stops. The wait is bounded, because the node may also be one of somebody else.
 */
export function mayBeMissingMachine(
  orders: Iterable<CapacityOrder>,
  { pool, acceleratorCount }: Pick<Node, "pool" | "acceleratorCount">,
  nowMs: number,
): boolean {
  for (const order of orders) {
    if (order.pool !== pool || order.shape.acceleratorCount !== acceleratorCount || isOrderOver(order)) continue;
    const { missingCount = 0, nodeNames = [] } = order.automatic ?? {};
    // An order without nodes that failed keeps its number of nodes; one with nodes keeps the number of those.
    const isPart = order.changes.some(({ phase }) => phase === "inService");
    const ordered = isPart ? order.nodeCount + missingCount : order.nodeCount;
    const sinceMs = order.changes.at(-1)?.atMs ?? 0;
    if (missingCount > 0 && nodeNames.length < ordered && nowMs < sinceMs + GONE_MACHINE_REPORTED_MS) return true;
  }
  return false;
}

/** Maximum number of orders that are not over. */
export const OPEN_ORDERS_MAX = 500;
/** Orders that are over, of which the newest are kept. */
export const ENDED_ORDERS_KEPT = 100;
export const ORDER_CHANGES_KEPT = 20;
