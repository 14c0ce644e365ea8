import type { Verdict } from "@headroom/protocol";
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

/** Kinds of event as phrases for "Will be re-checked when …". */
const wakeWords: Readonly<Record<string, string>> = {
  attemptEnded: "something that runs ends",
  workersLeft: "workers that were asked to leave have left",
  joinFailed: "further workers of something do not come",
  nominationWithdrawn: "a place kept for something is given up",
  nodeJoined: "a node joins",
  nodeChanged: "a node changes",
  nodeReturned: "a lost node comes back",
  nodeResumed: "a drained node is resumed",
  hotSpareReleased: "a spare is one no more",
  policySet: "the policy changes",
  teamDefined: "a team's limit changes",
  workloadEnded: "a workload ends",
  workloadStopRequested: "a workload is stopped",
};

/**
 * Why it waits: every reason in numbers, the dominant one first, when it is checked again, and the expected start on
 * request.
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
  const wakes = verdict.wakeOn.flatMap((kind) => wakeWords[kind] ?? []);
  return (
    <>
      <ul className="divide-y divide-line">
        {verdict.reasons.map((reason, index) => {
          const { word, amounts } = reasonBrief(reason);
          return (
            <li key={index} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 px-4 py-2.5">
              <span className="w-24 shrink-0 text-xs font-medium text-wait">{word}</span>
              <span className="min-w-0 flex-1 basis-72 text-base">{reason.sentence}</span>
              <span className="text-xs text-ink-3">{amounts}</span>
            </li>
          );
        })}
      </ul>
      {wakes.length === 0 ? null : (
        <p className="border-t border-line px-4 py-2 text-xs text-ink-2">This can change when {listText(wakes)}.</p>
      )}
    </>
  );
}

const listText = (parts: readonly string[]): string =>
  parts.length < 2 ? (parts[0] ?? "") : `${parts.slice(0, -1).join(", ")} or ${parts.at(-1) ?? ""}`;
