/**
 * Forecasts a series by a combination of methods. The weight of each method at each distance follows from its errors at earlier
 * origins of the same series; the last season's value is always among the methods. The combination is the weighted median, because
 * demand of clusters is bursty and one method that follows a burst must not lift the others. Intervals are quantiles of the combination's own
 * errors at those origins (split conformal, Vovk 2005), so they hold for whatever the combination misses.
 */
import { History, methods } from "./methods.ts";
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

const ORIGINS = 20;
/** Weights fall with this power of the error. */
/** Weight of an origin beside the next newer one. */
const AGE_WEIGHT = 0.9;
const SHARPNESS = 6;

/** `stepMs`: time between values, which suggests seasons of the calendar. Values must be finite. */
export function forecast(values: Float64Array, horizon: number, stepMs?: number): Forecast {
  const seasons = detectSeasons(values, stepMs === undefined ? [] : calendarPeriods(stepMs));
  const origins = backtestOrigins(values.length, horizon, seasons);
  const tests = origins.map((origin, age) => backtest(values, origin, horizon, seasons, age));
  const weights = methodWeights(tests, horizon);
  const mean = combined(predictions(values, seasons, horizon), weights, horizon);
  const floor = values.every((value) => value >= 0) ? 0 : Number.NEGATIVE_INFINITY;
  const { below, above } = intervals(tests, weights, horizon, spread(values));
  return {
    mean: mean.map((value) => Math.max(floor, value)),
    lo80: mean.map((value, step) => Math.max(floor, value - below[step]!)),
    hi80: mean.map((value, step) => Math.max(floor, value + above[step]!)),
    seasons,
    weights: Object.fromEntries(methods.map(([name], index) => [name, average(weights[index]!)])),
  };
}

/** Origins spread over the newer part of the history, the last one as near to the end as one step of the horizon allows. */
function backtestOrigins(length: number, horizon: number, seasons: readonly number[]): readonly number[] {
  const first = Math.max(Math.ceil(length * 0.4), 2 * (seasons.at(-1) ?? 1) + 1, 8);
  const last = length - Math.max(1, Math.min(horizon, Math.floor(length / 8)));
  if (last <= first) return length > 3 ? [length - 1] : [];
  const count = Math.min(ORIGINS, last - first + 1);
  return Array.from({ length: count }, (_, index) => Math.round(last - (index * (last - first)) / Math.max(1, count)));
}

interface Backtest {
  /** Inverse of the usual error at this origin, so that one burst does not decide alone; newer origins weigh more. */
  readonly weight: number;
  readonly predicted: readonly Float64Array[];
  /** As many values as are known, at most the horizon. */
  readonly actual: Float64Array;
}

function backtest(
  values: Float64Array,
  origin: number,
  horizon: number,
  seasons: readonly number[],
  age: number,
): Backtest {
  const actual = values.subarray(origin, Math.min(values.length, origin + horizon));
  const predicted = predictions(values.subarray(0, origin), seasons, actual.length);
  const usual = average(Float64Array.from(predicted, (each) => Math.log(1e-9 + meanError(each, actual))));
  return { weight: AGE_WEIGHT ** age / Math.exp(usual), predicted, actual };
}

function meanError(predicted: Float64Array, actual: Float64Array): number {
  let sum = 0;
  for (let step = 0; step < actual.length; step += 1) sum += Math.abs(actual[step]! - predicted[step]!);
  return sum / Math.max(1, actual.length);
}

function predictions(values: Float64Array, seasons: readonly number[], horizon: number): readonly Float64Array[] {
  const history = new History(values, seasons);
  return methods.map(([, predict]) => predict(history, horizon));
}

/** Weight of each method (rows) at each step, from mean absolute errors around the step. */
function methodWeights(tests: readonly Backtest[], horizon: number): readonly Float64Array[] {
  const errors = methods.map((_, method) => smoothedErrors(tests, method, horizon));
  const weights = methods.map(() => new Float64Array(horizon));
  for (let step = 0; step < horizon; step += 1) {
    const smallest = Math.min(...errors.map((error) => error[step]!));
    let sum = 0;
    for (const [method, error] of errors.entries()) {
      const ratio = error[step]! <= 0 ? 1 : Math.max(smallest, 1e-12) / Math.max(error[step]!, 1e-12);
      weights[method]![step] = ratio ** SHARPNESS;
      sum += weights[method]![step]!;
    }
    for (const weight of weights) weight[step] = weight[step]! / sum;
  }
  return weights;
}

