/** Accelerators that the top-level teams held over the last 24 hours. */
import type { CapacitySample, Team } from "@headroom/protocol";
import { grouped } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { capacityHistoryQuery } from "../../data/queries.ts";
import { changesTeams } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Panel } from "../../parts/page.tsx";
import { TimeChart, type ChartTone, type TimeSeries } from "../../parts/time-chart.tsx";

const EVERY_MS = 30_000;
const tones: readonly ChartTone[] = ["run", "good", "wait", "stop", "accent"];

export function TeamUsage({ teams }: { readonly teams: readonly Team[] }): ReactElement | null {
  const query = capacityHistoryQuery(useClient());
  const { data } = useQuery(query);
  useLiveQuery({ queryKey: query.queryKey, matters: changesTeams, everyMs: EVERY_MS });
  if (data === undefined) return null;
  return (
    <Panel title="Accelerators held by team, last 24 hours">
      {data.samples.length < 2 ? (
        <p className="px-4 py-3 text-ink-2">The history begins now: the first line appears in ten minutes.</p>
      ) : (
        <TimeChart
          label="Accelerators held by team"
          unit="accelerators held"
          atMs={data.samples.map(({ atMs }) => atMs)}
          series={teamSeries(teams, data.samples)}
          max={Math.max(...data.samples.map(({ held }) => held))}
          text={(value) => grouped(Math.round(value))}
        />
      )}
    </Panel>
  );
}

/** The teams with the largest usage, one area for each, and one area for all other teams. */
function teamSeries(teams: readonly Team[], samples: readonly CapacitySample[]): readonly TimeSeries[] {
  const heldBy = (name: string): readonly number[] => samples.map((sample) => sample.teams[name] ?? 0);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const ranked = teams
    .filter(({ parent }) => parent === null)
    .map(({ name }) => ({ name, values: heldBy(name) }))
    .filter(({ values }) => sum(values) > 0)
    .toSorted((left, right) => sum(right.values) - sum(left.values));
  const shown = ranked.slice(0, tones.length);
  const rest = ranked.slice(tones.length);
  const areas = shown.map(({ name, values }, index): TimeSeries => ({
    name,
    values,
    kind: "area",
    tone: tones[index] ?? "idle",
  }));
  if (rest.length === 0) return areas;
  const others = samples.map((_, at) => sum(rest.map(({ values }) => values[at] ?? 0)));
  return [...areas, { name: "others", values: others, kind: "area", tone: "idle" }];
}
