/** Usage of a team's budget and the forecast of the rest, as of the engine's clock. */
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
  /** When the period began; 0 for a budget that is given once. */
  readonly periodStartMs: number;
  readonly renewsAtMs: number | null;
  readonly isSpent: boolean;
  /** All of this as of then. */
  readonly atMs: number;
  /** `null`: there is nothing left of it. */
  readonly forecast: BudgetForecast | null;
}

/** `null`: the team has no budget. */
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
