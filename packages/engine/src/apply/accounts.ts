/** Budget accounts of teams, updated by events that change the rate of use. No other code writes `state.accounts`. */
import { BUDGET_SPENT_PERCENT, BUDGET_WARNING_PERCENT, canonicalJson } from "@headroom/model";
import type { TeamName, Team } from "@headroom/model";
import { accrued, reachesMs, renewalMs } from "../usage/account.ts";
import { daysFrom } from "../usage/days.ts";
import type { World } from "../cluster/world.ts";
import { accrueEndpoints, hasEndpointAccounts } from "./endpoint-accounts.ts";
import type { WritableWorld } from "./writable.ts";

/**
 * Brings the budget accounts of the team and of every team above it up to now. Called before the running work changes.
 */
export function accrueLine(world: WritableWorld, team: TeamName): void {
  const { accounts, teams } = world.state;
  if (accounts.size === 0) return;
  for (let at: TeamName | null = team; at !== null; at = teams.get(at)?.parent ?? null) accrue(world, at);
}

/** Brings every budget account up to now. Called before teams or prices change. */
export function accrueAll(world: WritableWorld): void {
  accrueEndpoints(world);
  for (const team of world.state.accounts.keys()) accrue(world, team);
}

function accrue({ state, budgets }: WritableWorld, team: TeamName): void {
  const account = state.accounts.get(team);
  const budget = state.teams.get(team)?.budget;
  if (account === undefined || budget === undefined) return;
  state.accounts.set(team, accrued(account, budget, { rate: budgets.rate(team), nowMs: state.nowMs }));
}

/** Opens or updates the account of the team's budget; usage under the old budget counts for the new one. */
export function openAccount({ state }: WritableWorld, { name, budget }: Team, before: Team | undefined): void {
  const known = state.accounts.get(name);
  if (budget === undefined) {
    state.accounts.delete(name);
  } else if (known === undefined) {
    state.accounts.set(name, { atMs: state.nowMs, milliMs: 0, moneyMilliMs: 0 });
  } else if (canonicalJson(before?.budget ?? null) !== canonicalJson(budget)) {
    const { crossed: _crossed, ...rest } = known;
    state.accounts.set(name, rest);
  }
}

/** Begins to count the team's usage by day, if it has a budget. */
export function countDays({ state }: WritableWorld, team: TeamName): void {
  const account = state.accounts.get(team);
  if (account !== undefined && account.days === undefined)
    state.accounts.set(team, { ...account, days: daysFrom(state.nowMs) });
}

/** After teams or prices changed: recomputes rates and checks every budget at once. */
export function recountAccounts(world: WritableWorld): void {
  world.budgets.rebuild();
  world.budgets.wakes.clear();
  for (const team of world.state.accounts.keys()) wakeForBudget(world, team, world.state.nowMs);
  if (hasEndpointAccounts(world)) world.timers.add({ kind: "budget", atMs: world.state.nowMs });
}

/**
 * Schedules a wakeup for the next warning level, the using up or the renewal of the budgets of the team and all teams
 * above it.
 */
export function wakeForBudgets(world: WritableWorld, team: TeamName): void {
  const { accounts, teams, nowMs } = world.state;
  if (accounts.size === 0) return;
  for (let at: TeamName | null = team; at !== null; at = teams.get(at)?.parent ?? null)
    if (accounts.has(at)) wakeForBudget(world, at, nextLook(world, at, nowMs));
}

export function nextLook({ state, budgets }: World, team: TeamName, nowMs: number): number | null {
  const account = state.accounts.get(team);
  const budget = state.teams.get(team)?.budget;
  if (account === undefined || budget === undefined) return null;
  const percent = account.crossed === undefined ? BUDGET_WARNING_PERCENT : BUDGET_SPENT_PERCENT;
  const isSpent = account.crossed?.percent === BUDGET_SPENT_PERCENT;
  // Usage of an ended budget period no longer counts, even if the end of the period is not recorded yet.
  const rate = budgets.rate(team);
  const reaches = isSpent ? null : reachesMs(accrued(account, budget, { rate, nowMs }), budget, { rate, percent });
  const renewed = renewalMs(budget, nowMs);
  return reaches === null || (renewed !== null && renewed < reaches) ? renewed : reaches;
}

/** A wakeup may be early, because budgets are checked again then. A wakeup later than a pending one is not needed. */
export function wakeForBudget({ budgets, timers }: World, team: TeamName, atMs: number | null): void {
  if (atMs === null || (budgets.wakes.get(team) ?? Number.POSITIVE_INFINITY) <= atMs) return;
  budgets.wakes.set(team, atMs);
  timers.add({ kind: "budget", atMs });
}
