/**
 * Forecasting methods. Each is linear in the length of the series and reads nothing but values up to the origin. Sources: Theta by
 * Assimakopoulos and Nikolopoulos (2000) in the form of Hyndman and Billah (2003); damped trend by Gardner and McKenzie (1985).
 */
import { median } from "./order.ts";
import { line } from "./season.ts";

/** Input of the methods: values up to the origin, and the parts that several of them need, computed once. */
export class History {
  readonly values: Float64Array;
  readonly seasons: readonly number[];
  readonly #profile: Profile | undefined;
  /** The values without the seasonal profile. */
  readonly rest: Float64Array;
  readonly level: Level;

  constructor(values: Float64Array, seasons: readonly number[]) {
    this.values = values;
    this.seasons = seasons;
    const profile = seasonalProfile(values, seasons);
    this.#profile = profile;
    this.rest = profile === undefined ? values : withoutProfile(values, profile);
    this.level = bestLevel(this.rest);
  }

  /** Adds the seasonal profile to forecasts of `rest`, in place. */
  seasonal(forecast: Float64Array): Float64Array {
    const profile = this.#profile;
    if (profile === undefined) return forecast;
    for (let step = 0; step < forecast.length; step += 1) forecast[step]! += profile.at(this.values.length + step);
    return forecast;
  }
}

/** Forecasts of the next `horizon` values. */
export type Method = (history: History, horizon: number) => Float64Array;

/** Seasonal profiles weigh past periods by this factor a period. */
const PROFILE_MEMORY = 0.75;

export const methods: readonly (readonly [string, Method])[] = [
  ["naive", ({ values }, horizon) => constant(values.at(-1) ?? 0, horizon)],
  ["seasonal naive", ({ values, seasons }, horizon) => repeated(values, seasons.at(-1) ?? 1, horizon)],
  ["short seasonal naive", ({ values, seasons }, horizon) => repeated(values, seasons[0] ?? 1, horizon)],
  ["smoothed level", (history, horizon) => history.seasonal(constant(history.level.value, horizon))],
  ["reverting", (history, horizon) => history.seasonal(reverting(history.rest, horizon))],
  ["theta", (history, horizon) => history.seasonal(theta(history.rest, history.level, horizon))],
  ["damped trend", (history, horizon) => history.seasonal(dampedTrend(history.rest, horizon))],
  [
    "recent mean",
    (history, horizon) => history.seasonal(constant(average(history.rest.subarray(-2 * horizon)), horizon)),
  ],
  ["recent median", ({ values }, horizon) => constant(median(values.subarray(-Math.max(24, horizon))), horizon)],
  ["long median", ({ values }, horizon) => constant(median(values.subarray(-Math.max(100, 5 * horizon))), horizon)],
];

function constant(value: number, horizon: number): Float64Array {
  return new Float64Array(horizon).fill(value);
}

function repeated(history: Float64Array, period: number, horizon: number): Float64Array {
  const forecast = new Float64Array(horizon);
  const length = Math.min(period, history.length);
  const first = history.length - length;
  for (let step = 0, phase = 0; step < horizon; step += 1) {
    forecast[step] = history[first + phase] ?? 0;
    phase = phase + 1 === length ? 0 : phase + 1;
  }
  return forecast;
}

function withoutProfile(values: Float64Array, profile: Profile): Float64Array {
  const rest = new Float64Array(values.length);
  for (let index = 0; index < rest.length; index += 1) rest[index] = values[index]! - profile.at(index);
  return rest;
}

/** Deviations by phase of the short season, and of the long one as far as there is one. */
class Profile {
  readonly #short: Float64Array;
  readonly #long: Float64Array | undefined;

  constructor(short: Float64Array, long?: Float64Array) {
    this.#short = short;
    this.#long = long;
  }

  at(index: number): number {
    const short = this.#short[index % this.#short.length]!;
    return this.#long === undefined ? short : short + this.#long[index % this.#long.length]!;
  }
}

/**
 * Additive deviations from a centred moving average by phase; newer periods weigh more. With two seasons the longer one is shrunk
 * towards the shorter one, because it has seen fewer periods.
 */
function seasonalProfile(history: Float64Array, seasons: readonly number[]): Profile | undefined {
  const short = seasons[0];
  if (short === undefined || history.length < 2 * short) return undefined;
  return profileOf(withoutMovingAverage(history, short), seasons);
}

function profileOf(flat: Float64Array, [short = 1, long]: readonly number[]): Profile {
  const first = phaseMeans(flat, short);
  if (long === undefined || flat.length < 2 * long) return new Profile(first);
  const left = new Float64Array(flat.length);
  for (let index = 0, phase = 0; index < left.length; index += 1) {
    left[index] = flat[index]! - first[phase]!;
    phase = phase + 1 === short ? 0 : phase + 1;
  }
  const periods = flat.length / long;
  const shrink = periods / (periods + 1.5);
  return new Profile(
    first,
    phaseMeans(left, long).map((mean) => shrink * mean),
  );
}

