/** Used, queued and lost capacity of the last 24 hours. */
import { grouped } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { capacityHistoryQuery } from "../../data/queries.ts";
import { changesFleet } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Panel } from "../../parts/page.tsx";
import { TimeChart } from "../../parts/time-chart.tsx";

const EVERY_MS = 30_000;

export function CapacityPanel(): ReactElement | null {
  const query = capacityHistoryQuery(useClient());
  const { data } = useQuery(query);
  useLiveQuery({ queryKey: query.queryKey, matters: changesFleet, everyMs: EVERY_MS });
  if (data === undefined || data.samples.length < 2) return null;
  const { samples } = data;
  return (
    <Panel title="Last 24 hours">
      <TimeChart
        label="Capacity of the last 24 hours"
        unit="accelerators"
        atMs={samples.map(({ atMs }) => atMs)}
        series={[
          { name: "used", values: samples.map(({ held }) => held), tone: "run", kind: "area" },
          { name: "out of service", values: samples.map(({ unavailable }) => unavailable), tone: "bad", kind: "area" },
          { name: "queued", values: samples.map(({ queued }) => queued), tone: "wait", kind: "line" },
          { name: "capacity", values: samples.map(({ total }) => total), tone: "idle", kind: "line", isDashed: true },
        ]}
        // One request for many times the fleet would flatten everything else.
        ceiling={1.5 * Math.max(1, ...samples.map(({ total }) => total))}
        text={(value) => grouped(Math.round(value))}
      />
    </Panel>
  );
}
