/**
 * Budgets of change: how many proposals of a kind may be acted on within an hour, and how many nodes of a pool they may
 * drain. They are counted from the recorded proposals, so they hold against any number of faults and of proposals.
 */
import { HOUR_MS, usualProposalRules } from "@headroom/model";
import type { PoolName, Proposal, ProposalKind, ProposalRule, ProposedChange, Rejection } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";

type ProposalState = Pick<ReadonlyState, "proposals" | "proposalRules" | "nodes">;

export const proposalRuleOf = (
  { proposalRules }: Pick<ReadonlyState, "proposalRules">,
  kind: ProposalKind,
): ProposalRule => proposalRules.get(kind) ?? usualProposalRules[kind];

/** The reason why the change would exceed its budget now, or `null` if it would not. */
export function budgetRefusal(state: ProposalState, change: ProposedChange, nowMs: number): Rejection | null {
  const { perHourMax, poolPercentPerHourMax } = proposalRuleOf(state, change.kind);
  const recent = [...state.proposals.values()].filter(
    (each) => each.change.kind === change.kind && usesBudget(each, nowMs),
  );
  const refusal = (pool: PoolName | null, used: readonly Proposal[], maxCount: number): Rejection | null =>
    used.length < maxCount
      ? null
      : {
          code: "changeBudgetUsed",
          of: change.kind,
          pool,
          count: used.length,
          maxCount,
          freeAtMs: freeAtMs(used, maxCount, nowMs),
        };
  const ofKind = refusal(null, recent, perHourMax);
  const pool = change.kind === "drain" ? state.nodes.get(change.nodeId)?.pool : undefined;
  if (ofKind !== null || pool === undefined) return ofKind;
  const size = [...state.nodes.values()].filter((node) => node.pool === pool).length;
  const ofPool = recent.filter(
    (each) => each.change.kind === "drain" && state.nodes.get(each.change.nodeId)?.pool === pool,
  );
  return refusal(pool, ofPool, Math.max(1, Math.floor((size * poolPercentPerHourMax) / 100)));
}

/** An approved proposal counts from its approval, because it is acted on in the next round. */
const usesBudget = ({ phase, actedAtMs }: Proposal, nowMs: number): boolean =>
  phase === "approved" || (actedAtMs !== null && actedAtMs + HOUR_MS > nowMs);

/** The first instant at which fewer than `maxCount` changes count. */
function freeAtMs(used: readonly Proposal[], maxCount: number, nowMs: number): number {
  const ends = used.map(({ actedAtMs }) => (actedAtMs ?? nowMs) + HOUR_MS).toSorted((left, right) => left - right);
  return ends[used.length - maxCount] ?? nowMs + HOUR_MS;
}
