/** Money of an endpoint for each day or month: the replicas that may run while it is spent, and the bounds of its periods. */
import { BUDGET_SPENT_PERCENT } from "./budget.ts";
import { DAY_MS, monthStartMs, nextMonthStartMs } from "./time/months.ts";

export interface EndpointBudget {
  readonly microUsd: number;
  /** Calendar day or month in UTC. */
  readonly period: "day" | "month";
  /** Replicas that stay while the budget is spent. `warn`: all; `minimum`: `replicas.min`; `stop`: none. */
  readonly over: "warn" | "minimum" | "stop";
}

/** Money that an endpoint spent in the period of `atMs`. */
export interface EndpointAccount {
  readonly atMs: number;
  /** Time at which the budget was declared. */
  readonly sinceMs: number;
  /** Cost of replicas by hourly prices, in micro-dollars times thousandths of an accelerator times ms. */
  readonly moneyMilliMs: number;
  /** Cost of requests that left the endpoint, in micro-dollars. */
  readonly overflowMicroUsd: number;
  /** The last counter of each gateway, the latest report last. Absent: no requests left. */
  readonly gateways?: readonly GatewayCounter[];
  /** Replicas before the budget was spent, of an endpoint without targets. Absent: it was not. */
  readonly replicasBefore?: number;
  /** The percentage that was recorded last, with its period. Absent: none was recorded. */
  readonly crossed?: { readonly percent: number; readonly periodStartMs: number };
}

/** Money of requests that left, since a gateway started. */
export interface GatewayCounter {
  readonly gateway: string;
  readonly startedAtMs: number;
  readonly microUsd: number;
}

export const GATEWAY_COUNTERS_MAX = 64;

export const endpointPeriodStartMs = ({ period }: EndpointBudget, nowMs: number): number =>
  period === "day" ? nowMs - (nowMs % DAY_MS) : monthStartMs(nowMs);

export const endpointRenewalMs = (budget: EndpointBudget, nowMs: number): number =>
  budget.period === "day" ? endpointPeriodStartMs(budget, nowMs) + DAY_MS : nextMonthStartMs(nowMs);

interface Budgeted {
  readonly spec: {
    readonly replicas: { readonly min: number; readonly max: number };
    readonly budget?: EndpointBudget;
  };
  readonly account?: EndpointAccount;
}

/** Whether the budget is spent, and bounds the number of replicas. */
export const isBudgetSpent = ({
  spec: { budget },
  account,
}: Omit<Budgeted, "spec"> & { readonly spec: Pick<Budgeted["spec"], "budget"> }): boolean =>
  budget !== undefined && budget.over !== "warn" && account?.crossed?.percent === BUDGET_SPENT_PERCENT;

/** The bounds of the number of replicas now. */
export function replicaBounds({ spec, ...rest }: Budgeted): { readonly min: number; readonly max: number } {
  if (!isBudgetSpent({ spec, ...rest })) return spec.replicas;
  const most = spec.budget?.over === "stop" ? 0 : spec.replicas.min;
  return { min: most, max: most };
}
