import type { Fleet, Node, NodeReadings, Status } from "@headroom/protocol";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { Suspense, lazy, useMemo } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { fleetQuery, nodesQuery, readingsQuery, statusQuery, teamsQuery } from "../../data/queries.ts";
import { changesFleet, changesTeams } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Segments } from "../../parts/controls.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";
import { Page } from "../../parts/page.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { colouringDefault, type Colouring, type FleetSearch } from "../../routes/search-params.ts";
import { categoryOfTeams } from "./cell-colours.ts";
import { FleetMap } from "./fleet-map.tsx";
import { FleetNumbers } from "./fleet-numbers.tsx";
import { Legend } from "./legend.tsx";
import { NextPanel, RunningPanel } from "./work-panels.tsx";

const route = getRouteApi("/");

const CapacityPanel = lazy(() => import("./capacity-panel.tsx").then((module) => ({ default: module.CapacityPanel })));
const FirstSteps = lazy(() => import("./first-steps.tsx").then((module) => ({ default: module.FirstSteps })));
const OrdersPanel = lazy(() => import("./orders-panel.tsx").then((module) => ({ default: module.OrdersPanel })));
const ExecutorsPanel = lazy(() =>
  import("./executors-panel.tsx").then((module) => ({ default: module.ExecutorsPanel })),
);
const NodeTable = lazy(() => import("./node-table.tsx").then((module) => ({ default: module.NodeTable })));
const NodeDrawer = lazy(() => import("./node-drawer.tsx").then((module) => ({ default: module.NodeDrawer })));

export function FleetPage(): ReactElement {
  const client = useClient();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const nodes = useQuery(nodesQuery(client));
  const fleet = useQuery(fleetQuery(client));
  const status = useQuery(statusQuery(client));
  useLiveQuery({ queryKey: ["nodes"], matters: changesFleet });
  useLiveQuery({ queryKey: ["fleet"], matters: changesFleet });
  const change = (next: Partial<FleetSearch>): void =>
    void navigate({ search: (now) => ({ ...now, ...next }), replace: next.node === undefined });
  const isTable = search.view === "table";
  const readings = useReadings();
  const open = nodes.data?.find(({ id }) => id === search.node);
  return (
    <Page
      title="Fleet"
      layout={isTable ? "fill" : "flow"}
      summary={
        fleet.data === undefined
          ? "Every accelerator and its work"
          : fleetSummary(fleet.data.sites.length, fleet.data.pools.length)
      }
      actions={<ViewChoice isTable={isTable} onView={(view) => change({ view })} />}
    >
      {nodes.data !== undefined && nodes.error !== null ? <StaleNotice error={nodes.error} /> : null}
      {nodes.data === undefined ? (
        nodes.error === null ? (
          <Loading label="Loading the fleet" />
        ) : (
          <Failure error={nodes.error} onRetry={() => void nodes.refetch()} />
        )
      ) : isTable ? (
        <Suspense fallback={<Loading label="Loading the table" />}>
          <NodeTable nodes={nodes.data} readings={readings} onOpen={(node) => change({ node })} />
        </Suspense>
      ) : (
        <div className="flex flex-col gap-4 px-4 pb-6 md:px-6">
          {fleet.data === undefined || status.data === undefined ? null : (
            <FleetNumbers fleet={fleet.data} status={status.data} />
          )}
          <Overview fleet={fleet.data} status={status.data} />
          <MapPanel
            nodes={nodes.data}
            readings={readings}
            colouring={search.colour ?? colouringDefault}
            onChange={change}
          />
          <div className="grid items-start gap-4 lg:grid-cols-2">
            <RunningPanel />
            <NextPanel />
          </div>
        </div>
      )}
      <OnDemand isWanted={open !== undefined}>
        <NodeDrawer node={open} onClose={() => change({ node: undefined })} />
      </OnDemand>
    </Page>
  );
}

interface ViewChoiceProps {
  readonly isTable: boolean;
  readonly onView: (view: "table" | undefined) => void;
}

function ViewChoice({ isTable, onView }: ViewChoiceProps): ReactElement {
  return (
    <Segments
      label="View"
      name="fleet-view"
      value={isTable ? "table" : "map"}
      options={[
        { value: "map", label: "Map" },
        { value: "table", label: "Table" },
      ]}
      onValue={(view) => onView(view === "table" ? "table" : undefined)}
    />
  );
}

interface OverviewProps {
  readonly fleet: Fleet | undefined;
  readonly status: Status | undefined;
}

function Overview({ fleet, status }: OverviewProps): ReactElement {
  const { data: teams } = useQuery(teamsQuery(useClient()));
  return (
    <Suspense fallback={null}>
      {fleet === undefined || status === undefined || teams === undefined ? null : (
        <FirstSteps fleet={fleet} status={status} teams={teams} />
      )}
      <CapacityPanel />
      <ExecutorsPanel />
      <OrdersPanel />
    </Suspense>
  );
}

const fleetSummary = (sites: number, pools: number): string =>
  `${sites} site${sites === 1 ? "" : "s"}, ${pools} pool${pools === 1 ? "" : "s"}, every accelerator one cell`;

interface MapPanelProps {
  readonly nodes: readonly Node[];
  readonly readings: ReadonlyMap<string, NodeReadings>;
  readonly colouring: Colouring;
  readonly onChange: (next: Partial<FleetSearch>) => void;
}

function MapPanel({ nodes, readings, colouring, onChange }: MapPanelProps): ReactElement {
  const teams = useTeamCategories();
  if (nodes.length === 0) {
    return (
      <Empty icon="fleet" title="No node has joined yet">
        <p>
          A node joins when the control plane starts on a machine with accelerators, or when a fleet file is applied.
        </p>
      </Empty>
    );
  }
  return (
    <section aria-label="Map" className="rounded-lg border border-line bg-surface p-4">
      <div className="mb-4 flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <Legend nodes={nodes} teams={teams} colouring={colouring} />
        <Segments
          label="Colour by"
          name="fleet-colour"
          value={colouring}
          options={[
            { value: "team", label: "Team" },
            { value: "state", label: "State" },
            { value: "workload", label: "Workload" },
            { value: "use", label: "Utilization" },
          ]}
          onValue={(colour) => onChange({ colour: colour === colouringDefault ? undefined : colour })}
        />
      </div>
      <FleetMap
        nodes={nodes}
        teams={teams}
        colouring={colouring}
        readings={readings}
        onOpen={(node) => onChange({ node })}
      />
      {colouring === "use" && !hasReadings(readings) ? (
        <p className="pt-3 text-ink-2">
          No telemetry yet: no node has accelerators that <code>nvidia-smi</code>, <code>rocm-smi</code> or DCGM can
          read. Declared slots have none.
        </p>
      ) : null}
    </section>
  );
}

const hasReadings = (readings: ReadonlyMap<string, NodeReadings>): boolean =>
  [...readings.values()].some(({ accelerators }) => accelerators.length > 0);

const noReadings: ReadonlyMap<string, NodeReadings> = new Map();

function useReadings(): ReadonlyMap<string, NodeReadings> {
  const { data = noReadings } = useQuery(readingsQuery(useClient()));
  return data;
}

function useTeamCategories(): ReadonlyMap<string, number> {
  const { data } = useQuery(teamsQuery(useClient()));
  useLiveQuery({ queryKey: ["teams"], matters: changesTeams });
  return useMemo(() => categoryOfTeams((data ?? []).map(({ name }) => name)), [data]);
}
