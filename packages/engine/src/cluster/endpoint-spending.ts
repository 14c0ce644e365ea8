/** Money that an endpoint with a budget spent in the present period, for views. */
import type { Workload } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";
import { accruedEndpoint, spentMicroUsd } from "../usage/endpoint-account.ts";
import { moneyRateOf } from "./budget-index.ts";

export interface EndpointSpending {
  readonly spentMicroUsd: number;
  /** The part for requests that left the endpoint. */
  readonly overflowMicroUsd: number;
}

/** `null`: the workload has no budget of its own. */
export function endpointSpending(state: ReadonlyState, workload: Workload, nowMs: number): EndpointSpending | null {
  const { spec, account } = workload;
  if (spec.kind !== "serve" || spec.budget === undefined || account === undefined) return null;
  const rate = workload.endedAtMs === null ? moneyRateOf(state, workload) : 0;
  const now = accruedEndpoint(account, spec.budget, { rate, nowMs: Math.max(nowMs, account.atMs) });
  return { spentMicroUsd: spentMicroUsd(now), overflowMicroUsd: now.overflowMicroUsd };
}
