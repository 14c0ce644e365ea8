/**
 * Forecasts of a series at earlier origins of its own past, by every method. It must not read values after an origin, except to measure
 * the errors there.
 */
import { History, methods } from "./methods.ts";

const ORIGINS = 16;
/** Origins lie after this part of the history: intervals of series with rare breaks need many stretches that do not overlap. */
const FIRST_ORIGIN_SHARE = 0.2;
/** Weight of the newest changes in the scale of a series. */
const RECENT_SHARE = 0.75;
/** Weight of an origin beside the next newer one. */
const AGE_WEIGHT = 0.9;

export interface Backtest {
  readonly origin: number;
  /** Inverse of the usual error at this origin, so that one burst does not decide alone; newer origins weigh more. */
  readonly weight: number;
  readonly predicted: readonly Float64Array[];
  /** Absolute error of each method by step. */
  readonly errors: readonly Float64Array[];
  /** As many values as are known, at most the horizon. */
  readonly actual: Float64Array;
  /** Mean change of the values shortly before the origin: the unit in which its errors are measured. */
  readonly scale: number;
}

/** Newest origin first. */
export function backtests(values: Float64Array, horizon: number, seasons: readonly number[]): readonly Backtest[] {
  return originsOf(values.length, horizon, seasons).map((origin, age) => {
    const actual = values.subarray(origin, Math.min(values.length, origin + horizon));
    const before = values.subarray(0, origin);
    const predicted = predictions(before, seasons, actual.length);
    const errors = predicted.map((each) => errorsOf(each, actual));
    let usual = 0;
    for (const each of errors) usual += Math.log(1e-9 + mean(each)) / errors.length;
    const weight = AGE_WEIGHT ** age / Math.exp(usual);
    return { origin, weight, predicted, errors, actual, scale: localScale(before, horizon, seasons) };
  });
}

export function predictions(
  values: Float64Array,
  seasons: readonly number[],
  horizon: number,
): readonly Float64Array[] {
  const history = new History(values, seasons);
  return methods.map(([, predict]) => predict(history, horizon));
}

/** Origins spread over the newer part of the history, the last one as near to the end as one step of the horizon allows. */
function originsOf(length: number, horizon: number, seasons: readonly number[]): readonly number[] {
  const first = Math.max(Math.ceil(length * FIRST_ORIGIN_SHARE), 2 * (seasons.at(-1) ?? 1) + 1, 8);
  const last = length - Math.max(1, Math.min(horizon, Math.floor(length / 8)));
  if (last <= first) return length > 3 ? [length - 1] : [];
  const count = Math.min(ORIGINS, last - first + 1);
  return Array.from({ length: count }, (_, index) => Math.round(last - (index * (last - first)) / Math.max(1, count)));
}

/**
 * Mean absolute change over one season (over one step without a season) in the newer part, with some of the whole past, so that a quiet
 * stretch does not look like certainty.
 */
export function localScale(values: Float64Array, horizon: number, seasons: readonly number[]): number {
  const lag = Math.min(seasons[0] ?? 1, Math.max(1, values.length >> 1));
  const recent = meanChange(values.subarray(-(lag + Math.max(24, horizon, 2 * lag))), lag);
  const whole = meanChange(values, lag);
  const scale = RECENT_SHARE * recent + (1 - RECENT_SHARE) * whole;
  return scale > 0 ? scale : 1e-9;
}

function meanChange(values: Float64Array, lag: number): number {
  let sum = 0;
  for (let index = lag; index < values.length; index += 1) sum += Math.abs(values[index]! - values[index - lag]!);
  return sum / Math.max(1, values.length - lag);
}

function errorsOf(predicted: Float64Array, actual: Float64Array): Float64Array {
  const errors = new Float64Array(actual.length);
  for (let step = 0; step < errors.length; step += 1) errors[step] = Math.abs(actual[step]! - predicted[step]!);
  return errors;
}

function mean(values: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < values.length; index += 1) sum += values[index]!;
  return sum / Math.max(1, values.length);
}
