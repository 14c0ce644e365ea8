/** The same plan under other assumptions: more demand, longer deliveries, orders that are placed late. */
import { daysOf } from "../document/calendar.ts";
import type { LeadTime, PlanDocument, PoolDemand } from "../document/plan-document.ts";

export interface PlanVariant {
  readonly name: string;
  /** Demand relative to the document. */
  readonly demandFactor: number;
  /** Lead times relative to the document. */
  readonly leadTimeFactor: number;
  /** Days by which every order is placed late. */
  readonly delayDays: number;
}

const MORE_DEMAND = 1.25;
const LONGER = 1.5;
const QUARTER_DAYS = 91;
const asStated = { demandFactor: 1, leadTimeFactor: 1, delayDays: 0 };

/** The first is the document itself. */
export const usualVariants: readonly PlanVariant[] = [
  { name: "as planned", ...asStated },
  { name: "demand 25% higher", ...asStated, demandFactor: MORE_DEMAND },
  { name: "deliveries take 50% longer", ...asStated, leadTimeFactor: LONGER },
  { name: "every order 3 months late", ...asStated, delayDays: QUARTER_DAYS },
];

export function variantDocument(document: PlanDocument, variant: PlanVariant): PlanDocument {
  const later = <Ordered extends object>(each: Ordered): Ordered =>
    "leadTime" in each ? { ...each, leadTime: laterLead(each.leadTime as LeadTime, variant) } : each;
  return {
    ...document,
    demand: Object.fromEntries(
      Object.entries(document.demand).map(([pool, demand]) => [pool, scaled(demand, variant.demandFactor)]),
    ),
    options: document.options.map(later),
    expansions: document.expansions.map(later),
  };
}

function scaled(demand: PoolDemand, factor: number): PoolDemand {
  const values = (series: PoolDemand["p50"]): PoolDemand["p50"] =>
    Array.isArray(series)
      ? series.map((value) => value * factor)
      : Object.fromEntries(Object.entries(series).map(([month, value]) => [month, value * factor]));
  return {
    ...demand,
    p50: values(demand.p50),
    ...(demand.p95 === undefined ? {} : { p95: values(demand.p95) }),
    ...(demand.p10 === undefined ? {} : { p10: values(demand.p10) }),
  };
}

function laterLead(leadTime: LeadTime, { leadTimeFactor, delayDays }: PlanVariant): LeadTime {
  const later = (text: string): string => `${Math.round(10 * (daysOf(text) * leadTimeFactor + delayDays)) / 10}d`;
  if (typeof leadTime === "string") return later(leadTime);
  const quantiles = <Line extends { readonly p50: string; readonly p95: string }>(line: Line): Line => ({
    ...line,
    p50: later(line.p50),
    p95: later(line.p95),
  });
  return Array.isArray(leadTime) ? leadTime.map(quantiles) : quantiles(leadTime);
}
