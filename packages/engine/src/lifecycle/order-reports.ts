/**
 * Statements of provisioners about orders that the engine made. Silence and repetitions change nothing; a machine leaves
 * the fleet only if its release was recorded before.
 */
import { burstBackOffMs, isOrderOver, isOutstanding } from "@headroom/model";
import type { AutomaticOrder, CapacityOrder, NodeId, Observation } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { recordRemovals } from "./remove.ts";

type OrderIdentity = Observation & { readonly kind: "orderIdentified" };
type OrderReport = Observation & { readonly kind: "orderReported" };

/** Records the id of an order that has none yet. Only then does the driver call the provisioner. */
export function identifyOrder(batch: Batch, { name, requestId }: OrderIdentity): void {
  if (batch.world.state.capacityOrders.get(name)?.automatic?.requestId !== null) return;
  batch.emit({ kind: "capacityOrderIdentified", version: 1, atMs: batch.nowMs, name, requestId });
}

export function heedOrderReport(batch: Batch, report: OrderReport): void {
  const order = batch.world.state.capacityOrders.get(report.name);
  if (order?.automatic === undefined || isOrderOver(order)) return;
  const { state, detail } = report;
  if (!isOutstanding(order)) return endReleased(batch, order, report);
  if (state === "failed") return failOrder(batch, order, detail);
  if (state === "gone") return failOrder(batch, order, detail === "" ? "the machines are gone" : detail);
  if (isNews(order, order.automatic, report)) recordReport(batch, order, report);
}

/** Ends an order whose missing nodes do not come. Nodes are ordered for the pool again after a back-off. */
export function failOrder(batch: Batch, { name, pool, nodeCount, joinedCount }: CapacityOrder, detail: string): void {
  const failures = batch.world.state.burstAccounts.get(pool)?.failures ?? 0;
  const retryAtMs = batch.nowMs + burstBackOffMs(failures + 1);
  const missingCount = nodeCount - joinedCount;
  batch.emit({ kind: "capacityOrderFailed", version: 2, atMs: batch.nowMs, name, detail, retryAtMs, missingCount });
}

/** A statement is no news if the order has advanced at least as far and the statement adds nothing. */
function isNews(
  { phase, arrival, price }: CapacityOrder,
  { nodeNames }: AutomaticOrder,
  { state, nodes = [], expectedAtMs, priceMicroUsdPerHour }: OrderReport,
): boolean {
  if (phase === "planned" || (phase === "ordered" && state === "arriving")) return true;
  if (nodes.some((id) => !nodeNames.includes(id))) return true;
  if (expectedAtMs !== undefined && (arrival.kind !== "dates" || isOtherDate(arrival.p50AtMs, expectedAtMs)))
    return true;
  return priceMicroUsdPerHour !== undefined && price?.microUsd !== priceMicroUsdPerHour;
}

/** A provisioner that counts from now names another date each time: small differences are no news. */
const isOtherDate = (knownMs: number, statedMs: number): boolean => Math.abs(knownMs - statedMs) >= DATE_PRECISION_MS;

const DATE_PRECISION_MS = 30_000;

function recordReport(batch: Batch, { name, phase, nodeCount, automatic }: CapacityOrder, report: OrderReport): void {
  const { state, detail, expectedAtMs, priceMicroUsdPerHour } = report;
  const isFurther = state === "arriving" || phase === "arriving" || phase === "qualifying";
  // A provisioner may not name more machines than were ordered: the others would count as released ones later.
  const nodes = report.nodes?.slice(0, Math.max(nodeCount, automatic?.nodeNames.length ?? 0));
  batch.emit({
    kind: "capacityOrderReported",
    version: 1,
    atMs: batch.nowMs,
    name,
    phase: isFurther ? "arriving" : "ordered",
    detail,
    ...(nodes === undefined ? {} : { nodes }),
    ...(expectedAtMs === undefined ? {} : { expectedAtMs }),
    ...(priceMicroUsdPerHour === undefined ? {} : { priceMicroUsdPerHour }),
  });
}

/** Removes released nodes whose machines are gone. Nodes in service stay, whatever the provisioner says. */
function endReleased(batch: Batch, order: CapacityOrder, { state, released = [], isRestStopped }: OrderReport): void {
  if (isRestStopped === true && order.phase === "inService" && (order.automatic?.missingCount ?? 0) > 0)
    batch.emit({ kind: "capacityOrderRestStopped", version: 1, atMs: batch.nowMs, name: order.name });
  const isGone = state === "gone";
  const gone = (order.automatic?.nodeNames ?? []).filter((id) => isGone || released.includes(id));
  const { nodes } = batch.world.state;
  const isReleased = (id: NodeId): boolean => nodes.get(id)?.removal?.awaits === order.name;
  const leaving = gone.filter(isReleased).map((id) => ({ id, actor: nodes.get(id)?.removal?.actor ?? "" }));
  recordRemovals(batch, leaving);
  const left = batch.world.state.capacityOrders.get(order.name);
  if (isGone && left?.phase === "leaving" && left.joinedCount === 0)
    batch.emit({ kind: "capacityOrderEmptied", version: 1, atMs: batch.nowMs, name: order.name });
}
