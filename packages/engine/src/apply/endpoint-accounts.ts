/** Accounts of endpoints with budgets, updated by events that change what they spend. No other code writes them. */
import { BUDGET_SPENT_PERCENT, BUDGET_WARNING_PERCENT } from "@headroom/model";
import type { EndpointBudget, Workload } from "@headroom/model";
import { moneyRateOf } from "../cluster/budget-index.ts";
import type { World } from "../cluster/world.ts";
import type { WritableWorkload } from "../state/mutable-state.ts";
import { accruedEndpoint, newEndpointAccount, nextLookMs } from "../usage/endpoint-account.ts";
import type { WritableWorld } from "./writable.ts";

/** Brings the account of the endpoint up to now. Called before its running work, its budget or prices change. */
export function accrueEndpoint({ state }: WritableWorld, workload: WritableWorkload): void {
  const { spec, account } = workload;
  if (account === undefined || spec.kind !== "serve" || spec.budget === undefined) return;
  workload.account = accruedEndpoint(account, spec.budget, { rate: moneyRateOf(state, workload), nowMs: state.nowMs });
  workload.revision = state.sequence;
}

export function accrueEndpoints(world: WritableWorld): void {
  for (const id of world.endpoints) {
    const workload = world.state.workloads.get(id);
    if (workload?.account !== undefined) accrueEndpoint(world, workload);
  }
}

export function hasEndpointAccounts({ endpoints, state }: World): boolean {
  for (const id of endpoints) if (state.workloads.get(id)?.account !== undefined) return true;
  return false;
}

/**
 * Opens, keeps or closes the account after the budget was declared, changed or removed. `before`: the period of the budget before.
 * The part of a month that belongs to today is unknown, so the account of a day starts at zero.
 */
export function openEndpointAccount(
  world: WritableWorld,
  workload: WritableWorkload,
  before?: EndpointBudget["period"],
): void {
  const { spec, account } = workload;
  if (spec.kind !== "serve") return;
  if (spec.budget === undefined) {
    delete workload.account;
    world.budgets.endpointWakes.delete(workload.id);
  } else if (account === undefined) workload.account = newEndpointAccount(world.state.nowMs);
  else {
    const { crossed: _crossed, ...rest } = account;
    const isShorter = before === "month" && spec.budget.period === "day";
    workload.account = isShorter ? { ...rest, moneyMilliMs: 0, overflowMicroUsd: 0 } : rest;
  }
  if (spec.budget !== undefined || account !== undefined) world.timers.add({ kind: "budget", atMs: world.state.nowMs });
}

/** Keeps the number before the budget was spent, while nothing but the budget and the bounds changes it. */
export function rememberReplicas(workload: WritableWorkload, from: number): void {
  const { spec, account, scale } = workload;
  if (account === undefined || scale === undefined || scale.ground.kind === "bounds") return;
  const { replicasBefore, ...rest } = account;
  if (scale.ground.kind !== "budgetSpent") workload.account = rest;
  else if (spec.kind === "serve" && spec.scale === undefined)
    workload.account = { ...rest, replicasBefore: replicasBefore ?? from };
}

/** Schedules a wakeup for the next percentage, or the end of the period. */
export function wakeForEndpoint(world: World, workload: Workload, nowMs: number): void {
  const { spec, account } = workload;
  if (account === undefined || spec.kind !== "serve" || spec.budget === undefined) return;
  const { state, budgets, timers } = world;
  const rate = moneyRateOf(state, workload);
  const now = accruedEndpoint(account, spec.budget, { rate, nowMs });
  const percents = [BUDGET_WARNING_PERCENT, BUDGET_SPENT_PERCENT];
  const atMs = Math.max(nowMs + 1, nextLookMs(now, spec.budget, { rate, percents }));
  if ((budgets.endpointWakes.get(workload.id) ?? Number.POSITIVE_INFINITY) <= atMs) return;
  budgets.endpointWakes.set(workload.id, atMs);
  timers.add({ kind: "budget", atMs });
}
