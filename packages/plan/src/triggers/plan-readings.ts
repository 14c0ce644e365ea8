/**
 * Values of the measures `forecast` and `pipeline` now, from a plan and the fleet as it is. Both look at the month in which an
 * order of today is in service with a probability of 95%, because only an order beyond it comes in time.
 */
import { dayNumber, monthNumber } from "../document/calendar.ts";
import { demandByMonth, demandQuantile, normalQuantile } from "../document/distributions.ts";
import type { PlanDocument } from "../document/plan-document.ts";
import { existingCapacity, meanSpeed, shortestLeadDays } from "../document/supply.ts";

const DAY_MS = 86_400_000;

/** One pool of the fleet. Capacity orders that are outstanding count from the day that 95% of such orders keep. */
export interface PoolCapacity {
  readonly pool: string;
  readonly accelerators: number;
  readonly held: number;
  readonly orders: readonly { readonly accelerators: number; readonly byMs: number }[];
}

export interface PlanReadings {
  readonly forecast?: number;
  readonly pipeline?: number;
}

/**
 * `forecast`: demand at the accepted risk over capacity, in the pool of the plan where it is highest. A pool of the plan counts the
 * accelerators and outstanding orders of the fleet's pool with its name, at the mean speed of what exists and without what leaves until
 * then; a plan with one pool counts the whole fleet; another one counts what the plan says that exists. `pipeline`: growth of the median demand until then over the accelerators that are idle now.
 * Both are absent outside the months of the plan.
 */
export function planReadings(plan: PlanDocument, fleet: readonly PoolCapacity[], nowMs: number): PlanReadings {
  const now = monthAt(plan, nowMs);
  if (now === null) return {};
  let [forecast, growth] = [0, 0];
  for (const [pool, stated] of Object.entries(plan.demand)) {
    // Without a lead time, capacity comes at once.
    const arrivalMs = nowMs + (shortestLeadDays(plan, pool) ?? 0) * DAY_MS;
    const month = monthAt(plan, arrivalMs) ?? plan.months - 1;
    const demand = demandByMonth(plan, stated);
    const atRisk = demandQuantile(demand[month]!, normalQuantile(1 - plan.riskPct / 100));
    forecast = Math.max(forecast, atRisk / Math.max(1, capacityOf(plan, { pool, now, month, arrivalMs }, fleet)));
    growth += Math.max(0, demand[month]!.median - demand[now]!.median);
  }
  const idle = fleet.reduce((sum, { accelerators, held }) => sum + accelerators - held, 0);
  return { forecast, pipeline: growth / Math.max(1, idle) };
}

/** Index of the month; `null`: before or after the plan. */
function monthAt({ start, months }: PlanDocument, atMs: number): number | null {
  const day = Math.floor(atMs / DAY_MS);
  const first = monthNumber(start);
  if (day < dayNumber(first)) return null;
  let month = 0;
  while (month < months && dayNumber(first + month + 1) <= day) month += 1;
  return month === months ? null : month;
}

interface PoolMonth {
  readonly pool: string;
  readonly now: number;
  readonly month: number;
  readonly arrivalMs: number;
}

/** In the demand's unit. */
function capacityOf(plan: PlanDocument, at: PoolMonth, fleet: readonly PoolCapacity[]): number {
  const { pool, now, month, arrivalMs } = at;
  const existing = existingCapacity(plan, pool);
  const named = fleet.filter((each) => each.pool === pool);
  const counted = named.length > 0 ? named : Object.keys(plan.demand).length === 1 ? fleet : [];
  if (counted.length === 0) return existing[month] ?? 0;
  const accelerators = counted.reduce(
    (sum, { accelerators: own, orders }) =>
      orders.reduce((all, order) => (order.byMs <= arrivalMs ? all + order.accelerators : all), sum + own),
    0,
  );
  const leaving = Math.max(0, (existing[now] ?? 0) - (existing[month] ?? 0));
  return Math.max(0, accelerators * meanSpeed(plan, pool) - leaving);
}
