/**
 * The review of a quarter: demand against forecast, plan against outcome, ceilings, cost, failures, assumptions, and decisions to take.
 * Plain data; the same facts give the same review. Amounts of accelerators are means over a month.
 */
import type { CostTotal } from "../report/cost-report.ts";
import { decisionsOf, type Decision } from "./decisions.ts";
import { dayText, daysBetween, nextQuarter, type MonthOfQuarter, type Quarter } from "./quarter.ts";
import type { QuarterFacts, RecordedOrder } from "./quarter-facts.ts";
import { scoreOf, type ReviewScore } from "./score.ts";

/** The part of a stored plan that a review reads. */
export interface ReviewedPlan {
  readonly name: string;
  readonly months: readonly string[];
  readonly pools: readonly {
    readonly pool: string;
    readonly demandP50: readonly number[];
    readonly demandAtRisk: readonly number[];
    readonly planned: readonly number[];
  }[];
  readonly orders: readonly {
    readonly orderBy: string;
    readonly name: string;
    readonly pool: string | null;
    readonly count: number;
    readonly lead: { readonly p50Days: number } | null;
  }[];
  readonly axes: readonly {
    readonly axis: string;
    readonly bindsP50: string | null;
    readonly bindsP95: string | null;
    readonly probability: number;
    readonly orderBy: string | null;
  }[];
}

/** Forecasts daily values; the 80% interval. */
export type DayForecast = (
  values: Float64Array,
  horizon: number,
) => { readonly mean: Float64Array; readonly lo80: Float64Array; readonly hi80: Float64Array };

export interface ReviewCost {
  readonly whole: CostTotal;
  readonly byMonth: readonly CostTotal[];
  readonly byCause: readonly CostTotal[];
  readonly unpricedPools: readonly string[];
}

export interface ReviewInput {
  readonly quarter: Quarter;
  readonly facts: QuarterFacts;
  readonly cost: ReviewCost;
  readonly plan: ReviewedPlan | null;
  readonly forecast: DayForecast;
  readonly last: Review | null;
}

export interface Interval {
  readonly month: string;
  readonly mean: number;
  readonly lo80: number;
  readonly hi80: number;
}

export interface ReviewMonth {
  readonly month: string;
  /** Held and waiting together; `null`: the journal has no day of this month. */
  readonly demand: number | null;
  readonly held: number | null;
  readonly waiting: number | null;
  readonly capacity: number | null;
  /** A forecast made from the days before the quarter. */
  readonly forecast: Omit<Interval, "month"> | null;
  readonly plan: { readonly p50: number; readonly atRisk: number; readonly capacity: number } | null;
  readonly costUsd: number | null;
}

export interface Review {
  readonly kind: "review";
  readonly version: 1;
  readonly quarter: string;
  /** The last day that the journal knows of. */
  readonly through: string;
  readonly isWhole: boolean;
  readonly months: readonly ReviewMonth[];
  readonly waiting: {
    readonly acceleratorHours: number;
    /** At the mean price of an accelerator-hour of the quarter. */
    readonly usd: number | null;
    readonly startedCount: number;
    readonly meanWaitMs: number;
    readonly p95WaitMs: number;
    readonly byTeam: readonly { readonly team: string; readonly acceleratorHours: number }[];
  };
  readonly cost: {
    readonly usd: number;
    readonly perUsefulHourUsd: number | null;
    readonly idleUsd: number;
    readonly failuresUsd: number;
    readonly usefulShare: number;
    readonly unpricedPools: readonly string[];
  };
  readonly failures: {
    readonly attemptsByOutcome: Readonly<Record<string, number>>;
    readonly nodeLosses: readonly { readonly node: string; readonly count: number }[];
    readonly byCause: readonly {
      readonly state: string;
      readonly cause: string;
      readonly hours: number;
      readonly usd: number;
    }[];
  };
  readonly orders: {
    readonly planned: readonly PlannedInQuarter[];
    readonly recorded: readonly RecordedInQuarter[];
  };
  readonly ceilings: {
    readonly busiestDay: { readonly day: string; readonly share: number } | null;
    readonly axes: ReviewedPlan["axes"] | null;
  };
  readonly assumptions: readonly Assumption[];
  /** Forecast of the next quarter, which the next review scores; `null`: the history is too short. */
  readonly next: readonly Interval[] | null;
  readonly decisions: readonly Decision[];
  readonly last: ReviewScore | null;
  /** Missing figures, each with the reason. */
  readonly missing: readonly string[];
}

