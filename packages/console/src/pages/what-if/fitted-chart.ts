/** Evenly spaced samples as a chart whose range ends where nothing changes any more. */
import type { TimeSeries } from "../../parts/time-chart.tsx";

interface ChartRange {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A flat end says nothing; a twelfth of the range behind the last change shows that it is flat. */
const TAIL_SHARE = 12;

export function fittedChart(
  series: readonly TimeSeries[],
  { fromMs, toMs }: ChartRange,
): { readonly atMs: readonly number[]; readonly series: readonly TimeSeries[] } {
  const count = Math.max(0, ...series.map(({ values }) => values.length));
  const lastChange = Math.max(0, ...series.map(({ values }) => lastChangeIn(values)));
  const shown = Math.min(count, Math.max(2, lastChange + 2 + Math.ceil(count / TAIL_SHARE)));
  const stepMs = count < 2 ? 0 : (toMs - fromMs) / (count - 1);
  return {
    atMs: Array.from({ length: shown }, (_, index) => fromMs + index * stepMs),
    series: series.map((each) => ({ ...each, values: each.values.slice(0, shown) })),
  };
}

/** Index of the last value that differs from the final one; 0: all are equal. */
const lastChangeIn = (values: readonly number[]): number =>
  Math.max(
    0,
    values.findLastIndex((value) => value !== values.at(-1)),
  );
