/** Endpoints with their replicas and load. No event announces readings, so they are polled while the page is shown. */
import type { Endpoint } from "@headroom/protocol";
import { plural } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { endpointsQuery } from "../../data/queries.ts";
import { Page } from "../../parts/page.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { latencyText, loadText, ReadyText, rolloutText, scalingText } from "./endpoint-texts.tsx";

export function EndpointsPage(): ReactElement {
  const { data, error, refetch } = useQuery(endpointsQuery(useClient()));
  return (
    <Page
      title="Endpoints"
      layout="flow"
      summary={data === undefined ? "Servers that run in several replicas" : plural(data.items.length, "endpoint")}
    >
      {data === undefined ? (
        error === null ? (
          <Loading label="Loading endpoints" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          <div className="max-w-6xl px-4 pb-6 md:px-6">
            {data.items.length === 0 ? <NoEndpoints /> : <EndpointTable items={data.items} />}
          </div>
        </>
      )}
    </Page>
  );
}

function NoEndpoints(): ReactElement {
  return (
    <Empty icon="gateway" title="There are no endpoints">
      <p>
        Describe a server in a file of <code className="font-mono text-xs">kind: serve</code> and apply it with{" "}
        <code className="font-mono text-xs">headroom apply -f FILE</code>.
      </p>
    </Empty>
  );
}

/** On a phone, the load is shown below the name. */
const columns = [
  { title: "Endpoint", className: "" },
  { title: "Team", className: "hidden md:table-cell" },
  { title: "Ready", className: "text-right" },
  { title: "Load", className: "hidden md:table-cell" },
  { title: "Time to first token, p95", className: "hidden text-right lg:table-cell" },
  { title: "Scaling", className: "hidden md:table-cell" },
];

function EndpointTable({ items }: { readonly items: readonly Endpoint[] }): ReactElement {
  return (
    <div className="scroll-thin overflow-x-auto rounded-lg border border-line bg-surface">
      <table aria-label="Endpoints" className="w-full text-left">
        <thead className="border-b border-line text-xs text-ink-3">
          <tr>
            {columns.map(({ title, className }) => (
              <th key={title} scope="col" className={`px-4 py-2 font-medium ${className}`}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {items.map((endpoint) => (
            <tr key={endpoint.workloadId} data-row className="align-top hover:bg-hover">
              <th scope="row" className="px-4 py-2 font-medium break-words">
                <Link
                  to="/endpoints/$workloadId"
                  params={{ workloadId: endpoint.workloadId }}
                  className="hover:underline"
                >
                  {endpoint.name}
                </Link>
                {endpoint.rollout === null ? null : (
                  <p className="pt-0.5 font-normal text-ink-2">{rolloutText(endpoint.rollout)}</p>
                )}
                <p className="pt-0.5 font-normal text-ink-2 md:hidden">{loadText(endpoint.load)}</p>
              </th>
              <td className="hidden px-4 py-2 text-ink-2 md:table-cell">{endpoint.team}</td>
              <td className="px-4 py-2 text-right whitespace-nowrap">
                <ReadyText replicas={endpoint.replicas} />
              </td>
              <td className="hidden px-4 py-2 md:table-cell">{loadText(endpoint.load)}</td>
              <td className="hidden px-4 py-2 text-right lg:table-cell">
                {endpoint.load?.ttft == null ? "–" : latencyText(endpoint.load.ttft.p95Ms)}
              </td>
              <td className="hidden px-4 py-2 md:table-cell">{scalingText(endpoint)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
