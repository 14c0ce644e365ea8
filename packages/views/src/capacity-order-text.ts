/** Capacity orders in sentences: refusals, events, and what is expected when. */
import { expectedArrival, isOutstanding } from "@headroom/model";
import type { CapacityOrder, Rejection } from "@headroom/model";
import { writeInstant } from "@headroom/protocol";
import type { CapacityOrderPhase, Event } from "@headroom/protocol";
import { durationText, grouped, plural } from "./plain-text.ts";

const orderCodes = [
  "unknownCapacityOrder",
  "capacityOrderExists",
  "tooManyCapacityOrders",
  "unknownNodeShape",
  "cannotAdvanceOrder",
] as const;
export type OrderRejection = Extract<Rejection, { readonly code: (typeof orderCodes)[number] }>;

export const isOrderRejection = (rejection: Rejection): rejection is OrderRejection =>
  orderCodes.some((code) => code === rejection.code);

const phaseTexts: Readonly<Record<CapacityOrderPhase, string>> = {
  planned: "planned",
  ordered: "ordered",
  arriving: "arriving",
  qualifying: "qualifying",
  inService: "in service",
  leaving: "leaving",
  gone: "gone",
  cancelled: "cancelled",
};

export const orderPhaseText = (phase: string): string => phaseTexts[phase as CapacityOrderPhase] ?? phase;

export function orderRejectionSentence(rejection: OrderRejection): string {
  switch (rejection.code) {
    case "unknownCapacityOrder":
      return `There is no capacity order ${rejection.name}. headroom order list --all shows all that are kept.`;
    case "capacityOrderExists":
      return `The capacity order ${rejection.name} is ${orderPhaseText(rejection.phase)}. Give the new order another name, or advance that one.`;
    case "tooManyCapacityOrders":
      return `${grouped(rejection.count)} capacity orders would be open, and the limit is ${grouped(rejection.maxCount)}. Advance orders whose nodes have left to gone, or cancel some.`;
    case "unknownNodeShape":
      return `Pool ${rejection.pool} has no node yet, so the shape of the ordered nodes is not known. State accelerators, cores and memory of a node.`;
    case "cannotAdvanceOrder":
      return cannotAdvanceSentence(rejection);
  }
}

function cannotAdvanceSentence({ name, from, to }: OrderRejection & { readonly code: "cannotAdvanceOrder" }): string {
  const is = `The capacity order ${name} is ${orderPhaseText(from)}`;
  if (from === "gone" || from === "cancelled") return `${is}; it does not change any more. Create a new order.`;
  if (to === "cancelled") return `${is}: its nodes have come. Advance it to leaving instead.`;
  if (to === from) return `${is} already. State new dates to change when its nodes are expected.`;
  return `${is}, so it cannot become ${orderPhaseText(to)}. Orders go forward, to leaving only from service, and to gone only when leaving.`;
}

type OrderEvent = Extract<Event, { readonly kind: `capacity${string}` }>;

export const isOrderEvent = (event: Event): event is OrderEvent => event.kind.startsWith("capacity");

const because = (reason: string): string => (reason === "" ? "" : `: ${reason}`);

export function orderEventSentence(event: OrderEvent): string {
  switch (event.kind) {
    case "capacityOrderCreated": {
      const { name, nodeCount, pool } = event.order;
      return `${event.actor} recorded capacity order ${name} of ${plural(nodeCount, "node")} for pool ${pool} as ${orderPhaseText(event.phase)}${because(event.reason)}.`;
    }
    case "capacityOrderAdvanced":
      return `${event.actor} set capacity order ${event.name} to ${orderPhaseText(event.phase)}${event.arrival === undefined ? "" : " with another expectation"}${because(event.reason)}.`;
    case "capacityOrderCancelled":
      return `${event.actor} cancelled capacity order ${event.name}${because(event.reason)}.`;
    case "capacityOrderNodeJoined":
      return `Node ${event.nodeId} counts against capacity order ${event.name}.`;
    case "capacityOrderQualifying":
      return `All nodes of capacity order ${event.name} have joined, and some of them have to qualify.`;
    case "capacityOrderFilled":
      return `All nodes of capacity order ${event.name} have joined: it is in service.`;
    case "capacityOrderEmptied":
      return `The last node of capacity order ${event.name} has left: it is gone.`;
    case "capacityOrderDecided":
      return decidedSentence(event);
    case "capacityOrderReported":
      return `The provisioner of order ${event.name} says that it is ${orderPhaseText(event.phase)}${because(event.detail)}.`;
    case "capacityOrderIdentified":
      return `The provisioner of order ${event.name} gets it as ${event.requestId}.`;
    case "capacityOrderRestStopped":
      return `No machine of order ${event.name} is left that did not join.`;
    case "capacityOrderFailed":
      return `Order ${event.name} failed${because(event.detail)}. No nodes are ordered for its pool before ${writeInstant(event.retryAtMs)}.`;
    case "capacityNodesReleased":
      return releasedSentence(event);
  }
}

