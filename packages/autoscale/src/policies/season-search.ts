/**
 * Searches the period of a load that comes in bins: the lag at which the recent past repeats best. Looks at lags of single
 * bins, and of groups of bins for the long periods of days and weeks.
 */
const GROUPS = [1, 12, 60] as const;
const LAGS_MAX = 400;
const POINTS_MAX = 1200;
const CORRELATION_MIN = 0.5;
const RISE_MIN = 0.5;

/** The period in bins, at least `binsMin`; 0 if there is none. `values`: the past, oldest first. */
export function periodOf(values: readonly number[], binsMin: number): number {
  let best = { period: 0, correlation: CORRELATION_MIN };
  for (const group of GROUPS) {
    const series = grouped(values, group);
    const lagMin = Math.max(4, Math.ceil(binsMin / group));
    const found = peakOf(series, lagMin, Math.min(LAGS_MAX, Math.floor(series.length / 2.5)));
    // A longer period has to repeat clearly better: the shorter one has been seen more often.
    if (found.correlation > best.correlation + (best.period > 0 ? 0.05 : 0))
      best = { period: found.lag * group, correlation: found.correlation };
  }
  return best.period;
}

/** Means of groups of bins, the latest `POINTS_MAX` of them, aligned to the end. */
function grouped(values: readonly number[], group: number): Float64Array {
  const count = Math.min(POINTS_MAX, Math.floor(values.length / group));
  const series = new Float64Array(count);
  const first = values.length - count * group;
  for (let index = 0; index < count; index += 1) {
    let sum = 0;
    for (let bin = 0; bin < group; bin += 1) sum += values[first + index * group + bin] ?? 0;
    series[index] = sum / group;
  }
  return series;
}

/** The first peak of the autocorrelation that is almost as high as the highest one. */
function peakOf(series: Float64Array, lagMin: number, lagMax: number): { lag: number; correlation: number } {
  const none = { lag: 0, correlation: 0 };
  if (lagMax <= lagMin) return none;
  const mean = series.reduce((sum, value) => sum + value, 0) / series.length;
  const centred = series.map((value) => value - mean);
  const variance = centred.reduce((sum, value) => sum + value * value, 0) / series.length;
  if (!(variance > 0)) return none;
  const correlation = new Float64Array(lagMax + 1);
  for (let lag = 1; lag <= lagMax; lag += 1) {
    let sum = 0;
    for (let index = lag; index < centred.length; index += 1)
      sum += (centred[index] ?? 0) * (centred[index - lag] ?? 0);
    correlation[lag] = sum / (centred.length - lag) / variance;
  }
  let highest = 0;
  for (let lag = lagMin; lag < lagMax; lag += 1) {
    if (isPeak(correlation, lag)) highest = Math.max(highest, correlation[lag] ?? 0);
  }
  for (let lag = lagMin; lag < lagMax; lag += 1) {
    const here = correlation[lag] ?? 0;
    if (here >= 0.9 * highest && isPeak(correlation, lag)) return { lag, correlation: here };
  }
  return none;
}

/** A slow change correlates at every lag, so a peak has to rise above what lies before it. */
function isPeak(correlation: Float64Array, lag: number): boolean {
  const here = correlation[lag] ?? 0;
  if (here < (correlation[lag - 1] ?? 0) || here < (correlation[lag + 1] ?? 0)) return false;
  let least = Infinity;
  for (let before = 1; before < lag; before += 1) least = Math.min(least, correlation[before] ?? 0);
  return here - least >= RISE_MIN;
}
