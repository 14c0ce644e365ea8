/**
 * Forecast of the time at which a budget will be used up, at the rate of running work and at the mean rate of the last
 * days.
 */
import { DAY_MS } from "@headroom/model";
import type { Account, Budget, Rate } from "@headroom/model";
import { HOUR_MS, WHOLE_MILLI, reachesMs, renewalMs, spentOf } from "./account.ts";

export interface PaceForecast {
  /** Accelerator-hours a day. */
  readonly gpuHoursPerDay: number;
  /** Micro-dollars a day. `now` uses present prices, and `lately` the prices that were recorded. */
  readonly microUsdPerDay: number;
  /**
   * Time at which the first bound of the budget is used up at this pace. `null`: the budget is renewed before, or no
   * bound is ever reached.
   */
  readonly usedUpAtMs: number | null;
}

export interface BudgetForecast {
  /** Forecast on the assumption that all running work continues and no other work starts. */
  readonly now: PaceForecast;
  /**
   * Forecast at the mean rate since `sinceMs`: the start of the day (UTC) a week ago, or the start of counting if it is
   * later. `null`: less than an hour was counted.
   */
  readonly lately: (PaceForecast & { readonly sinceMs: number }) | null;
}

/** Minimum time that must have been counted, because a mean over less time does not predict the coming days. */
const COUNTED_MS_MIN = HOUR_MS;

/** The forecast from an account as of now and the present rate, or `null` if the budget is used up. */
export function budgetForecast(account: Account, budget: Budget, rate: Rate): BudgetForecast | null {
  if (spentOf(account, budget).part >= 1) return null;
  return { now: atPace(account, budget, rate), lately: lately(account, budget) };
}

function lately(account: Account, budget: Budget): BudgetForecast["lately"] {
  const { days = [], atMs } = account;
  const sinceMs = days[0]?.fromMs ?? atMs;
  const countedMs = atMs - sinceMs;
  if (countedMs < COUNTED_MS_MIN) return null;
  const mean = (of: "milliMs" | "moneyMilliMs"): number => days.reduce((sum, day) => sum + day[of], 0) / countedMs;
  return { sinceMs, ...atPace(account, budget, { milli: mean("milliMs"), moneyMilli: mean("moneyMilliMs") }) };
}

function atPace(account: Account, budget: Budget, rate: Rate): PaceForecast {
  const reachedMs = reachesMs(account, budget, { rate, percent: 100 });
  const renewedMs = renewalMs(budget, account.atMs);
  const isInTime = reachedMs !== null && (renewedMs === null || reachedMs < renewedMs);
  return {
    gpuHoursPerDay: perDay(rate.milli),
    microUsdPerDay: perDay(rate.moneyMilli),
    usedUpAtMs: isInTime ? reachedMs : null,
  };
}

/** Converts a rate in thousandths per hour to units per day. */
const perDay = (rate: number): number => (rate / WHOLE_MILLI) * (DAY_MS / HOUR_MS);