/** Mean absolute error of a method by step, smoothed over steps within a quarter of the distance. */
function smoothedErrors(tests: readonly Backtest[], method: number, horizon: number): Float64Array {
  const sums = new Float64Array(horizon + 1);
  const counts = new Float64Array(horizon + 1);
  for (const { predicted, actual, weight } of tests) {
    for (let step = 0; step < actual.length; step += 1) {
      sums[step + 1] = sums[step + 1]! + weight * Math.abs(actual[step]! - predicted[method]![step]!);
      counts[step + 1] = counts[step + 1]! + 1;
    }
  }
  return windowMeans(sums, counts, horizon);
}

function windowMeans(sums: Float64Array, counts: Float64Array, horizon: number): Float64Array {
  for (let step = 1; step <= horizon; step += 1) {
    sums[step] = sums[step]! + sums[step - 1]!;
    counts[step] = counts[step]! + counts[step - 1]!;
  }
  const result = new Float64Array(horizon);
  let last = 0;
  for (let step = 0; step < horizon; step += 1) {
    const from = Math.max(0, Math.floor(step - 1 - step / 4));
    const to = Math.min(horizon, Math.ceil(step + 2 + step / 4));
    const count = counts[to]! - counts[from]!;
    if (count > 0) last = (sums[to]! - sums[from]!) / count;
    result[step] = last;
  }
  return result;
}

function combined(predicted: readonly Float64Array[], weights: readonly Float64Array[], horizon: number): Float64Array {
  const result = new Float64Array(horizon);
  const values = new Float64Array(predicted.length);
  const shares = new Float64Array(predicted.length);
  for (let step = 0; step < horizon; step += 1) {
    // Insertion sort: there are ten values.
    for (let method = 0; method < predicted.length; method += 1) {
      const value = predicted[method]![step]!;
      let place = method;
      for (; place > 0 && values[place - 1]! > value; place -= 1) {
        values[place] = values[place - 1]!;
        shares[place] = shares[place - 1]!;
      }
      values[place] = value;
      shares[place] = weights[method]![step]!;
    }
    let middle = 0;
    for (let share = shares[0]!; share < 0.5 - 1e-9 && middle < values.length - 1; share += shares[middle]!)
      middle += 1;
    result[step] = values[middle]!;
  }
  return result;
}

/** 10% and 90% quantiles of the combination's errors, from the steps around each step. */
function intervals(
  tests: readonly Backtest[],
  weights: readonly Float64Array[],
  horizon: number,
  fallback: number,
): { readonly below: Float64Array; readonly above: Float64Array } {
  const errors: number[][] = Array.from({ length: horizon }, () => []);
  for (const { predicted, actual } of tests) {
    const mean = combined(predicted, weights, actual.length);
    for (let step = 0; step < actual.length; step += 1) errors[step]!.push(actual[step]! - mean[step]!);
  }
  const below = new Float64Array(horizon).fill(1.3 * fallback);
  const above = below.slice();
  let step = 0;
  while (step < horizon) {
    // Quantiles change slowly with the distance, so they are computed for steps of growing width.
    const next = Math.min(horizon, step + 1 + Math.floor(step / 5));
    const reach = Math.max(2, step / 3);
    const near = Float64Array.from(
      errors.slice(Math.max(0, Math.ceil(step - reach)), Math.floor(step + reach) + 1).flat(),
    );
    const isEnough = near.length >= 5;
    near.sort();
    const last = Math.max(0, step - 1);
    below.fill(isEnough ? Math.max(0, -quantile(near, 0.1)) : below[last]!, step, next);
    above.fill(isEnough ? Math.max(0, quantile(near, 0.9)) : above[last]!, step, next);
    step = next;
  }
  return { below, above };
}

/** Conformal: the quantile of n + 1 values of which one is still unknown. */
function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length + 1) - 1;
  const low = Math.min(sorted.length - 1, Math.max(0, Math.floor(place)));
  const high = Math.min(sorted.length - 1, low + 1);
  const part = Math.min(1, Math.max(0, place - low));
  return sorted[low]! * (1 - part) + sorted[high]! * part;
}

function spread(values: Float64Array): number {
  let sum = 0;
  for (let index = 1; index < values.length; index += 1) sum += Math.abs(values[index]! - values[index - 1]!);
  return values.length < 2 ? 0 : sum / (values.length - 1);
}

function average(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
