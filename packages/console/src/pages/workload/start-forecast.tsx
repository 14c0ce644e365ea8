import type { StartEstimate, StartingChange } from "@headroom/protocol";
import { anyOneStartsIt, beyondPlayed, estimateBounds, noneStartsIt } from "@headroom/views";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement, ReactNode } from "react";
import { useClient } from "../../connect/session.ts";
import { startEstimateQuery, startingChangesQuery } from "../../data/queries.ts";
import { problemText } from "../../format/problem-text.ts";
import { Button } from "../../parts/button.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/states.tsx";
import { Moment } from "../../parts/time-text.tsx";

/**
 * Shows the expected start at once. Changes that would start the workload now are computed on request, because each is
 * tried on a fork, which takes seconds on a large fleet.
 */
export function StartForecast({ workloadId }: { readonly workloadId: string }): ReactElement {
  const client = useClient();
  const [isAsked, setIsAsked] = useState(false);
  const estimate = useQuery(startEstimateQuery(client, workloadId));
  const changes = useQuery({ ...startingChangesQuery(client, workloadId), enabled: isAsked });
  const isAsking = estimate.isFetching || changes.isFetching;
  const askAgain = (): void => {
    if (isAsking) return;
    void estimate.refetch();
    void changes.refetch();
  };
  return (
    <div className="flex flex-col gap-3 border-t border-line px-4 py-3">
      <div aria-live="polite" aria-busy={estimate.isFetching}>
        <Part title="When it will start" query={estimate}>
          {(found) => <Estimate estimate={found} />}
        </Part>
      </div>
      {/* The button stays in place, so that it keeps the focus. While a request runs, the button does nothing. */}
      <Button
        className="self-start max-w-full whitespace-normal!"
        aria-disabled={isAsked && isAsking}
        onClick={isAsked ? askAgain : () => setIsAsked(true)}
      >
        {isAsked && isAsking ? "Asking the scheduler" : isAsked ? "Ask again" : "What would start it now?"}
      </Button>
      {isAsked ? (
        <div aria-live="polite" aria-busy={changes.isFetching}>
          <Part title="Changes that start it now" query={changes}>
            {({ items }) => <Changes items={items} />}
          </Part>
        </div>
      ) : null}
    </div>
  );
}

interface PartProps<Answer> {
  readonly title: string;
  readonly query: UseQueryResult<Answer>;
  readonly children: (answer: Answer) => ReactNode;
}

/** One part of the forecast. Either part can fail without the other, such as an estimate that takes too long. */
function Part<Answer>({ title, query, children }: PartProps<Answer>): ReactElement {
  return (
    <section aria-label={title}>
      <h3 className="text-sm font-semibold">{title}</h3>
      {query.error !== null ? (
        <p role="alert" className="mt-1">
          <span className="font-medium text-bad">{problemText(query.error).title}.</span>{" "}
          {problemText(query.error).detail}
        </p>
      ) : query.data === undefined ? (
        <div className="-mx-4">
          <Loading label={`Loading: ${title}`} rows={2} />
        </div>
      ) : (
        children(query.data)
      )}
    </section>
  );
}

function Estimate({ estimate }: { readonly estimate: StartEstimate }): ReactElement {
  const facts = estimateBounds(estimate).map(({ name, atMs }) => ({
    name,
    value: atMs === null ? beyondPlayed(estimate) : <Moment atMs={atMs} />,
  }));
  return (
    <>
      <p className="mt-1 text-base">{estimate.sentence}</p>
      <div className="-mx-4">
        <Facts facts={[...facts, { name: "as of", value: <Moment atMs={estimate.atMs} /> }]} />
      </div>
    </>
  );
}

function Changes({ items }: { readonly items: readonly StartingChange[] }): ReactElement {
  if (items.length === 0) return <p className="mt-1 text-base">{noneStartsIt}</p>;
  return (
    <>
      <p className="mt-1 text-ink-2">{anyOneStartsIt}</p>
      <ul className="mt-1 divide-y divide-line">
        {items.map(({ change, start }, index) => (
          <li key={index} className="py-1.5">
            <span className="text-base">{change.sentence}</span> <span className="text-ink-2">{start.sentence}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
