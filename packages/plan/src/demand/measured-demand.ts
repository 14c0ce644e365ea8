/**
 * Demand by month from what was measured: accelerators in use by week, for each pool or team, forecast with the quantiles that a plan
 * document takes. The medians of the parts add up to the forecast of their sum.
 */
import { dayNumber, monthName, monthNumber } from "../document/calendar.ts";
import type { PlanDocument } from "../document/plan-document.ts";
import { forecast } from "../forecast/forecast.ts";
import { scoreForecast, type ForecastScore } from "../forecast/score.ts";

const DAYS_IN_WEEK = 7;
const WEEK_MS = 7 * 86_400_000;
/** Fewer weeks say nothing about months. */
export const HISTORY_WEEKS_MIN = 8;
/** The last part of the history that is forecast from the weeks before it, to score the method. */
const SCORED_SHARE = 0.2;
/** Weeks whose mean holds on beyond the horizon that the history allows. */
const HELD_WEEKS = 4;
/** Normal quantiles of 95% and 90%. */
const [Z95, Z90] = [1.6449, 1.2816];

/** Mean accelerators in use in each week, oldest first. */
export interface WeeklyUse {
  readonly name: string;
  readonly values: Float64Array;
}

export interface DemandQuantiles {
  readonly p10: readonly number[];
  readonly p50: readonly number[];
  readonly p95: readonly number[];
}

export interface MeasuredDemand {
  readonly months: readonly string[];
  readonly parts: readonly ({ readonly name: string } & DemandQuantiles)[];
  readonly together: DemandQuantiles;
  /** Score of the sum: its last fifth is forecast from the weeks before it. `null`: the history is too short. */
  readonly score: ({ readonly weeks: number } & ForecastScore) | null;
}

interface MeasuredTime {
  /** Day number of the first week. */
  readonly firstDay: number;
  readonly months: number;
}

/**
 * All parts have the same weeks, at least `HISTORY_WEEKS_MIN`. The first month is the first that begins after them. The forecast reaches
 * as far as the history is long; beyond it the median holds on, and its spread grows with the square root of time.
 */
export function measuredDemand(parts: readonly WeeklyUse[], { firstDay, months }: MeasuredTime): MeasuredDemand {
  const weeks = parts[0]?.values.length ?? 0;
  const endDay = firstDay + weeks * DAYS_IN_WEEK;
  const first = firstMonthAfter(endDay);
  const numbers = Array.from({ length: months }, (_, month) => first + month);
  const horizon = Math.ceil((dayNumber(first + months) - endDay) / DAYS_IN_WEEK);
  const byMonth = (values: Float64Array): DemandQuantiles => {
    const quantiles = weeklyQuantiles(values, horizon);
    const meanOf = (of: Float64Array): readonly number[] => numbers.map((month) => monthMean(of, month, endDay));
    return { p10: meanOf(quantiles.p10), p50: meanOf(quantiles.p50), p95: meanOf(quantiles.p95) };
  };
  const sum = Float64Array.from({ length: weeks }, (_, week) =>
    parts.reduce((all, { values }) => all + values[week]!, 0),
  );
  const together = byMonth(sum);
  const own = parts.map(({ name, values }) => ({ name, ...byMonth(values) }));
  const factors = numbers.map((_, month) => {
    const added = own.reduce((all, { p50 }) => all + p50[month]!, 0);
    return added === 0 ? 1 : together.p50[month]! / added;
  });
  return {
    months: numbers.map(monthName),
    parts: own.map(({ name, ...quantiles }) => ({ name, ...roundedQuantiles(aroundMedian(quantiles, factors)) })),
    together: roundedQuantiles(together),
    score: scoreOf(sum),
  };
}

/** The median times the factor of each month. Its distances to the other quantiles stay. */
function aroundMedian({ p10, p50, p95 }: DemandQuantiles, factors: readonly number[]): DemandQuantiles {
  const median = p50.map((value, month) => value * factors[month]!);
  return {
    p50: median,
    p10: median.map((value, month) => Math.max(0, value - (p50[month]! - p10[month]!))),
    p95: median.map((value, month) => value + (p95[month]! - p50[month]!)),
  };
}

function roundedQuantiles({ p10, p50, p95 }: DemandQuantiles): DemandQuantiles {
  const rounded = (values: readonly number[]): readonly number[] => values.map((value) => Math.round(10 * value) / 10);
  return { p10: rounded(p10), p50: rounded(p50), p95: rounded(p95) };
}

/** Months from the first one after the history to the end of the plan; at least one. */
export function monthsToEnd({ start, months }: PlanDocument, firstDay: number, weeks: number): number {
  return Math.max(1, monthNumber(start) + months - firstMonthAfter(firstDay + weeks * DAYS_IN_WEEK));
}

/** The first month whose first day is not before the day. */
function firstMonthAfter(day: number): number {
  let month = 12 * (1970 + Math.floor(day / 366));
  while (dayNumber(month) < day) month += 1;
  return month;
}

interface WeeklyQuantiles {
  readonly p10: Float64Array;
  readonly p50: Float64Array;
  readonly p95: Float64Array;
}

function weeklyQuantiles(values: Float64Array, horizon: number): WeeklyQuantiles {
  const reach = Math.min(horizon, values.length);
  const { mean, lo80, hi80 } = forecast(values, reach, WEEK_MS);
  const held = Math.min(HELD_WEEKS, reach);
  const heldOf = (of: Float64Array): number => of.subarray(reach - held).reduce((sum, each) => sum + each, 0) / held;
  const [middle, low, high] = [heldOf(mean), heldOf(lo80), heldOf(hi80)];
  const quantile = (week: number, side: "lo" | "hi"): number => {
    const [within, beyond] = side === "lo" ? [lo80, low] : [hi80, high];
    if (week < reach) return within[week]!;
    return Math.max(0, middle + (beyond - middle) * Math.sqrt((week + 1) / reach));
  };
  const median = Float64Array.from({ length: horizon }, (_, week) => Math.max(0, week < reach ? mean[week]! : middle));
  return {
    p50: median,
    p10: median.map((value, week) => Math.max(0, Math.min(value, quantile(week, "lo")))),
    // A normal distribution through the median and the upper bound of the interval, which 10% exceed.
    p95: median.map((value, week) => value + (Math.max(value, quantile(week, "hi")) - value) * (Z95 / Z90)),
  };
}

/** Mean over the days of the month. `endDay`: the day of the first forecast week. */
function monthMean(weekly: Float64Array, month: number, endDay: number): number {
  const [from, to] = [dayNumber(month), dayNumber(month + 1)];
  let sum = 0;
  for (let day = from; day < to; day += 1) sum += weekly[Math.floor((day - endDay) / DAYS_IN_WEEK)]!;
  return sum / (to - from);
}

function scoreOf(values: Float64Array): MeasuredDemand["score"] {
  const weeks = Math.floor(SCORED_SHARE * values.length);
  const history = values.subarray(0, values.length - weeks);
  if (weeks < 1 || history.length < HISTORY_WEEKS_MIN) return null;
  const made = forecast(history, weeks, WEEK_MS);
  return { weeks, ...scoreForecast(history, values.subarray(-weeks), made, { period: made.seasons.at(-1) ?? 1 }) };
}
