/** Arithmetic of the budgets of endpoints: what was spent at an instant, and when a part of a budget will be spent. */
import { endpointPeriodStartMs, endpointRenewalMs, GATEWAY_COUNTERS_MAX } from "@headroom/model";
import type { EndpointAccount, EndpointBudget, GatewayCounter } from "@headroom/model";
import { HOUR_MS, WHOLE_MILLI } from "./account.ts";

const UNIT = WHOLE_MILLI * HOUR_MS;

export const newEndpointAccount = (nowMs: number): EndpointAccount => ({
  atMs: nowMs,
  sinceMs: nowMs,
  moneyMilliMs: 0,
  overflowMicroUsd: 0,
});

/** The account at a later instant. `rate`: as `Rate.moneyMilli`. In a new period both costs start at zero. */
export function accruedEndpoint(
  account: EndpointAccount,
  budget: EndpointBudget,
  { rate, nowMs }: { readonly rate: number; readonly nowMs: number },
): EndpointAccount {
  const startMs = endpointPeriodStartMs(budget, nowMs);
  const isNew = startMs > account.atMs;
  const fromMs = isNew ? startMs : account.atMs;
  return {
    ...account,
    atMs: nowMs,
    moneyMilliMs: (isNew ? 0 : account.moneyMilliMs) + rate * (nowMs - fromMs),
    overflowMicroUsd: isNew ? 0 : account.overflowMicroUsd,
  };
}

export const spentMicroUsd = ({ moneyMilliMs, overflowMicroUsd }: EndpointAccount): number =>
  moneyMilliMs / UNIT + overflowMicroUsd;

/** Earliest instant, in whole ms, at which another percentage is spent at this rate, or the period ends. */
export function nextLookMs(
  account: EndpointAccount,
  budget: EndpointBudget,
  { rate, percents }: { readonly rate: number; readonly percents: readonly number[] },
): number {
  const renewal = endpointRenewalMs(budget, account.atMs);
  const next = percents.find((percent) => percent > (account.crossed?.percent ?? 0));
  if (next === undefined || rate === 0) return renewal;
  const missing = (budget.microUsd * next) / 100 - spentMicroUsd(account);
  return Math.min(renewal, account.atMs + Math.max(0, Math.ceil((missing * UNIT) / rate)));
}

/**
 * The account with the counter of a gateway. A lower counter began again, and is charged whole. A counter that is not known is charged
 * whole too, unless it can have been counted before: the gateway started before the budget was declared, or the list was full.
 */
export function charged(account: EndpointAccount, { gateway, startedAtMs, microUsd }: GatewayCounter): EndpointAccount {
  const { gateways = [], sinceMs, overflowMicroUsd } = account;
  const known = gateways.find((each) => each.gateway === gateway && each.startedAtMs === startedAtMs);
  const isBaseline = startedAtMs < sinceMs || gateways.length >= GATEWAY_COUNTERS_MAX;
  const before = known?.microUsd ?? (isBaseline ? microUsd : 0);
  return {
    ...account,
    overflowMicroUsd: overflowMicroUsd + (microUsd < before ? microUsd : microUsd - before),
    gateways: [...gateways.filter((each) => each !== known), { gateway, startedAtMs, microUsd }].slice(
      -GATEWAY_COUNTERS_MAX,
    ),
  };
}
