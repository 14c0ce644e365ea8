/** A team's budget: usage, and forecast of the remaining amount, at the engine's clock. */
import { accrued, gpuHoursOf, microUsdOf, periodStartMs, renewalMs } from "../../usage/account.ts";
import { budgetForecast } from "../../usage/forecast.ts";
import type { BudgetForecast } from "../../usage/forecast.ts";
import { isSpent } from "../../usage/gate.ts";
import { clockOf, worldOf } from "../../engine/engine.ts";
import type { TeamName } from "../../model/ids.ts";
import type { Engine } from "../../engine/ready.ts";

export interface AccountView {
  readonly gpuHours: number;
  readonly microUsd: number;
  /** Start of the current budget period; 0 for a budget that does not renew. */
  readonly periodStartMs: number;
  readonly renewsAtMs: number | null;
  readonly isSpent: boolean;
  /** Time of all figures of this view. */
  readonly atMs: number;
  /** `null`: the budget is used up. */
  readonly forecast: BudgetForecast | null;
}

/** The budget account of a team; `null`: the team has no budget. */
export function accountOf(engine: Engine, team: TeamName): AccountView | null {
  const { state, budgets } = worldOf(engine);
  const budget = state.teams.get(team)?.budget;
  const account = state.accounts.get(team);
  if (budget === undefined || account === undefined) return null;
  const nowMs = clockOf(engine);
  const rate = budgets.rate(team);
  const now = accrued(account, budget, { rate, nowMs });
  return {
    gpuHours: gpuHoursOf(now),
    microUsd: microUsdOf(now),
    periodStartMs: periodStartMs(budget, nowMs),
    renewsAtMs: renewalMs(budget, nowMs),
    isSpent: isSpent(state, team),
    atMs: nowMs,
    forecast: budgetForecast(now, budget, rate),
  };
}
