/** History of a workload: decisions and events, newest first. */
import type { EvictionPlan } from "@headroom/protocol";
import { teamSharesOf, type StoryLine } from "@headroom/views";
import { useState } from "react";
import type { ReactElement } from "react";
import { Button } from "../../../parts/button.tsx";
import { Panel } from "../../../parts/page.tsx";
import { Moment } from "../../../parts/time-text.tsx";
import type { WorkloadHistory } from "./use-history.ts";

/** Number of lines shown at first: more would push the logs out of sight. */
const SHOWN_FIRST = 8;

export function StoryPanel({ history }: { readonly history: WorkloadHistory }): ReactElement {
  const [isAll, setIsAll] = useState(false);
  const { story, isLoading, isCut } = history;
  const newestFirst = story.toReversed();
  const shown = isAll ? newestFirst : newestFirst.slice(0, SHOWN_FIRST);
  return (
    <Panel title="What happened">
      <ol className="divide-y divide-line">
        {shown.map((line) => (
          <Line key={line.sequence} line={line} />
        ))}
      </ol>
      {shown.length < story.length ? (
        <div className="border-t border-line px-4 py-2">
          <Button look="quiet" onClick={() => setIsAll(true)}>
            Show {story.length - shown.length} earlier
          </Button>
        </div>
      ) : null}
      {isLoading && story.length === 0 ? <p className="px-4 py-3 text-ink-2">Reading events.</p> : null}
      {isCut ? (
        <p className="border-t border-line px-4 py-2 text-xs text-ink-3">Its beginning is no longer kept.</p>
      ) : null}
    </Panel>
  );
}

function Line({ line }: { readonly line: StoryLine }): ReactElement {
  return (
    <li className="grid gap-x-4 gap-y-0.5 px-4 py-2 sm:grid-cols-[9rem_1fr]">
      <span className="text-ink-3">
        <Moment atMs={line.atMs} />
      </span>
      <span>{line.sentence}</span>
      {line.plan === undefined ? null : <TeamShares plan={line.plan} />}
    </li>
  );
}

const TEAM_SHARES_SHOWN = 12;

/** Recorded shares of both teams, relative to their entitlements, without and with the eviction plan. */
function TeamShares({ plan }: { readonly plan: EvictionPlan }): ReactElement | null {
  const rows = teamSharesOf(plan);
  if (rows.length === 0) return null;
  return (
    <ul aria-label="Shares of both teams" className="text-xs text-ink-3 sm:col-start-2">
      {rows.slice(-TEAM_SHARES_SHOWN).map(({ side, team, who, before, after, ground }) => (
        <li key={`${side} ${who}`}>
          {team} {side === "gets" ? "gets the place" : "gives"} ({who}): {before} to {after} of its entitlement
          {ground === "" ? "" : `, ${ground}`}
        </li>
      ))}
      {rows.length > TEAM_SHARES_SHOWN ? <li>{rows.length - TEAM_SHARES_SHOWN} more give capacity.</li> : null}
    </ul>
  );
}
