/** Finds the seasons of a series without being told: lags at which the autocorrelation of the series without its slow part peaks. */

/** Seasons need this many full periods of history. */
const PERIODS_MIN = 2.5;
const LAG_MAX = 400;
const SEASONS_MAX = 2;
/** Autocorrelation at the lag, and its rise above the lags around half a period. */
const CORRELATION_MIN = 0.2;
const RISE_MIN = 0.15;
/** Correlation at twice the lag, as a share of that at the lag. */
const REPEATED_SHARE = 0.4;
const LONE_CORRELATION_MIN = 0.5;

/** A period of the calendar is taken with less evidence than any other lag. */
const CALENDAR_CORRELATION_MIN = 0.1;
/** A period of the calendar is preferred to a lag whose correlation is higher by less than this. */
const CALENDAR_SHARE = 0.7;
const HOUR_MS = 3_600_000;
const CALENDAR_MS = [24 * HOUR_MS, 7 * 24 * HOUR_MS, 365.25 * 24 * HOUR_MS] as const;

/** Periods of a day, a week and a year in steps, as far as they are at least 4 steps. */
export function calendarPeriods(stepMs: number): readonly number[] {
  return CALENDAR_MS.map((periodMs) => Math.round(periodMs / stepMs)).filter(
    (period) => period >= 4 && period <= LAG_MAX,
  );
}

/**
 * Periods in steps, shortest first; empty if the series has none. `calendar`: periods that the length of a step suggests, see
 * `calendarPeriods`.
 */
export function detectSeasons(values: Float64Array, calendar: readonly number[] = []): readonly number[] {
  const longest = Math.min(LAG_MAX, Math.floor(values.length / PERIODS_MIN));
  if (longest < 4) return [];
  const correlation = autocorrelation(detrended(values), longest);
  const found = peakSeasons(correlation, values.length);
  const strength = correlation[found[0] ?? 0]!;
  const usual = calendar.filter(
    (period) =>
      period <= longest && correlation[period]! >= Math.max(CALENDAR_CORRELATION_MIN, CALENDAR_SHARE * strength),
  );
  const likely = usual.toSorted((a, b) => correlation[b]! - correlation[a]!)[0];
  if (likely === undefined) return found;
  return found.some((period) => Math.abs(period - likely) <= 1) ? found : [likely];
}

function peakSeasons(correlation: Float64Array, length: number): readonly number[] {
  const candidates = peaks(correlation).filter(
    (lag) =>
      correlation[lag]! >= threshold(length, lag) && rise(correlation, lag) >= RISE_MIN && isRepeated(correlation, lag),
  );
  const strongest = candidates.toSorted((a, b) => correlation[b]! - correlation[a]! || a - b)[0];
  if (strongest === undefined) return [];
  // A period's multiples peak too: prefer the shortest lag that is almost as strong as the strongest.
  const base = candidates.find((lag) => correlation[lag]! >= 0.85 * correlation[strongest]!) ?? strongest;
  const longer = candidates
    .filter((lag) => lag >= 2 * base && Math.abs(lag / base - Math.round(lag / base)) < 0.02)
    .find((lag) => correlation[lag]! >= correlation[base]! + 0.05);
  return [base, ...(longer === undefined ? [] : [longer])].slice(0, SEASONS_MAX);
}

/**
 * Whether twice the lag correlates too. The waves of a random walk have peaks at some lag, but not at its double; a lag whose double is
 * beyond the known ones needs a strong correlation instead.
 */
function isRepeated(correlation: Float64Array, lag: number): boolean {
  const strength = correlation[lag]!;
  if (2 * lag + 1 >= correlation.length) return strength >= LONE_CORRELATION_MIN;
  const double = Math.max(correlation[2 * lag - 1]!, correlation[2 * lag]!, correlation[2 * lag + 1]!);
  return double >= REPEATED_SHARE * strength;
}

/** Bartlett's bound for white noise, and at least `CORRELATION_MIN`. */
function threshold(length: number, lag: number): number {
  return Math.max(CORRELATION_MIN, 2 / Math.sqrt(Math.max(4, length - lag)));
}

/** The values without a straight line, so that a trend does not look like correlation at every lag. */
function detrended(values: Float64Array): Float64Array {
  const { level, slope } = line(values);
  return values.map((value, index) => value - level - slope * index);
}

/** Least squares over the index. */
export function line(values: Float64Array): { readonly level: number; readonly slope: number } {
  const count = values.length;
  const middle = (count - 1) / 2;
  let sum = 0;
  let product = 0;
  let squares = 0;
  for (let index = 0; index < count; index += 1) {
    sum += values[index]!;
    product += (index - middle) * values[index]!;
    squares += (index - middle) ** 2;
  }
  const slope = squares === 0 ? 0 : product / squares;
  return { level: sum / count - slope * middle, slope };
}

function autocorrelation(values: Float64Array, longest: number): Float64Array {
  let variance = 0;
  for (const value of values) variance += value * value;
  const result = new Float64Array(longest + 1);
  if (variance === 0) return result;
  for (let lag = 1; lag <= longest; lag += 1) {
    let product = 0;
    for (let index = lag; index < values.length; index += 1) product += values[index]! * values[index - lag]!;
    // The sum has fewer terms at longer lags.
    result[lag] = (product / variance) * (values.length / (values.length - lag));
  }
  return result;
}

/** Lags that are higher than their neighbours, from 3 on. */
function peaks(correlation: Float64Array): readonly number[] {
  const found: number[] = [];
  for (let lag = 3; lag < correlation.length - 1; lag += 1) {
    if (correlation[lag]! >= correlation[lag - 1]! && correlation[lag]! > correlation[lag + 1]!) found.push(lag);
  }
  return found;
}

/** How far a peak stands above the valley before it. */
function rise(correlation: Float64Array, lag: number): number {
  let valley = Number.POSITIVE_INFINITY;
  for (let before = Math.max(1, Math.floor(lag / 4)); before < lag; before += 1) {
    valley = Math.min(valley, correlation[before]!);
  }
  return correlation[lag]! - valley;
}
