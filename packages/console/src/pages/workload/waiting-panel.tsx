import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { verdictQuery } from "../../data/queries.ts";
import { changesQueue } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Panel } from "../../parts/page.tsx";
import { reasonBrief } from "../queue/queue-reason.ts";

/** Kinds of event as people say them, for "this could change when …". */
const wakeWords: Readonly<Record<string, string>> = {
  attemptEnded: "something that runs ends",
  nodeJoined: "a node joins",
  nodeChanged: "a node changes",
  nodeReturned: "a lost node comes back",
  nodeResumed: "a drained node is resumed",
  policySet: "the policy changes",
  teamDefined: "a team's limit changes",
  workloadEnded: "a workload ends",
  workloadStopRequested: "a workload is stopped",
};

/** Why it waits: every reason in numbers, the one to act on first, and what could change it. */
export function WaitingPanel({ workloadId }: { readonly workloadId: string }): ReactElement | null {
  const query = verdictQuery(useClient(), workloadId);
  const { data } = useQuery(query);
  useLiveQuery({ queryKey: query.queryKey, matters: changesQueue });
  if (data === undefined || data.kind === "notWaiting") return null;
  if (data.kind === "placeable") {
    return (
      <Panel title="Why it waits">
        <p className="px-4 py-3">{data.sentence}</p>
      </Panel>
    );
  }
  const wakes = data.wakeOn.map((kind) => wakeWords[kind] ?? kind);
  return (
    <Panel title="Why it waits" className="border-l-2 border-l-wait">
      <ul className="divide-y divide-line">
        {data.reasons.map((reason, index) => {
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
    </Panel>
  );
}

const listText = (parts: readonly string[]): string =>
  parts.length < 2 ? (parts[0] ?? "") : `${parts.slice(0, -1).join(", ")} or ${parts.at(-1) ?? ""}`;
