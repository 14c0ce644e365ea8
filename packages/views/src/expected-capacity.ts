/** Capacity orders in a verdict: which of them, and when they are expected. */
import type { ExpectedCapacity } from "@headroom/explain";
import type { CapacityOrder, EventKind } from "@headroom/model";
import type { Verdict } from "@headroom/protocol";
import { expectationText, orderLateMs, orderPhaseText } from "./capacity-order-text.ts";
import { plural } from "./plain-text.ts";

const ORDER_CHANGES: readonly EventKind[] = ["capacityOrderAdvanced", "capacityOrderCancelled"];

const exceedsFleet = (view: Verdict): view is Verdict & { readonly kind: "blocked" } =>
  view.kind === "blocked" && view.reasons.some(({ kind }) => kind === "exceedsFleet");

/** The verdict of work that needs ordered nodes. The sentence about them comes first, because waiting is what is left to do. */
export function withExpectedCapacity(view: Verdict, expected: ExpectedCapacity | null, nowMs: number): Verdict {
  if (expected === null || !exceedsFleet(view)) return view;
  const { orders, p50AtMs, p95AtMs } = expected;
  const sentence = expectedCapacitySentence(expected, nowMs);
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

/** `Waits for order rack-7 (4 nodes for pool h100), expected in 5 weeks, 2027-01-02 (P95 …): then it starts.` */
function expectedCapacitySentence({ orders }: ExpectedCapacity, nowMs: number): string {
  const last = orders.at(-1) as CapacityOrder;
  const what = orders.map(orderText).join(" and ");
  const whose = orders.length > 1 ? `the last, ${last.name}, is ` : "";
  return `Waits for ${what}: ${whose}${expectationText(last, nowMs)}; then it can start.`;
}

const orderText = ({ name, nodeCount, joinedCount, pool, phase }: CapacityOrder): string =>
  `order ${name} (${orderPhaseText(phase)}, ${plural(nodeCount - joinedCount, "node")} for pool ${pool} to come)`;
