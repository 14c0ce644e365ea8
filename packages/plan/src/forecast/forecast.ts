/**
 * Forecasts a series by a combination of methods. The weight of each method at each distance follows from its errors at earlier
 * origins of the same series (`backtest.ts`); the last season's value is always among the methods. Start here; `combination.ts` has the
 * weighted median and `intervals.ts` the bounds.
 */
import { backtests, localScale, predictions } from "./backtest.ts";
import { combined, MethodErrors } from "./combination.ts";
import { intervals } from "./intervals.ts";
import { methods } from "./methods.ts";
import { calendarPeriods, detectSeasons } from "./season.ts";

export interface Forecast {
  readonly mean: Float64Array;
  readonly lo80: Float64Array;
  readonly hi80: Float64Array;
  /** Periods in steps that were found. */
  readonly seasons: readonly number[];
  /** Mean weight of each method over the horizon. */
  readonly weights: Readonly<Record<string, number>>;
}

/**
 * History that is read: so many values, and at least so many horizons. The users of a cluster and their errors change, so older errors say
 * little about the next ones; the bound keeps the cost of a forecast independent of the age of the series.
 */
const HISTORY_MIN = 1000;
const HISTORY_HORIZONS = 20;
/** A bound is at most so many ranges of the history away from the forecast. */
const RANGES_MAX = 5;

/** `stepMs`: time between values, which suggests seasons of the calendar. Values must be finite. */
export function forecast(history: Float64Array, horizon: number, stepMs?: number): Forecast {
  const values = history.subarray(-Math.max(HISTORY_MIN, HISTORY_HORIZONS * horizon));
  const seasons = detectSeasons(values, stepMs === undefined ? [] : calendarPeriods(stepMs));
  const tests = backtests(values, horizon, seasons);
  const errors = new MethodErrors(tests, horizon);
  const { mean, weights } = combined(predictions(values, seasons, horizon), errors, {
    steps: horizon,
    without: { from: 0, to: 0 },
  });
  const { below, above } = intervals(tests, errors, {
    horizon,
    scale: localScale(values, horizon, seasons),
    unknown: 1.3 * spread(values),
  });
  // Errors are in units of the scale at their origin, which is next to nothing where the series had not begun.
  const widest = RANGES_MAX * rangeOf(values);
  const floor = values.every((value) => value >= 0) ? 0 : Number.NEGATIVE_INFINITY;
  return {
    mean: mean.map((value) => Math.max(floor, value)),
    lo80: mean.map((value, step) => Math.max(floor, value - Math.min(widest, below[step]!))),
    hi80: mean.map((value, step) => Math.max(floor, value + Math.min(widest, above[step]!))),
    seasons,
    weights: Object.fromEntries(methods.map(([name], index) => [name, weights[index]!])),
  };
}

function rangeOf(values: Float64Array): number {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) [least, most] = [Math.min(least, value), Math.max(most, value)];
  return values.length === 0 ? 0 : most - least;
}

function spread(values: Float64Array): number {
  let sum = 0;
  for (let index = 1; index < values.length; index += 1) sum += Math.abs(values[index]! - values[index - 1]!);
  return values.length < 2 ? 0 : sum / (values.length - 1);
}
