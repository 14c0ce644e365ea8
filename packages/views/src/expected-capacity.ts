/** Capacity orders in a verdict: which of them, and when they are expected. */
import type { ExpectedCapacity } from "@headroom/explain";
import { clockOf } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { expectedArrival, isOutstanding } from "@headroom/model";
import type { CapacityOrder, EventKind, WorkloadId } from "@headroom/model";
import type { Verdict } from "@headroom/protocol";
import { expectationText, orderLateMs, orderPhaseText } from "./capacity-order-text.ts";
import { durationText, plural } from "./plain-text.ts";

const ORDER_CHANGES: readonly EventKind[] = ["capacityOrderAdvanced", "capacityOrderCancelled"];

const exceedsFleet = (view: Verdict): view is Verdict & { readonly kind: "blocked" } =>
  view.kind === "blocked" && view.reasons.some(({ kind }) => kind === "exceedsFleet");

/** The verdict of work that needs ordered nodes. The sentence about them comes first, because waiting is what is left to do. */
export function withExpectedCapacity(view: Verdict, expected: ExpectedCapacity | null, nowMs: number): Verdict {
  if (expected === null || !exceedsFleet(view)) return view;
  return withExpected(view, { ...expected, nowMs, sentence: expectedCapacitySentence(expected, nowMs) });
}

function withExpected(
  view: Verdict & { readonly kind: "blocked" },
  {
    orders,
    p50AtMs,
    p95AtMs,
    nowMs,
    sentence,
  }: ExpectedCapacity & { readonly nowMs: number; readonly sentence: string },
): Verdict {
  const items = orders.map((order) => ({
    name: order.name,
    pool: order.pool,
    phase: order.phase,
    nodes: order.nodeCount - order.joinedCount,
    lateMs: orderLateMs(order, nowMs),
  }));
  const wakeOn = [...view.wakeOn, ...ORDER_CHANGES.filter((kind) => !view.wakeOn.includes(kind))];
  const expectedCapacity = { orders: items, p50AtMs, p95AtMs, sentence };
  return { ...view, sentence: `${sentence} ${view.sentence}`, expectedCapacity, wakeOn };
}

/** Orders of the engine that were made for the workload, and whose nodes are still to come. */
function ordersFor({ state }: Engine, id: WorkloadId): readonly CapacityOrder[] {
  if (state.burstAccounts.size === 0) return [];
  return [...state.capacityOrders.values()].filter(
    (order) => isOutstanding(order) && order.automatic?.ground.workloads.includes(id) === true,
  );
}

/** The verdict of work for which the engine ordered nodes: how many, from which pool, and when they are expected. */
export function withOrderedNodes(view: Verdict, engine: Engine, id: WorkloadId): Verdict {
  const orders = view.kind === "blocked" ? ordersFor(engine, id) : [];
  if (view.kind !== "blocked" || orders.length === 0) return view;
  const nowMs = clockOf(engine);
  const expected = orders.map((order) => expectedArrival(order, nowMs));
  return withExpected(view, {
    orders,
    p50AtMs: Math.max(...expected.map(({ p50AtMs }) => p50AtMs)),
    p95AtMs: Math.max(...expected.map(({ p95AtMs }) => p95AtMs)),
    nowMs,
    sentence: orders.map((order) => orderedSentence(order, nowMs)).join(" "),
  });
}

/** `2 nodes ordered from spot, expected in 4m (order burst-spot-1).` */
function orderedSentence(order: CapacityOrder, nowMs: number): string {
  const { name, pool, nodeCount, joinedCount } = order;
  const leftMs = expectedArrival(order, nowMs).p50AtMs - nowMs;
  const when = leftMs > 0 ? `expected in ${durationText(leftMs)}` : `late by ${durationText(-leftMs)}`;
  return `${plural(nodeCount - joinedCount, "node")} ordered from ${pool}, ${when} (order ${name}).`;
}

/** `Waits for order rack-7 (4 nodes for pool h100), expected in 5 weeks, 2027-01-02 (P95 …): then it starts.` */
function expectedCapacitySentence({ orders }: ExpectedCapacity, nowMs: number): string {
  const last = orders.at(-1) as CapacityOrder;
  const what = orders.map(orderText).join(" and ");
  const whose = orders.length > 1 ? `the last, ${last.name}, is ` : "";
  return `Waits for ${what}: ${whose}${expectationText(last, nowMs)}; then it can start.`;
}

const orderText = ({ name, nodeCount, joinedCount, pool, phase }: CapacityOrder): string =>
  `order ${name} (${orderPhaseText(phase)}, ${plural(nodeCount - joinedCount, "node")} for pool ${pool} to come)`;
