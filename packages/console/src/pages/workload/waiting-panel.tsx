import type { Verdict } from "@headroom/protocol";
import { wakeSentence } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { verdictQuery } from "../../data/queries.ts";
import { changesQueue } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Panel } from "../../parts/page.tsx";
import { reasonBrief } from "../queue/queue-reason.ts";
import { StartForecast } from "./start-forecast.tsx";

type Blocked = Verdict & { readonly kind: "blocked" };

/**
 * Shows why the workload waits: every reason in numbers, with the main one first; when they are checked again; and on
 * request the expected start.
 */
export function WaitingPanel({ workloadId }: { readonly workloadId: string }): ReactElement | null {
  const query = verdictQuery(useClient(), workloadId);
  const { data } = useQuery(query);
  useLiveQuery({ queryKey: query.queryKey, matters: changesQueue });
  if (data === undefined || data.kind === "notWaiting") return null;
  const isBlocked = data.kind === "blocked";
  return (
    <Panel title="Why it waits" className={isBlocked ? "border-l-2 border-l-wait" : ""}>
      {isBlocked ? <Reasons verdict={data} /> : <p className="px-4 py-3">{data.sentence}</p>}
      <StartForecast workloadId={workloadId} />
    </Panel>
  );
}

function Reasons({ verdict }: { readonly verdict: Blocked }): ReactElement {
  const wake = wakeSentence(verdict.wakeOn);
  return (
    <>
      <ul className="divide-y divide-line">
        {verdict.reasons.map((reason, index) => {
          const { word, named } = reasonBrief(reason);
          return (
            <li key={index} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 px-4 py-2.5">
              <span className="w-24 shrink-0 text-xs font-medium text-wait">{word}</span>
              <span className="min-w-0 flex-1 basis-72 text-base">{reason.sentence}</span>
              <span className="text-xs text-ink-3">{named}</span>
            </li>
          );
        })}
      </ul>
      {wake === null ? null : <p className="border-t border-line px-4 py-2 text-xs text-ink-2">{wake}</p>}
    </>
  );
}
