/** Rules that place orders month by month in a simulated future. They see demand up to the current month. */
import { DAYS_PER_MONTH } from "../document/calendar.ts";
import { demandQuantile, type DemandDistribution } from "../document/distributions.ts";
import { MILLI, type PlanProblem } from "../document/plan-problem.ts";
import { firmMilliByMonth, type Decisions, type Purchase } from "../optimise/decisions.ts";
import { MONTHLY_CORRELATION } from "./draws.ts";

export interface Order {
  readonly line: number;
  readonly blocks: number;
  /** Month in which it is agreed to enter service. */
  readonly month: number;
  /** Months in service; `undefined`: the term of the option. */
  readonly stays?: number | undefined;
}

/** State of the fleet that a rule sees. */
export interface RuleView {
  readonly month: number;
  /** Deviation of demand in each pool in this month. */
  readonly deviation: number;
  readonly demand: readonly number[];
  /** Firm capacity with every order that is under way, by month and pool, in thousandths. */
  readonly scheduled: readonly (readonly number[])[];
}

export type OrderRule = (view: RuleView) => readonly Order[];

export function leadMonths(problem: PlanProblem, line: number): number {
  return Math.ceil(problem.firm[line]!.leadDays / DAYS_PER_MONTH);
}

/**
 * Follows a plan. Each month has the plan's firm capacity as a quantile of its forecast; when the order for a month is due, the same quantile
 * of what is known by then sets the amount. The option with the most capacity in the plan adjusts, the others are bought as planned.
 */
export function planRule(problem: PlanProblem, decisions: Decisions): OrderRule {
  const planned = firmMilliByMonth(problem, decisions);
  const adjusting = problem.pools.map((_, pool) => mainLine(problem, decisions, pool));
  return ({ month, deviation, scheduled }) => {
    const orders: Order[] = [];
    for (const { line, month: service, blocks, endMonth } of decisions.purchases) {
      if (adjusting.includes(line) || Math.max(0, service - leadMonths(problem, line)) !== month) continue;
      orders.push({ line, blocks, month: service, stays: endMonth - service });
    }
    for (const [pool, line] of adjusting.entries()) {
      if (line === undefined) continue;
      const lead = leadMonths(problem, line);
      const { firstMonth, blockMilli } = problem.firm[line]!;
      const services =
        month === 0
          ? Array.from({ length: Math.max(1, lead - firstMonth + 1) }, (_, at) => firstMonth + at)
          : [month + lead];
      let ordered = 0;
      for (const service of services) {
        if (service >= problem.months || service < firstMonth) continue;
        const target = targetMilli(problem, {
          pool,
          service,
          month,
          deviation,
          plannedMilli: planned[service]![pool]!,
        });
        const others = plannedLater(problem, decisions, { pool, service, month, adjusting });
        const blocks = Math.round((target - scheduled[service]![pool]! - others - ordered) / blockMilli);
        if (blocks <= 0) continue;
        ordered += blocks * blockMilli;
        orders.push({ line, blocks, month: service });
      }
    }
    return orders;
  };
}

/** The option of a pool with the most capacity in the plan over its months. */
function mainLine(problem: PlanProblem, { purchases }: Decisions, pool: number): number | undefined {
  const sums = new Map<number, number>();
  for (const { line, month, blocks, endMonth } of purchases) {
    if (problem.firm[line]!.pool !== pool) continue;
    const months = Math.min(problem.months, endMonth) - month;
    sums.set(line, (sums.get(line) ?? 0) + blocks * problem.firm[line]!.blockMilli * months);
  }
  return [...sums].toSorted((a, b) => b[1] - a[1])[0]?.[0];
}

interface ServiceTarget {
  readonly pool: number;
  readonly service: number;
  readonly month: number;
  readonly deviation: number;
  readonly plannedMilli: number;
}

/** The plan's quantile of demand in a later month, given the deviation of this month. */
function targetMilli({ pools }: PlanProblem, { pool, service, month, deviation, plannedMilli }: ServiceTarget): number {
  const distribution = pools[pool]!.distributions[service]!;
  const score = scoreOf(distribution, plannedMilli / MILLI);
  const kept = MONTHLY_CORRELATION ** (service - month);
  return demandQuantile(distribution, kept * deviation + Math.sqrt(1 - kept * kept) * score) * MILLI;
}

function scoreOf({ median, sigmaDown, sigmaUp }: DemandDistribution, capacity: number): number {
  if (median <= 0 || capacity <= 0) return -3;
  const log = Math.log(capacity / median);
  const sigma = log < 0 ? sigmaDown : sigmaUp;
  return sigma === 0 ? Math.sign(log) * 3 : Math.max(-3, Math.min(3, log / sigma));
}

/** Planned capacity of other options that is not ordered yet and will be in service in a month. */
function plannedLater(
  problem: PlanProblem,
  { purchases }: Decisions,
  {
    pool,
    service,
    month,
    adjusting,
  }: { pool: number; service: number; month: number; adjusting: readonly (number | undefined)[] },
): number {
  let milli = 0;
  for (const { line, month: from, blocks, endMonth } of purchases) {
    if (problem.firm[line]!.pool !== pool || adjusting.includes(line)) continue;
    const isOrdered = Math.max(0, from - leadMonths(problem, line)) < month;
    if (!isOrdered && service >= from && service < endMonth) milli += blocks * problem.firm[line]!.blockMilli;
  }
  return milli;
}

/** The usual rule without a forecast: when demand passes a share of the capacity, order up to that share again. */
export function thresholdRule(
  problem: PlanProblem,
  lines: readonly (number | undefined)[],
  threshold: number,
): OrderRule {
  return ({ month, demand, scheduled }) =>
    problem.pools.flatMap((_, pool): readonly Order[] => {
      const line = lines[pool];
      if (line === undefined) return [];
      const service = month + Math.max(leadMonths(problem, line), problem.firm[line]!.firstMonth > month ? 1 : 0);
      if (service >= problem.months) return [];
      const capacity = scheduled[service]![pool]!;
      if (demand[pool]! * MILLI <= capacity * threshold) return [];
      const blocks = Math.ceil(((demand[pool]! * MILLI) / threshold - capacity) / problem.firm[line]!.blockMilli);
      return blocks > 0 ? [{ line, blocks, month: service }] : [];
    });
}

export function mainLines(problem: PlanProblem, decisions: Decisions): readonly (number | undefined)[] {
  return problem.pools.map((_, pool) => mainLine(problem, decisions, pool));
}

export function purchaseOf(problem: PlanProblem, order: Order, service: number): Purchase {
  const { line, blocks, stays } = order;
  return { line, blocks, month: service, endMonth: service + (stays ?? problem.firm[line]!.serviceMonths) };
}
