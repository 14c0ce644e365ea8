/** One endpoint: why it has its number of replicas, its load, and its replicas. */
import type { Endpoint } from "@headroom/protocol";
import { groundText, plural } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { endpointsQuery } from "../../data/queries.ts";
import { Facts, type Fact } from "../../parts/facts.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { Moment, Span } from "../../parts/time-text.tsx";
import { BudgetPanel } from "./budget-panel.tsx";
import { DecisionsPanel } from "./decisions-panel.tsx";
import { latencyText, loadText, ReadyText } from "./endpoint-texts.tsx";
import { MetricsPanel } from "./metrics-panel.tsx";
import { RolloutPanel } from "./rollout-panel.tsx";
import { TrialPanel } from "./trial-panel.tsx";

const route = getRouteApi("/endpoints/$workloadId");

export function EndpointPage(): ReactElement {
  const { workloadId } = route.useParams();
  const { data, error, refetch } = useQuery(endpointsQuery(useClient()));
  const endpoint = data?.items.find((each) => each.workloadId === workloadId);
  return (
    <Page title={endpoint?.name ?? "Endpoint"} layout="flow" summary={endpoint === undefined ? "" : endpoint.model}>
      {data === undefined ? (
        error === null ? (
          <Loading label="Loading the endpoint" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : endpoint === undefined ? (
        <Empty icon="gateway" title="There is no such endpoint">
          <p>It has ended, or was never there.</p>
        </Empty>
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          <div className="flex max-w-6xl flex-col gap-4 px-4 pb-6 md:px-6">
            <div className="grid gap-4 xl:grid-cols-2">
              <ScalingPanel endpoint={endpoint} />
              <LoadPanel load={endpoint.load} />
              <MetricsPanel scaling={endpoint.scaling} />
              <BudgetPanel budget={endpoint.budget} min={endpoint.replicas.min} />
            </div>
            <TrialPanel endpoint={endpoint} />
            {endpoint.rollout === null ? null : <RolloutPanel rollout={endpoint.rollout} />}
            <div className="grid items-start gap-4 xl:grid-cols-2">
              <ReplicaPanel endpoint={endpoint} />
              <DecisionsPanel endpoint={endpoint} />
            </div>
          </div>
        </>
      )}
    </Page>
  );
}

function ScalingPanel({ endpoint }: { readonly endpoint: Endpoint }): ReactElement {
  const { team, replicas, lastChange, scaling } = endpoint;
  const facts: readonly Fact[] = [
    { name: "Team", value: team },
    { name: "Ready", value: <ReadyText replicas={replicas} /> },
    { name: "Bounds", value: `${replicas.min} to ${replicas.max}` },
    {
      name: "Last change",
      value: (
        <>
          <Moment atMs={lastChange.atMs} />: {lastChange.actor} set {plural(replicas.wanted, "replica")} instead of{" "}
          {lastChange.from}
          {groundText(lastChange.ground)}
        </>
      ),
    },
    ...(scaling === null
      ? [{ name: "Scaling", value: "Commands alone change the number of replicas." }]
      : [
          { name: "Now", value: scaling.sentence },
          { name: "Start of a replica", value: latencyText(scaling.coldStartMs) },
        ]),
    ...(endpoint.overflow === null ? [] : [{ name: "Overflow", value: endpoint.overflow.sentence }]),
  ];
  return (
    <Panel title="Replicas and why">
      <Facts facts={facts} />
    </Panel>
  );
}

function LoadPanel({ load }: Pick<Endpoint, "load">): ReactElement {
  if (load === null)
    return (
      <Panel title="Load">
        <p className="px-4 py-3 text-ink-2">
          No gateway has reported since the start of the control plane. A gateway reports the endpoints that its pools
          follow, with a token of role operator.
        </p>
      </Panel>
    );
  const facts: readonly Fact[] = [
    { name: "Requests", value: loadText(load) },
    ...(load.queued === null ? [] : [{ name: "Queued", value: `${load.queued} in replicas` }]),
    ...(load.ttft === null ? [] : [{ name: "First token", value: quantilesText(load.ttft) }]),
    ...(load.tpot === null ? [] : [{ name: "Per token", value: quantilesText(load.tpot) }]),
    ...(load.kvUsage === null ? [] : [{ name: "KV cache", value: `${Math.round(100 * load.kvUsage)}% used` }]),
    {
      name: "Reported",
      value: (
        <>
          <Span fromMs={load.reportedAtMs} /> ago by {plural(load.gateways, "gateway")}
          {load.silentGateways === 0 ? "" : `; ${load.silentGateways} silent`}
        </>
      ),
    },
  ];
  return (
    <Panel title="Load">
      <Facts facts={facts} />
    </Panel>
  );
}

const quantilesText = ({ p50Ms, p95Ms, p99Ms }: NonNullable<NonNullable<Endpoint["load"]>["ttft"]>): string =>
  `p50 ${latencyText(p50Ms)}, p95 ${latencyText(p95Ms)}, p99 ${latencyText(p99Ms)}`;

/** On a phone, the address is shown below the name. */
function ReplicaPanel({ endpoint: { list } }: { readonly endpoint: Endpoint }): ReactElement {
  return (
    <Panel title="Replicas">
      {list.length === 0 ? <p className="px-4 py-3 text-ink-2">No replica has a place.</p> : null}
      <ul className="divide-y divide-line">
        {list.map((replica) => (
          <li key={replica.attemptId} className="flex flex-wrap items-baseline gap-x-3 px-4 py-2">
            <span className="font-medium">{replica.attemptId}</span>
            <Badge tone={stateOf(replica) === "ready" ? "good" : "wait"}>{stateOf(replica)}</Badge>
            <span className="text-ink-2 break-all">{replica.address ?? "no address"}</span>
            <span className="text-ink-2">revision {replica.revision}</span>
            {replica.requests === null ? null : (
              <span className="text-ink-2">{plural(replica.requests, "request")} in progress</span>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function stateOf({ draining, address, phase }: Endpoint["list"][number]): string {
  if (draining) return "draining";
  if (address !== null) return "ready";
  return phase === "launching" ? "starting" : "not ready";
}
