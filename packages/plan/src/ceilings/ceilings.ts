/**
 * Ceilings: everything besides money that a growing fleet runs into. Each axis has a capacity, and use that follows demand; from the
 * forecast's distribution follows when it binds, with which probability, and which axis binds first.
 */
import { z } from "zod";
import { daysOf, DAYS_PER_MONTH, monthName, monthNumber } from "../document/calendar.ts";
import { demandByMonth, demandQuantile, normalQuantile } from "../document/distributions.ts";
import { days, demandQuantiles, MONTHS_MAX, monthText, type PlanDocumentProblem } from "../document/plan-document.ts";
import { deviationPath, drawsOf } from "../futures/draws.ts";

const amount = z.number().min(0).max(1e15);
const axis = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(63)
    .describe(
      "accelerators, fabricPorts, fabricOversubscription, storageCapacity, storageThroughput, storageConcurrency, power, cooling, rackSpace, licences, scheduler, onCall, or another name",
    ),
  capacity: amount.describe("the amount that exists"),
  unit: z.string().max(30).default("").describe("unit of the capacity, for messages"),
  steps: z
    .array(z.strictObject({ from: monthText, capacity: amount }))
    .max(MONTHS_MAX)
    .default([])
    .describe("capacity from a month on, for extensions that are ordered"),
  fixed: amount.default(0).describe("use that does not depend on demand"),
  growthPctPerMonth: z
    .number()
    .min(-50)
    .max(100)
    .default(0)
    .describe("growth of the fixed use, such as data that is kept"),
  perAccelerator: amount
    .default(0)
    .describe("use of one accelerator of demand, for pools that `perPool` does not name"),
  perPool: z.record(z.string(), amount).default({}).describe("use of one accelerator of demand by pool"),
  exponent: z
    .number()
    .min(0.1)
    .max(3)
    .default(1)
    .describe("use grows with demand to this power: above 1 for metadata operations, below 1 for people on call"),
  leadTime: days.optional().describe("time that an extension takes"),
});

const ceilingDocumentSchema = z.strictObject({
  kind: z.literal("ceilings"),
  start: monthText,
  months: z.int().min(1).max(MONTHS_MAX),
  demand: z.record(z.string(), z.strictObject(demandQuantiles)).describe("demand of each pool by month, as in a plan"),
  axes: z.array(axis).min(1).max(100),
});

export type CeilingDocument = z.infer<typeof ceilingDocumentSchema>;
type Axis = CeilingDocument["axes"][number];

export type CeilingReading =
  | { readonly kind: "read"; readonly document: CeilingDocument }
  | { readonly kind: "refused"; readonly problems: readonly PlanDocumentProblem[] };

export function readCeilingDocument(value: unknown): CeilingReading {
  const parsed = ceilingDocumentSchema.safeParse(value);
  if (parsed.success) return { kind: "read", document: parsed.data };
  const problems = parsed.error.issues.map(({ path, message }) => ({ path: path as (string | number)[], message }));
  return { kind: "refused", problems };
}

export interface CeilingMonth {
  readonly month: string;
  readonly p50: number;
  readonly p95: number;
  readonly capacity: number;
}

export interface AxisForecast {
  readonly axis: string;
  readonly unit: string;
  /** First month in which the median use, and the use that is exceeded with a probability of 5%, is above the capacity. */
  readonly bindsP50: string | null;
  readonly bindsP95: string | null;
  /** Probability that the axis binds within the horizon, and that it is the first one. */
  readonly probability: number;
  readonly firstProbability: number;
  /** Last month for the order of an extension that is there at `bindsP95`; `null` without a lead time or a ceiling. */
  readonly orderBy: string | null;
  readonly byMonth: readonly CeilingMonth[];
}

export interface CeilingReport {
  /** The axis that most often binds first, and the median month of the first ceiling. */
  readonly first: { readonly axis: string; readonly month: string; readonly probability: number } | null;
  readonly axes: readonly AxisForecast[];
}

/** Number of demand paths from which probabilities are counted. */
const FUTURES = 2000;

