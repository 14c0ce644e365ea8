/** Charts of evenly spaced samples. Their common time range ends soon after the last change. */
import type { TimeSeries } from "../../parts/time-chart.tsx";

interface ChartRange {
  readonly fromMs: number;
  readonly toMs: number;
  /** Time until which the range must extend, such as the last start that the change moves; default: `fromMs`. */
  readonly leastUntilMs?: number;
}

interface FittedChart {
  readonly atMs: readonly number[];
  readonly series: readonly TimeSeries[];
}

/** Part of the range after the last change: a twelfth, enough to show that the values stay the same. */
const TAIL_SHARE = 12;

/** Charts with a common end, so that a reader can compare them one below the other. */
export function fittedCharts(
  charts: readonly (readonly TimeSeries[])[],
  { fromMs, toMs, leastUntilMs = fromMs }: ChartRange,
): readonly FittedChart[] {
  const all = charts.flat();
  const count = Math.max(0, ...all.map(({ values }) => values.length));
  const stepMs = count < 2 ? 0 : (toMs - fromMs) / (count - 1);
  const least = stepMs === 0 ? 0 : Math.ceil((leastUntilMs - fromMs) / stepMs);
  const lastChange = Math.max(least, ...all.map(({ values }) => lastChangeIn(values)));
  const shown = Math.min(count, Math.max(2, lastChange + 2 + Math.ceil(count / TAIL_SHARE)));
  const atMs = Array.from({ length: shown }, (_, index) => fromMs + index * stepMs);
  return charts.map((series) => ({
    atMs,
    series: series.map((each) => ({ ...each, values: each.values.slice(0, shown) })),
  }));
}

/** Index of the last value that differs from the final one; 0: all values are equal. */
const lastChangeIn = (values: readonly number[]): number =>
  Math.max(
    0,
    values.findLastIndex((value) => value !== values.at(-1)),
  );