function decidedSentence({ order, ground }: OrderEvent & { readonly kind: "capacityOrderDecided" }): string {
  const { workloadCount, waitedMs, microUsdPerHour } = ground;
  const cost = microUsdPerHour === 0 ? "" : `, ${(microUsdPerHour / 1_000_000).toFixed(2)} USD an hour`;
  const waiting = `${plural(workloadCount, "workload")} that fit nowhere, waiting up to ${durationText(waitedMs)}`;
  return `${plural(order.nodeCount, "node")} ordered for pool ${order.pool} (order ${order.name}${cost}) for ${waiting}.`;
}

const RELEASED_BECAUSE = { idle: "idle for", lost: "lost for", ended: "the order was cancelled" } as const;

function releasedSentence({
  name,
  nodes,
  reason,
  idleMs,
  actor,
}: OrderEvent & { readonly kind: "capacityNodesReleased" }): string {
  const why = reason === "ended" ? RELEASED_BECAUSE.ended : `${RELEASED_BECAUSE[reason]} ${durationText(idleMs)}`;
  const by = actor === null ? "" : ` by ${actor}`;
  return `${plural(nodes.length, "node")} of order ${name} released${by}: ${why}.`;
}

/** How long ago the middle of the expectation passed while nodes are still to come; 0: the order is not late. */
export const orderLateMs = (order: CapacityOrder, nowMs: number): number =>
  isOutstanding(order) ? Math.max(0, nowMs - expectedArrival(order, nowMs).p50AtMs) : 0;

const DAY_MS = 86_400_000;

/** A time of days or weeks, rounded: lead times are not known to the hour. */
export function spanText(ms: number): string {
  if (ms >= 14 * DAY_MS) return plural(Math.round(ms / (7 * DAY_MS)), "week");
  return ms >= 2 * DAY_MS ? plural(Math.round(ms / DAY_MS), "day") : durationText(ms);
}

const dayText = (atMs: number): string => writeInstant(atMs).slice(0, 10);

/** `expected in 5 weeks, 2027-01-02 (P95 in 8 weeks, 2027-01-23)`, or how late the order is. */
export function expectationText(order: CapacityOrder, nowMs: number): string {
  const { p50AtMs, p95AtMs } = expectedArrival(order, nowMs);
  const p95 =
    p95AtMs > nowMs
      ? `P95 in ${spanText(p95AtMs - nowMs)}, ${dayText(p95AtMs)}`
      : `its P95 date ${dayText(p95AtMs)} has also passed`;
  const lateMs = orderLateMs(order, nowMs);
  if (lateMs > 0) return `late: expected ${spanText(lateMs)} ago, ${dayText(p50AtMs)} (${p95})`;
  const condition = order.orderedAtMs === null && order.arrival.kind === "leadTime" ? "if ordered now, " : "";
  return `${condition}expected in ${spanText(p50AtMs - nowMs)}, ${dayText(p50AtMs)} (${p95})`;
}

export function orderSentence(order: CapacityOrder, nowMs: number): string {
  const { name, pool, nodeCount, joinedCount, phase } = order;
  const what = `Order ${name} of ${plural(nodeCount, "node")} for pool ${pool} is ${orderPhaseText(phase)}`;
  const joined = joinedCount > 0 || phase === "arriving" || phase === "qualifying";
  const have = joined ? `; ${grouped(joinedCount)} of ${grouped(nodeCount)} are in the fleet` : "";
  const when = isOutstanding(order) ? `; ${expectationText(order, nowMs)}` : "";
  return `${what}${have}${when}.${automaticText(order)}`;
}

/** ` The engine ordered them for 2 workloads that fit nowhere, from the provisioner cloud.` */
function automaticText({ automatic }: CapacityOrder): string {
  if (automatic === undefined) return "";
  const { provisioner, ground, detail } = automatic;
  const work = `${plural(ground.workloadCount, "workload")} that fit nowhere`;
  const said = detail === "" ? "" : `, which says: ${detail}`;
  return ` The engine ordered the nodes for ${work}, from the provisioner ${provisioner}${said}.`;
}