export function forecastCeilings(document: CeilingDocument): CeilingReport {
  const use = useAt(document);
  const bindings = drawnBindings(document, use);
  const axes = document.axes.map((each, index) => axisForecast(document, each, { use, index, bindings }));
  const sorted = axes.toSorted((a, b) => b.firstProbability - a.firstProbability || b.probability - a.probability);
  const [first] = sorted;
  if (first === undefined || first.firstProbability === 0) return { first: null, axes: sorted };
  const months = bindings.firstMonths.toSorted((a, b) => a - b);
  const month = monthOf(document, months[months.length >> 1] ?? 0);
  return { first: { axis: first.axis, month, probability: first.firstProbability }, axes: sorted };
}

type UseAt = (each: Axis, month: number, score: number) => number;

/** Use of an axis in a month if demand deviates by so many standard deviations. */
function useAt({ start, months, demand }: CeilingDocument): UseAt {
  const pools = Object.entries(demand).map(([pool, each]) => ({
    pool,
    byMonth: demandByMonth({ start, months }, each),
  }));
  return (each, month, score) => {
    let sum = each.fixed * (1 + each.growthPctPerMonth / 100) ** month;
    for (const { pool, byMonth } of pools) {
      const factor = each.perPool[pool] ?? each.perAccelerator;
      sum += factor * demandQuantile(byMonth[month]!, score) ** each.exponent;
    }
    return sum;
  };
}

function axisForecast(
  document: CeilingDocument,
  each: Axis,
  { use, index, bindings }: { readonly use: UseAt; readonly index: number; readonly bindings: Bindings },
): AxisForecast {
  const score95 = normalQuantile(0.95);
  const byMonth = Array.from({ length: document.months }, (_, month): CeilingMonth => ({
    month: monthOf(document, month),
    p50: rounded(use(each, month, 0)),
    p95: rounded(use(each, month, score95)),
    capacity: capacityOf(document, each, month),
  }));
  const p50 = byMonth.find((point) => point.p50 > point.capacity);
  const p95 = byMonth.findIndex((point) => point.p95 > point.capacity);
  const ahead = each.leadTime === undefined ? undefined : Math.ceil(daysOf(each.leadTime) / DAYS_PER_MONTH);
  return {
    axis: each.name,
    unit: each.unit,
    bindsP50: p50?.month ?? null,
    bindsP95: byMonth[p95]?.month ?? null,
    probability: bindings.bound[index]! / FUTURES,
    firstProbability: bindings.first[index]! / FUTURES,
    orderBy: p95 < 0 || ahead === undefined ? null : monthOf(document, p95 - ahead),
    byMonth,
  };
}

function capacityOf({ start }: CeilingDocument, { capacity, steps }: Axis, month: number): number {
  const now = monthNumber(start) + month;
  const sorted = steps.toSorted((a, b) => monthNumber(a.from) - monthNumber(b.from));
  return sorted.findLast(({ from }) => monthNumber(from) <= now)?.capacity ?? capacity;
}

interface Bindings {
  /** Number of futures in which each axis binds, and binds first (the fuller axis of the same month). */
  readonly bound: readonly number[];
  readonly first: readonly number[];
  readonly firstMonths: readonly number[];
}

function drawnBindings(document: CeilingDocument, use: UseAt): Bindings {
  const bound = document.axes.map(() => 0);
  const first = document.axes.map(() => 0);
  const firstMonths: number[] = [];
  const capacities = document.axes.map((each) =>
    Array.from({ length: document.months }, (_, month) => capacityOf(document, each, month)),
  );
  for (let future = 1; future <= FUTURES; future += 1) {
    const path = deviationPath(drawsOf(future), document.months);
    let winner = { index: -1, month: document.months, load: 0 };
    for (const [index, each] of document.axes.entries()) {
      const month = path.findIndex((score, at) => use(each, at, score) > capacities[index]![at]!);
      if (month < 0) continue;
      bound[index]! += 1;
      const load = use(each, month, path[month]!) / Math.max(1e-12, capacities[index]![month]!);
      if (month < winner.month || (month === winner.month && load > winner.load)) winner = { index, month, load };
    }
    if (winner.index < 0) continue;
    first[winner.index]! += 1;
    firstMonths.push(winner.month);
  }
  return { bound, first, firstMonths };
}

function monthOf({ start }: CeilingDocument, month: number): string {
  return monthName(monthNumber(start) + month);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
