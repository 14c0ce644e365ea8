/** Evenly spaced samples as charts whose common range ends where nothing changes any more. */
import type { TimeSeries } from "../../parts/time-chart.tsx";

interface ChartRange {
  readonly fromMs: number;
  readonly toMs: number;
  /** The charts reach at least this far, such as to the last start that moves; default: `fromMs`. */
  readonly leastUntilMs?: number;
}

interface FittedChart {
  readonly atMs: readonly number[];
  readonly series: readonly TimeSeries[];
}

/** A flat end says nothing; a twelfth of the range behind the last change shows that it is flat. */
const TAIL_SHARE = 12;

/** All of them end at the same time, so that they can be read one below the other. */
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

/** Index of the last value that differs from the final one; 0: all are equal. */
const lastChangeIn = (values: readonly number[]): number =>
  Math.max(
    0,
    values.findLastIndex((value) => value !== values.at(-1)),
  );
