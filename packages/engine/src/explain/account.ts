/** What a team has used up of its budget, as of the engine's clock. */
import { accrued, gpuHoursOf, microUsdOf, periodStartMs, renewalMs } from "../budget/account.ts";
import { isSpent } from "../budget/gate.ts";
import { clockOf, worldOf } from "../engine.ts";
import type { TeamName } from "../model/ids.ts";
import type { Engine } from "../ready.ts";

export interface AccountView {
  readonly gpuHours: number;
  readonly microUsd: number;
  /** When the period began; 0 for a budget that is given once. */
  readonly periodStartMs: number;
  readonly renewsAtMs: number | null;
  readonly isSpent: boolean;
}

/** `null`: the team has no budget. */
export function accountOf(engine: Engine, team: TeamName): AccountView | null {
  const { state, budgets } = worldOf(engine);
  const budget = state.teams.get(team)?.budget;
  const account = state.accounts.get(team);
  if (budget === undefined || account === undefined) return null;
  const nowMs = clockOf(engine);
  const now = accrued(account, budget, { rate: budgets.rate(team), nowMs });
  return {
    gpuHours: gpuHoursOf(now),
    microUsd: microUsdOf(now),
    periodStartMs: periodStartMs(budget, nowMs),
    renewsAtMs: renewalMs(budget, nowMs),
    isSpent: isSpent(state, team),
  };
}
