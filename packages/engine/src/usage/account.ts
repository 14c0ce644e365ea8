/**
 * Arithmetic of budget accounts: usage at an instant, and the time at which a given part of a budget will be used up.
 */
import { monthStartMs, nextMonthStartMs } from "@headroom/model";
import type { Account, Budget, Rate } from "@headroom/model";
import { daysUntil } from "./days.ts";

export const HOUR_MS = 3_600_000;
export const WHOLE_MILLI = 1000;

export const periodStartMs = ({ period }: Budget, nowMs: number): number =>
  period === "month" ? monthStartMs(nowMs) : 0;

/** Time at which the budget is renewed, or `null` if it is never renewed. */
export const renewalMs = ({ period }: Budget, nowMs: number): number | null =>
  period === "month" ? nextMonthStartMs(nowMs) : null;

/** The account at a later instant. In a new budget period usage starts at zero, but the daily counts continue. */
export function accrued(account: Account, budget: Budget, { rate, nowMs }: { rate: Rate; nowMs: number }): Account {
  const startMs = periodStartMs(budget, nowMs);
  const isNew = startMs > account.atMs;
  const passedMs = nowMs - (isNew ? startMs : account.atMs);
  return {
    ...account,
    atMs: nowMs,
    milliMs: (isNew ? 0 : account.milliMs) + rate.milli * passedMs,
    moneyMilliMs: (isNew ? 0 : account.moneyMilliMs) + rate.moneyMilli * passedMs,
    ...(account.days === undefined ? {} : { days: daysUntil(account.days, { rate, fromMs: account.atMs, nowMs }) }),
  };
}

export const gpuHoursOf = ({ milliMs }: Account): number => milliMs / WHOLE_MILLI / HOUR_MS;
export const microUsdOf = ({ moneyMilliMs }: Account): number => moneyMilliMs / WHOLE_MILLI / HOUR_MS;

/** The bound of the budget, accelerator-hours or money, of which the largest part is used, and that part. */
export interface Spent {
  readonly resource: "gpuHours" | "money";
  readonly limit: number;
  readonly spent: number;
  readonly part: number;
}

export function spentOf(account: Account, { gpuHours, microUsd }: Budget): Spent {
  const hours = part("gpuHours", gpuHoursOf(account), gpuHours);
  const money = part("money", microUsdOf(account), microUsd);
  return money.part > hours.part || gpuHours === undefined ? money : hours;
}

function part(resource: Spent["resource"], spent: number, limit: number | undefined): Spent {
  if (limit === undefined) return { resource, limit: Number.POSITIVE_INFINITY, spent, part: 0 };
  return { resource, limit, spent, part: limit === 0 ? Number.POSITIVE_INFINITY : spent / limit };
}

/**
 * Instant, in whole ms, at which this percentage of the budget is used up at this rate, or `null` if the rate never
 * uses it up.
 */
export function reachesMs(
  account: Account,
  { gpuHours, microUsd }: Budget,
  { rate, percent }: { readonly rate: Rate; readonly percent: number },
): number | null {
  const left = (limit: number | undefined, spent: number, perMs: number): number => {
    if (limit === undefined || perMs === 0) return Number.POSITIVE_INFINITY;
    const missing = (limit * WHOLE_MILLI * HOUR_MS * percent) / 100 - spent;
    return missing <= 0 ? 0 : missing / perMs;
  };
  const waitMs = Math.min(
    left(gpuHours, account.milliMs, rate.milli),
    left(microUsd, account.moneyMilliMs, rate.moneyMilli),
  );
  return Number.isFinite(waitMs) ? account.atMs + Math.ceil(waitMs) : null;
}
