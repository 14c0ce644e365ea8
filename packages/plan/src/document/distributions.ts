/** Distributions of a plan: demand of a month, and lead times. Both are lognormal through the quantiles that the document states. */
import { daysOf, monthNumber } from "./calendar.ts";
import type { LeadTime, PlanDocument, PoolDemand } from "./plan-document.ts";

/** 95% and 90% quantiles of the normal distribution. */
const Z95 = 1.6448536269514722;
const Z90 = 1.2815515655446004;

/** Marsaglia's series (2004): exact to the last digits of a double within eight deviations. */
function normalCdf(z: number): number {
  if (z < -8) return 0;
  if (z > 8) return 1;
  let [sum, before, term] = [z, 0, z];
  for (let index = 3; sum !== before; index += 2) {
    before = sum;
    term = (term * z * z) / index;
    sum += term;
  }
  return 0.5 + (sum * Math.exp(-0.5 * z * z)) / Math.sqrt(2 * Math.PI);
}

/** Inverse of `normalCdf` by bisection: exact enough for every use here, and it needs no table. */
export function normalQuantile(share: number): number {
  let [low, high] = [-8.5, 8.5];
  for (let step = 0; step < 60; step += 1) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** Demand of a pool in one month, in accelerators of the demand's unit. */
export interface DemandDistribution {
  readonly median: number;
  /** Spread of the logarithm below and above the median. */
  readonly sigmaDown: number;
  readonly sigmaUp: number;
}

export function demandQuantile({ median, sigmaDown, sigmaUp }: DemandDistribution, z: number): number {
  return median * Math.exp(z * (z < 0 ? sigmaDown : sigmaUp));
}

/** Probability that demand is above a capacity. */
export function probabilityAbove({ median, sigmaDown, sigmaUp }: DemandDistribution, capacity: number): number {
  if (median <= 0) return 0;
  if (capacity <= 0) return 1;
  const log = Math.log(capacity / median);
  const sigma = log < 0 ? sigmaDown : sigmaUp;
  if (sigma === 0) return log < 0 ? 1 : 0;
  return 1 - normalCdf(log / sigma);
}

type Horizon = Pick<PlanDocument, "start" | "months">;
type Quantiles = Pick<PoolDemand, "p50" | "p95" | "p10">;

export function demandByMonth(horizon: Horizon, demand: Quantiles): readonly DemandDistribution[] {
  const values = (series: MonthlyValues): readonly number[] => monthlyValues(horizon, series);
  const p50 = values(demand.p50);
  const p95 = demand.p95 === undefined ? p50 : values(demand.p95);
  const p10 = demand.p10 === undefined ? undefined : values(demand.p10);
  return p50.map((median, month) => {
    const sigmaUp = logRatio(p95[month] ?? 0, median) / Z95;
    const low = p10?.[month];
    return { median, sigmaUp, sigmaDown: low === undefined ? sigmaUp : logRatio(median, low) / Z90 };
  });
}

function logRatio(high: number, low: number): number {
  return low > 0 && high > low ? Math.log(high / low) : 0;
}

type MonthlyValues = PoolDemand["p50"];

function monthlyValues({ start, months }: Horizon, series: MonthlyValues): readonly number[] {
  if (Array.isArray(series)) return Array.from({ length: months }, (_, month) => series[month] ?? series.at(-1) ?? 0);
  const first = monthNumber(start);
  const points = Object.entries(series)
    .map(([text, value]) => ({ month: monthNumber(text) - first, value }))
    .toSorted((a, b) => a.month - b.month);
  return Array.from({ length: months }, (_, month) => between(points, month));
}

function between(points: readonly { readonly month: number; readonly value: number }[], month: number): number {
  const after = points.find((point) => point.month >= month);
  const before = points.findLast((point) => point.month <= month);
  if (after === undefined || before === undefined) return (after ?? before)?.value ?? 0;
  if (after.month === before.month) return after.value;
  return before.value + ((after.value - before.value) * (month - before.month)) / (after.month - before.month);
}

export interface LeadLine {
  readonly line: string;
  readonly medianDays: number;
  readonly sigma: number;
}

export function leadLines(leadTime: LeadTime): readonly LeadLine[] {
  if (typeof leadTime === "string") return [{ line: "delivery", medianDays: daysOf(leadTime), sigma: 0 }];
  const lines = Array.isArray(leadTime) ? leadTime : [{ line: "delivery", ...leadTime }];
  return lines.map(({ line, p50, p95 }) => {
    const [median, late] = [daysOf(p50), daysOf(p95)];
    return { line, medianDays: median, sigma: logRatio(late, median) / Z95 };
  });
}

/** Probability that every line has arrived after so many days. Lines are independent. */
export function arrivedBy(lines: readonly LeadLine[], days: number): number {
  let probability = 1;
  for (const { medianDays, sigma } of lines) {
    if (medianDays <= 0) continue;
    if (days <= 0) return 0;
    if (sigma === 0) probability *= days >= medianDays - 1e-9 ? 1 : 0;
    else probability *= normalCdf(Math.log(days / medianDays) / sigma);
  }
  return probability;
}

/** Whole days after which the order has arrived with this probability. */
export function leadQuantileDays(lines: readonly LeadLine[], probability: number): number {
  let high = 1;
  if (arrivedBy(lines, 0) >= probability) return 0;
  while (arrivedBy(lines, high) < probability) high *= 2;
  let low = 0;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (arrivedBy(lines, middle) < probability) low = middle;
    else high = middle;
  }
  return high;
}

/** The line of an order that is most often the last: its share of the probability that the order is late. */
export function governingLine(lines: readonly LeadLine[], days: number): string {
  let [latest, name] = [-1, ""];
  for (const line of lines) {
    const late = 1 - arrivedBy([line], days);
    const weight = late + line.medianDays * 1e-12;
    if (weight > latest) [latest, name] = [weight, line.line];
  }
  return name;
}
