/** Overflow of pools: requests that left or stayed, and budgets. */
import type { LimitDefinition } from "../limits/ledger.ts";
import type { Pool } from "../replicas/pool.ts";
import { escaped, family } from "./prometheus-text.ts";

export function overflowText(pools: Iterable<Pool>, used: (definition: LimitDefinition) => number): string {
  const left: string[] = [];
  const stayed: string[] = [];
  const targets: string[] = [];
  const cost: string[] = [];
  const budgets: string[] = [];
  const spent: string[] = [];
  for (const { name, overflow } of pools) {
    if (overflow === undefined) continue;
    const labels = `{name="${escaped(name)}",overflow="${escaped(overflow.policy.name)}"`;
    for (const [reason, count] of overflow.left) left.push(`${labels},reason="${reason}"} ${count}`);
    for (const [target, count] of overflow.targets) targets.push(`${labels},target="${escaped(target)}"} ${count}`);
    for (const [reason, count] of overflow.stayed) stayed.push(`${labels},reason="${reason}"} ${count}`);
    cost.push(`${labels}} ${overflow.nanoUsd / 1e9}`);
    if (overflow.budget === undefined) continue;
    budgets.push(`${labels},period="${overflow.budget.period}"} ${overflow.budget.limit / 1e9}`);
    spent.push(`${labels},period="${overflow.budget.period}"} ${used(overflow.budget) / 1e9}`);
  }
  const name = (suffix: string): string => `headroom_gateway_overflow_${suffix}`;
  return [
    family("counter", name("requests_total"), "Requests that left a saturated pool, by reason", left),
    family("counter", name("target_requests_total"), "Requests that left a saturated pool, by target", targets),
    family("counter", name("stayed_total"), "Requests that stayed in a saturated pool, by reason", stayed),
    family("counter", name("cost_usd_total"), "Cost of requests that left, in USD", cost),
    family("gauge", name("budget_usd"), "Budget of an overflow", budgets),
    family("gauge", name("budget_spent_usd"), "Spent of the budget, requests in progress included", spent),
  ].join("");
}
