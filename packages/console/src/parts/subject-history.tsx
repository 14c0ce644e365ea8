/** Amounts of one subject over the last 24 hours or 30 days: a node, a team, an endpoint. */
import type { SubjectSeries } from "@headroom/protocol";
import { grouped } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../connect/session.ts";
import { subjectSeriesQuery } from "../data/queries.ts";
import { Select } from "./controls.tsx";
import { TimeChart, type ChartTone, type TimeSeries } from "./time-chart.tsx";

const HOUR_MS = 3_600_000;
const periods = { "24 hours": 24 * HOUR_MS, "30 days": 720 * HOUR_MS } as const;
type Period = keyof typeof periods;

export interface ShownMetric {
  /** Name of the metric in the answer. */
  readonly metric: string;
  readonly label: string;
  readonly tone: ChartTone;
  readonly isLine?: true;
}

interface SubjectHistoryProps {
  readonly subject: string;
  readonly title: string;
  readonly unit: string;
  readonly metrics: readonly ShownMetric[];
}

export function SubjectHistory({ subject, title, unit, metrics }: SubjectHistoryProps): ReactElement {
  const [period, setPeriod] = useState<Period>("24 hours");
  const { data } = useQuery(subjectSeriesQuery(useClient(), subject));
  const shown = data === undefined ? null : within(data, periods[period]);
  return (
    <>
      <div className="flex items-center justify-between gap-2 px-4 pt-2">
        <p className="text-xs font-medium text-ink-3">{title}</p>
        <Select
          label={`Period of ${title}`}
          value={period}
          options={Object.keys(periods).map((value) => ({ value, label: `Last ${value}` }))}
          onValue={(value) => setPeriod(value as Period)}
        />
      </div>
      {shown === null ? (
        <div className="skeleton mx-4 h-10" />
      ) : shown.atMs.length < 2 ? (
        <p className="px-4 py-2 text-ink-2">The history begins now: the first points appear in a few minutes.</p>
      ) : (
        <TimeChart
          label={title}
          unit={unit}
          atMs={shown.atMs}
          series={metrics.flatMap((each) => lineOf(shown, each))}
          text={(value) => grouped(Math.round(value * 10) / 10)}
        />
      )}
    </>
  );
}

/** The part of the series that is not older than the period, counted from its newest point. */
function within(series: SubjectSeries, periodMs: number): SubjectSeries {
  const newest = series.atMs.at(-1) ?? 0;
  const first = series.atMs.findIndex((at) => at > newest - periodMs);
  const from = Math.max(0, first);
  return {
    ...series,
    atMs: series.atMs.slice(from),
    metrics: series.metrics.map((each) => ({ ...each, values: each.values.slice(from) })),
  };
}

function lineOf({ metrics }: SubjectSeries, { metric, label, tone, isLine }: ShownMetric): readonly TimeSeries[] {
  const found = metrics.find(({ name }) => name === metric);
  if (found === undefined) return [];
  const values = found.values.map((value) => value ?? 0);
  return [
    { name: label, values, tone, kind: isLine === true ? "line" : "area", ...(isLine ? { isDashed: true } : {}) },
  ];
}
