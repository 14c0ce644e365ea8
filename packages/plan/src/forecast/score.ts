/** Scores of forecasts, as used in the M competitions and in GIFT-Eval. */
import type { Forecast } from "./forecast.ts";

export interface ForecastScore {
  /** Mean absolute error over that of the seasonal naive forecast of the same values; below 1 is better. */
  readonly relativeMase: number;
  /** 200 x |actual - mean| / (|actual| + |mean|), mean over steps; 0 where both are 0. */
  readonly smapePct: number;
  /** Share of values within the 80% interval. */
  readonly coverage80Pct: number;
}

/** `period`: season of the naive forecast in steps; 1 repeats the last value. `from`: steps between the history and the values. */
export function scoreForecast(
  history: Float64Array,
  actual: Float64Array,
  { mean, lo80, hi80 }: Pick<Forecast, "mean" | "lo80" | "hi80">,
  { period, from = 0 }: { readonly period: number; readonly from?: number },
): ForecastScore {
  let error = 0;
  let naiveError = 0;
  let smape = 0;
  let covered = 0;
  const season = history.subarray(-period);
  for (const [step, value] of actual.entries()) {
    const size = Math.abs(value) + Math.abs(mean[step]!);
    error += Math.abs(value - mean[step]!);
    naiveError += Math.abs(value - season[(from + step) % season.length]!);
    smape += size === 0 ? 0 : (200 * Math.abs(value - mean[step]!)) / size;
    covered += value >= lo80[step]! && value <= hi80[step]! ? 100 : 0;
  }
  return {
    relativeMase: naiveError === 0 ? (error === 0 ? 1 : Number.POSITIVE_INFINITY) : error / naiveError,
    smapePct: smape / actual.length,
    coverage80Pct: covered / actual.length,
  };
}