export interface PlannedInQuarter {
  readonly orderBy: string;
  readonly name: string;
  readonly pool: string | null;
  readonly count: number;
}

export interface RecordedInQuarter {
  readonly name: string;
  readonly pool: string;
  readonly accelerators: number;
  readonly orderedOn: string | null;
  readonly inServiceOn: string | null;
  /** Days after the expectation at the order; negative: earlier. */
  readonly lateDays: number | null;
}

export interface Assumption {
  readonly name: string;
  readonly assumed: string;
  readonly measured: string | null;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MICRO = 1_000_000;
/** Days of history below which no forecast is made. */
const HISTORY_DAYS_LEAST = 28;

export function reviewQuarter({ quarter, facts, cost, plan, forecast, last }: ReviewInput): Review {
  const untilMs = Math.min(quarter.toMs, facts.lastAtMs);
  const isWhole = facts.lastAtMs >= quarter.toMs - DAY_MS;
  const past = forecastMonths({ facts, forecast, fromMs: quarter.fromMs, months: quarter.months });
  const following = nextQuarter(quarter);
  const next = isWhole ? forecastMonths({ facts, forecast, fromMs: quarter.toMs, months: following.months }) : null;
  const months = quarter.months.map((month) => monthOf({ month, facts, cost, plan, past }));
  const waitingHours = facts.waits.byTeam.reduce((sum, { acceleratorHours }) => sum + acceleratorHours, 0);
  const { whole } = cost;
  const perHour = whole.hours > 0 ? whole.microUsd / MICRO / whole.hours : null;
  const review: Omit<Review, "decisions"> = {
    kind: "review",
    version: 1,
    quarter: quarter.name,
    through: dayText(Math.max(quarter.fromMs, untilMs - 1)),
    isWhole,
    months,
    waiting: {
      acceleratorHours: rounded(waitingHours),
      usd: perHour === null || perHour === 0 ? null : rounded(waitingHours * perHour, 2),
      startedCount: facts.waits.startedCount,
      meanWaitMs: facts.waits.meanWaitMs,
      p95WaitMs: facts.waits.p95WaitMs,
      byTeam: facts.waits.byTeam.map((each) => ({ ...each, acceleratorHours: rounded(each.acceleratorHours) })),
    },
    cost: costOf(cost),
    failures: {
      attemptsByOutcome: facts.attemptsByOutcome,
      nodeLosses: facts.nodeLosses.slice(0, 5),
      byCause: causesOf(cost),
    },
    orders: {
      planned: (plan?.orders ?? []).flatMap(({ orderBy, name, pool, count }) =>
        isIn(quarter, orderBy) ? [{ orderBy, name, pool, count }] : [],
      ),
      recorded: facts.orders.filter((order) => touches(order, quarter)).map(recordedOf),
    },
    ceilings: { busiestDay: busiestDay(facts, quarter), axes: plan?.axes ?? null },
    assumptions: assumptionsOf({ facts, plan, months }),
    next,
    last: last === null ? null : scoreOf(last, { months, orders: facts.orders }),
    missing: missingOf({ quarter, facts, cost, plan, past }),
  };
  return { ...review, decisions: decisionsOf(review, { quarter: following, orders: plan?.orders ?? [] }) };
}

interface ForecastQuestion {
  readonly facts: QuarterFacts;
  readonly forecast: DayForecast;
  readonly fromMs: number;
  readonly months: readonly MonthOfQuarter[];
}

/** A forecast from the days before an instant. Bounds of a month are means of the bounds of its days, so they are wide. */
function forecastMonths({ facts, forecast, fromMs, months }: ForecastQuestion): readonly Interval[] | null {
  const days = daysBetween(facts.firstAtMs + DAY_MS, fromMs);
  if (days.length < HISTORY_DAYS_LEAST) return null;
  const values = Float64Array.from(days, (day) => demandOf(facts, day));
  const ahead = daysBetween(fromMs, months.at(-1)?.toMs ?? fromMs);
  const { mean, lo80, hi80 } = forecast(values, ahead.length);
  return months.map((each) => {
    const at = ahead.flatMap((day, index) => (day >= each.fromMs && day < each.toMs ? [index] : []));
    const meanOf = (series: Float64Array): number =>
      rounded(at.reduce((sum, index) => sum + (series[index] ?? 0), 0) / Math.max(1, at.length));
    return { month: each.month, mean: meanOf(mean), lo80: meanOf(lo80), hi80: meanOf(hi80) };
  });
}

/** Mean accelerators of a whole day that were held or waited for. */
function demandOf({ days, waitingByDay }: QuarterFacts, day: number): number {
  return ((days.get(day)?.held ?? 0) + (waitingByDay.get(day) ?? 0)) / (DAY_MS / HOUR_MS);
}

interface MonthQuestion {
  readonly month: MonthOfQuarter;
  readonly facts: QuarterFacts;
  readonly cost: ReviewCost;
  readonly plan: ReviewedPlan | null;
  readonly past: readonly Interval[] | null;
}

function monthOf({ month, facts, cost, plan, past }: MonthQuestion): ReviewMonth {
  const knownHours = (Math.min(month.toMs, facts.lastAtMs) - Math.max(month.fromMs, facts.firstAtMs)) / HOUR_MS;
  const days = daysBetween(month.fromMs, month.toMs);
  const mean = (of: (day: number) => number): number | null =>
    knownHours <= 0 ? null : rounded(days.reduce((sum, day) => sum + of(day), 0) / knownHours);
  const expected = past?.find((each) => each.month === month.month);
  const total = cost.byMonth.find(({ periodStartMs }) => periodStartMs === month.fromMs);
  const held = mean((day) => facts.days.get(day)?.held ?? 0);
  const waiting = mean((day) => facts.waitingByDay.get(day) ?? 0);
  return {
    month: month.month,
    demand: held === null || waiting === null ? null : rounded(held + waiting),
    held,
    waiting,
    capacity: mean((day) => facts.days.get(day)?.capacity ?? 0),
    forecast: expected === undefined ? null : { mean: expected.mean, lo80: expected.lo80, hi80: expected.hi80 },
    plan: planOf(plan, month.month),
    costUsd: total === undefined ? null : rounded(total.microUsd / MICRO, 2),
  };
}

function planOf(plan: ReviewedPlan | null, month: string): ReviewMonth["plan"] {
  const index = plan?.months.indexOf(month) ?? -1;
  if (plan === null || index < 0) return null;
  const sum = (of: "demandP50" | "demandAtRisk" | "planned"): number =>
    rounded(plan.pools.reduce((all, pool) => all + (pool[of][index] ?? 0), 0));
  return { p50: sum("demandP50"), atRisk: sum("demandAtRisk"), capacity: sum("planned") };
}

function costOf({ whole, unpricedPools }: ReviewCost): Review["cost"] {
  const usd = whole.microUsd / MICRO;
  return {
    usd: rounded(usd, 2),
    perUsefulHourUsd: whole.usedHours > 0 && usd > 0 ? rounded(usd / whole.usedHours, 4) : null,
    idleUsd: rounded(whole.idleMicroUsd / MICRO, 2),
    failuresUsd: rounded((whole.failedMicroUsd + whole.evictedMicroUsd + whole.lostMicroUsd) / MICRO, 2),
    usefulShare: whole.hours > 0 ? rounded(whole.usedHours / whole.hours, 4) : 0,
    unpricedPools,
  };
}

function causesOf({ byCause }: ReviewCost): Review["failures"]["byCause"] {
  return byCause.flatMap(({ group: [state = "", cause = ""], hours, microUsd }) =>
    state === "failed" || state === "evicted" || state === "lost"
      ? [{ state, cause, hours: rounded(hours), usd: rounded(microUsd / MICRO, 2) }]
      : [],
  );
}

function busiestDay({ days }: QuarterFacts, { fromMs, toMs }: Quarter): Review["ceilings"]["busiestDay"] {
  let best: Review["ceilings"]["busiestDay"] = null;
  for (const [day, { held, capacity }] of [...days].toSorted(([a], [b]) => a - b)) {
    if (day < fromMs || day >= toMs || capacity <= 0) continue;
    const share = rounded(held / capacity, 4);
    if (best === null || share > best.share) best = { day: dayText(day), share };
  }
  return best;
}

function isIn({ fromMs, toMs }: Quarter, day: string): boolean {
  return day >= dayText(fromMs) && day < dayText(toMs);
}

function touches({ orderedAtMs, inServiceAtMs }: RecordedOrder, { fromMs, toMs }: Quarter): boolean {
  return [orderedAtMs, inServiceAtMs].some((atMs) => atMs !== null && atMs >= fromMs && atMs < toMs);
}

function recordedOf({
  name,
  pool,
  accelerators,
  orderedAtMs,
  expectedAtMs,
  inServiceAtMs,
}: RecordedOrder): RecordedInQuarter {
  return {
    name,
    pool,
    accelerators,
    orderedOn: orderedAtMs === null ? null : dayText(orderedAtMs),
    inServiceOn: inServiceAtMs === null ? null : dayText(inServiceAtMs),
    lateDays:
      inServiceAtMs === null || expectedAtMs === null ? null : Math.round((inServiceAtMs - expectedAtMs) / DAY_MS),
  };
}

interface AssumptionQuestion {
  readonly facts: QuarterFacts;
  readonly plan: ReviewedPlan | null;
  readonly months: readonly ReviewMonth[];
}

/** Assumptions of the plan beside what was measured. */
function assumptionsOf({ facts, plan, months }: AssumptionQuestion): readonly Assumption[] {
  if (plan === null) return [];
  const leads = plan.orders.flatMap(({ lead }) => (lead === null ? [] : [lead.p50Days]));
  const measured = facts.orders.flatMap(({ orderedAtMs, inServiceAtMs }) =>
    orderedAtMs === null || inServiceAtMs === null ? [] : [(inServiceAtMs - orderedAtMs) / DAY_MS],
  );
  const demand = months.flatMap(({ plan: planned, demand: found }) =>
    planned === null || found === null || planned.p50 === 0 ? [] : [found / planned.p50],
  );
  const capacity = months.flatMap(({ plan: planned, capacity: found }) =>
    planned === null || found === null || planned.capacity === 0 ? [] : [found / planned.capacity],
  );
  const percent = (values: readonly number[]): string | null =>
    values.length === 0 ? null : `${Math.round(100 * meanOf(values))}% of it`;
  return [
    { name: "demand, median", assumed: "as planned", measured: percent(demand) },
    { name: "capacity in service", assumed: "as planned", measured: percent(capacity) },
    {
      name: "lead time, median",
      assumed: leads.length === 0 ? "no orders" : `${Math.round(meanOf(leads))} days`,
      measured:
        measured.length === 0
          ? null
          : `${Math.round(meanOf(measured))} days in ${measured.length} order${measured.length === 1 ? "" : "s"}`,
    },
    { name: "prices of offers", assumed: "of the plan document", measured: null },
    { name: "price of power", assumed: "of the plan document", measured: null },
  ];
}

interface MissingQuestion {
  readonly quarter: Quarter;
  readonly facts: QuarterFacts;
  readonly cost: ReviewCost;
  readonly plan: ReviewedPlan | null;
  readonly past: readonly Interval[] | null;
}

function missingOf({ quarter, facts, cost, plan, past }: MissingQuestion): readonly string[] {
  const missing: string[] = [];
  if (past === null)
    missing.push(`forecast of demand: the journal has under ${HISTORY_DAYS_LEAST} days before ${quarter.name}`);
  if (plan === null)
    missing.push("plan: none is stored; store one with headroom plan store, or name a file with --plan");
  else if (!plan.months.some((month) => quarter.months.some((each) => each.month === month)))
    missing.push(
      `plan: ${plan.name} begins in ${plan.months[0] ?? "no month"} and has no month of ${quarter.name}; name that quarter's plan with --plan`,
    );
  if (facts.orders.length === 0) missing.push("orders: the journal has no capacity order");
  if (cost.whole.microUsd === 0) missing.push("cost: no pool has a price in this quarter");
  else for (const pool of cost.unpricedPools) missing.push(`cost: pool ${pool} has hours without a price`);
  missing.push("ceilings in use: the journal measures accelerators only; the other axes are those of the plan");
  return missing;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

function rounded(value: number, digits = 1): number {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor;
}
