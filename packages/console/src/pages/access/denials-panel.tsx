/** Requests that were denied since the start of the control plane, the newest first. */
import { grouped } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { denialsQuery } from "../../data/queries.ts";
import { problemText } from "../../format/problem-text.ts";
import { Panel } from "../../parts/page.tsx";
import { Moment } from "../../parts/time-text.tsx";

const ROWS_SHOWN = 50;

export function DenialsPanel(): ReactElement {
  const { data, error } = useQuery(denialsQuery(useClient()));
  const items = data?.items ?? [];
  return (
    <Panel
      title="Denied requests"
      aside={items.length > ROWS_SHOWN ? `${ROWS_SHOWN} of ${grouped(items.length)}` : undefined}
    >
      {items.length === 0 ? (
        <p className="px-4 py-3 text-ink-2">
          {error === null
            ? data === undefined
              ? "Loading the denied requests"
              : "No request was denied since the control plane started."
            : problemText(error).detail}
        </p>
      ) : (
        <ul className="divide-y divide-line">
          {items.slice(0, ROWS_SHOWN).map(({ atMs, user, token, operation, permission, name, count }) => (
            <li key={`${atMs} ${user} ${operation} ${name ?? ""}`} className="px-4 py-2">
              <p>
                <span className="font-medium">{user}</span>
                {token === null ? "" : ` (token ${token})`}: <span className="font-mono text-xs">{operation}</span>
                {name === null ? "" : ` of ${name}`}
                {count === 1 ? "" : `, ${grouped(count)} times`}
              </p>
              <p className="text-ink-2">
                <Moment atMs={atMs} />; needs <span className="font-mono text-xs">{permission}</span>
              </p>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
