/** The last decisions on an endpoint with their grounds: its number of replicas, and the steps of its rollouts. */
import type { Endpoint } from "@headroom/protocol";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { decisionsQuery } from "../../data/queries.ts";
import { Panel } from "../../parts/page.tsx";
import { Moment } from "../../parts/time-text.tsx";

const SHOWN = 12;

export function DecisionsPanel({ endpoint }: { readonly endpoint: Endpoint }): ReactElement {
  const { data, error } = useQuery(decisionsQuery(useClient(), endpoint));
  const { workloadId } = endpoint;
  // Events about single attempts are on the page of the workload.
  const decisions = (data?.items ?? []).filter(({ attemptIds }) => attemptIds.length === 0);
  return (
    <Panel title="Decisions">
      <ol aria-label="Decisions, the newest first" className="divide-y divide-line">
        {decisions
          .slice(-SHOWN)
          .toReversed()
          .map(({ sequence, atMs, sentence }) => (
            <li key={sequence} className="grid gap-x-4 gap-y-0.5 px-4 py-2 sm:grid-cols-[9rem_1fr]">
              <span className="text-ink-3">
                <Moment atMs={atMs} />
              </span>
              <span>{sentence}</span>
            </li>
          ))}
      </ol>
      {data === undefined ? (
        <p className="px-4 py-3 text-ink-2">
          {error === null ? "Reading decisions." : "Decisions cannot be read now."}
        </p>
      ) : null}
      <p className="border-t border-line px-4 py-2">
        <Link to="/workloads/$workloadId" params={{ workloadId }} className="underline">
          All events of the endpoint
        </Link>
      </p>
    </Panel>
  );
}
