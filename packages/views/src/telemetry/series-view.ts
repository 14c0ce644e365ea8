/** The answer about the series of a subject: one column of values for each metric. */
import type { SubjectSeries } from "@headroom/protocol";
import type { MetricsRange } from "./attempt-series.ts";
import type { Series } from "./series.ts";
import { pointsBetween } from "./series.ts";
import { seriesUnits } from "./subject-samples.ts";

/** `series`: `null` if nothing was ever recorded about the subject. `units`: of metrics that are not Headroom's own. */
export function seriesView(
  subject: string,
  series: Series | null,
  { fromMs, toMs, points: max }: MetricsRange,
  units: Readonly<Record<string, string>> = {},
): SubjectSeries {
  if (series === null) return { subject, atMs: [], metrics: [] };
  const points = pointsBetween(series, { fromMs, toMs, max });
  return {
    subject,
    atMs: points.map(({ atMs }) => atMs),
    metrics: series.names.map((name, column) => ({
      name,
      unit: seriesUnits[name] ?? units[name] ?? "",
      values: points.map(({ values }) => rounded(values[column] ?? null)),
    })),
  };
}

const rounded = (value: number | null): number | null => (value === null ? null : Math.round(value * 1_000) / 1_000);
