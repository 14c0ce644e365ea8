/** Slow ranks of a running gang, and the resource that bounds its steps. */
import type { AttemptPerformance } from "@headroom/protocol";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { performanceQuery } from "../../data/queries.ts";
import { Panel } from "../../parts/page.tsx";
import { Moment } from "../../parts/time-text.tsx";

/** Interval in ms. A slow rank is named within some seconds. */
const POLL_MS = 5_000;

export function PerformancePanel({ workloadId }: { readonly workloadId: string }): ReactElement | null {
  const { data } = useQuery({
    ...performanceQuery(useClient(), workloadId),
    refetchInterval: POLL_MS,
    retry: false,
  });
  const items = data?.items ?? [];
  if (items.length === 0) return null;
  const isSlow = items.some(({ stragglers }) => (stragglers?.ranks.length ?? 0) > 0);
  return (
    <Panel title="Stragglers and bottleneck" {...(isSlow ? { className: "border-l-2 border-l-wait" } : {})}>
      {items.map((item) => (
        <Attempt key={item.attemptId} item={item} isAlone={items.length === 1} />
      ))}
    </Panel>
  );
}

function Attempt({ item, isAlone }: { readonly item: AttemptPerformance; readonly isAlone: boolean }): ReactElement {
  const { attemptId, sentences, stragglers } = item;
  const ranks = stragglers?.ranks ?? [];
  // Slow ranks are rows of the table.
  const shown = sentences.slice(ranks.length);
  return (
    <section aria-label={`Attempt ${attemptId}`} className="px-4 py-2">
      {isAlone ? null : <h3 className="text-xs text-ink-3">{attemptId}</h3>}
      {ranks.length === 0 ? null : (
        <table aria-label="Slow ranks" className="w-full text-left">
          <thead className="text-xs text-ink-3">
            <tr>
              {["Slow rank", "Node", "Slower", "Since"].map((title) => (
                <th key={title} scope="col" className="py-1 font-medium">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {ranks.map(({ rank, nodeId, slowerPercent, sinceStep, sinceMs, part }) => (
              <tr key={rank} data-row>
                <th scope="row" className="py-1 font-normal">
                  {rank}
                </th>
                <td>
                  {nodeId === null ? (
                    "–"
                  ) : (
                    <Link to="/" search={{ node: nodeId }} className="underline">
                      {nodeId}
                    </Link>
                  )}
                </td>
                <td>
                  {`${slowerPercent}%`}
                  {part === undefined ? null : `, ${part.name} ${part.slowerPercent}%`}
                </td>
                <td>
                  step {sinceStep}, <Moment atMs={sinceMs} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {shown.map((sentence) => (
        <p key={sentence} className="break-words text-ink-2">
          {sentence}
        </p>
      ))}
    </section>
  );
}
