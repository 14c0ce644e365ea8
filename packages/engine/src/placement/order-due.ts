/** Until when the nodes of an order of the engine are waited for. */
import { MANUAL_PROVISIONER, giveUpMsOf, isOutstanding } from "@headroom/model";
import type { CapacityOrder } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";

/** Longest lead time of an order whose pool has lost its rule. */
const LEAD_MAX_MS = 86_400_000;

/**
 * When the nodes of an outstanding order are so late that they are waited for no longer. By the rule of the pool: a provisioner that
 * names a later date each time would hold up the work for good. `null`: the order is none of the engine, its nodes are not outstanding, or a
 * person has to place it and has not. An order that a person places is due from then on, or, if nodes come without it, from the decision.
 */
export function orderDueAtMs({ pools }: ReadonlyState, order: CapacityOrder): number | null {
  const { automatic, arrival, orderedAtMs, joinedCount, nodeCount, pool } = order;
  if (automatic === undefined || !isOutstanding(order)) return null;
  const isManual = automatic.provisioner === MANUAL_PROVISIONER;
  if (isManual && orderedAtMs === null && joinedCount === 0) return null;
  const fromMs = isManual ? (orderedAtMs ?? automatic.decidedAtMs) : automatic.decidedAtMs;
  const statedMs = arrival.kind === "leadTime" ? arrival.p95Ms : Math.max(0, arrival.p95AtMs - (orderedAtMs ?? 0));
  const { burst, qualification } = pools.get(pool) ?? {};
  // Two runs of the suite on each node, as many nodes at a time as the rule allows, are lead time, too.
  const proofMs =
    qualification === undefined ? 0 : 2 * qualification.limitMs * Math.ceil(nodeCount / qualification.atOnce);
  return fromMs + giveUpMsOf(burst?.leadTimeP95Ms ?? Math.min(statedMs, LEAD_MAX_MS)) + proofMs;
}