function phaseMeans(values: Float64Array, period: number): Float64Array {
  const sums = new Float64Array(period);
  const weights = new Float64Array(period);
  let weight = 1;
  let phase = (values.length - 1) % period;
  for (let index = values.length - 1, age = 0; index >= 0; index -= 1) {
    sums[phase]! += weight * values[index]!;
    weights[phase]! += weight;
    phase = phase === 0 ? period - 1 : phase - 1;
    age += 1;
    if (age === period) {
      age = 0;
      weight = Math.max(0.02, weight * PROFILE_MEMORY);
    }
  }
  for (let each = 0; each < period; each += 1) sums[each] = weights[each]! === 0 ? 0 : sums[each]! / weights[each]!;
  return sums;
}

/** The average is centred over one period, and one-sided at the ends. */
function withoutMovingAverage(values: Float64Array, period: number): Float64Array {
  const length = values.length;
  const sums = new Float64Array(length + 1);
  for (let index = 0; index < length; index += 1) sums[index + 1] = sums[index]! + values[index]!;
  const half = period >> 1;
  const flat = new Float64Array(length);
  for (let index = 0; index < length; index += 1) {
    const from = Math.max(0, Math.min(index - half, length - period));
    const to = Math.min(length, from + period);
    flat[index] = values[index]! - (sums[to]! - sums[from]!) / (to - from);
  }
  return flat;
}

interface Level {
  readonly value: number;
  readonly weight: number;
}

/** Simple exponential smoothing; the weight with the smallest one-step error of a short list. */
function bestLevel(values: Float64Array): Level {
  let best = { value: values.at(-1) ?? 0, weight: 1, error: Number.POSITIVE_INFINITY };
  for (const weight of [0.05, 0.15, 0.35, 0.7, 1]) {
    let value = values[0] ?? 0;
    let error = 0;
    for (let index = 1; index < values.length; index += 1) {
      const miss = values[index]! - value;
      error += Math.abs(miss);
      value += weight * miss;
    }
    if (error < best.error) best = { value, weight, error };
  }
  return best;
}

/** From the last value back to the recent mean, as fast as deviations have faded before: an AR(1) process around a slow level. */
function reverting(values: Float64Array, horizon: number): Float64Array {
  const recent = values.subarray(Math.max(0, values.length - Math.max(60, 3 * horizon)));
  const mean = average(recent);
  let product = 0;
  let squares = 0;
  for (let index = 1; index < recent.length; index += 1) {
    product += (recent[index]! - mean) * (recent[index - 1]! - mean);
    squares += (recent[index - 1]! - mean) ** 2;
  }
  const fading = squares === 0 ? 0 : Math.min(0.995, Math.max(0, product / squares));
  let deviation = (values.at(-1) ?? mean) - mean;
  const forecast = new Float64Array(horizon);
  for (let step = 0; step < horizon; step += 1) {
    deviation *= fading;
    forecast[step] = mean + deviation;
  }
  return forecast;
}

/** Simple exponential smoothing with half the slope of the whole series as drift. */
function theta(values: Float64Array, { value, weight }: Level, horizon: number): Float64Array {
  const drift = line(values).slope / 2;
  const lag = (1 - (1 - weight) ** values.length) / weight;
  const forecast = new Float64Array(horizon);
  for (let step = 0; step < horizon; step += 1) forecast[step] = value + drift * (step + lag);
  return forecast;
}

function dampedTrend(values: Float64Array, horizon: number): Float64Array {
  let best = { level: values.at(-1) ?? 0, trend: 0, damping: 1, error: Number.POSITIVE_INFINITY };
  for (const [levelWeight, trendWeight, damping] of [
    [0.3, 0.05, 0.98],
    [0.6, 0.05, 0.95],
    [0.6, 0.2, 0.9],
    [0.9, 0.1, 0.8],
  ] as const) {
    let level = values[0] ?? 0;
    let trend = 0;
    let error = 0;
    for (let index = 1; index < values.length; index += 1) {
      const expected = level + damping * trend;
      const miss = values[index]! - expected;
      error += Math.abs(miss);
      level = expected + levelWeight * miss;
      trend = damping * trend + levelWeight * trendWeight * miss;
    }
    if (error < best.error) best = { level, trend, damping, error };
  }
  const forecast = new Float64Array(horizon);
  let { level, trend } = best;
  for (let step = 0; step < horizon; step += 1) {
    trend *= best.damping;
    level += trend;
    forecast[step] = level;
  }
  return forecast;
}

function average(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value;
  return values.length === 0 ? 0 : sum / values.length;
}
