/** Lists schedules: what they submit, their next due times, and the results of the last ones. */
import type { ScheduleItem } from "@headroom/protocol";
import { cronText, fromDueSentence } from "@headroom/views";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { Panel } from "../../parts/page.tsx";
import { Badge, PhaseBadge } from "../../parts/phase-badge.tsx";
import { Moment } from "../../parts/time-text.tsx";

export function SchedulesPanel({ items }: { readonly items: readonly ScheduleItem[] }): ReactElement {
  return (
    <Panel title="Schedules">
      {items.length === 0 ? (
        <p className="px-4 py-3 text-ink-2">
          No schedules. Apply a document of kind <code className="font-mono text-xs">schedule</code> with a cron
          expression and a workload.
        </p>
      ) : (
        <ul className="divide-y divide-line">
          {items.map((item) => (
            <ScheduleRow key={item.schedule.name} item={item} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

const whileRunning: Readonly<Record<ScheduleItem["schedule"]["concurrency"], string>> = {
  allow: "Runs may overlap.",
  forbid: "A run is skipped while the last one has not ended.",
  replace: "A run replaces the last one if it has not ended.",
};

const NEXT_SHOWN = 3;

function ScheduleRow({ item }: { readonly item: ScheduleItem }): ReactElement {
  const { schedule, cron, actor, nextAtsMs } = item;
  const words = cronText(cron);
  const terms = fromDueSentence(schedule.fromDue);
  return (
    <li className="grid gap-x-6 gap-y-2 px-4 py-3 md:grid-cols-[15rem_12rem_1fr]">
      <div className="min-w-0">
        <h3 className="font-medium break-words">{schedule.name}</h3>
        <p className="mt-0.5 text-ink-2">
          {words === null ? "" : `${words} UTC `}
          <code className={`font-mono text-xs ${words === null ? "" : "block text-ink-3"}`}>{cron}</code>
          {words === null ? " UTC" : ""}
        </p>
        <p className="mt-0.5 text-xs text-ink-3">
          Submits {schedule.spec.name} for {schedule.spec.team}. Declared by {actor}.{" "}
          {whileRunning[schedule.concurrency]}
        </p>
        {terms === null ? null : <p className="mt-0.5 text-xs text-ink-3">{terms}</p>}
      </div>
      <div>
        <h4 className="text-xs text-ink-3">Next</h4>
        {nextAtsMs.length === 0 ? <p className="text-ink-2">never</p> : null}
        <ul>
          {nextAtsMs.slice(0, NEXT_SHOWN).map((atMs) => (
            <li key={atMs}>
              <Moment atMs={atMs} />
            </li>
          ))}
        </ul>
      </div>
      <div className="min-w-0">
        <h4 className="text-xs text-ink-3">Last</h4>
        <LastRuns name={schedule.spec.name} runs={item.runs} lastWorkloadId={item.lastWorkloadId} />
      </div>
    </li>
  );
}

interface LastRunsProps extends Pick<ScheduleItem, "runs" | "lastWorkloadId"> {
  /** The name that every workload of the schedule gets. */
  readonly name: string;
}

function LastRuns({ name, runs, lastWorkloadId }: LastRunsProps): ReactElement {
  // Older versions kept only the last run.
  if (runs.length === 0 && lastWorkloadId !== undefined) return <WorkloadLink id={lastWorkloadId} name={name} />;
  if (runs.length === 0) return <p className="text-ink-2">It was not due yet.</p>;
  return (
    <ul>
      {runs.map(({ dueAtMs, workloadId, left, phase }) => (
        <li key={dueAtMs} className="flex min-h-6 flex-wrap items-baseline gap-x-2">
          <Moment atMs={dueAtMs} />
          {workloadId === null ? (
            <>
              <Badge tone="idle">Skipped</Badge>
              <span className="text-ink-3">{left}</span>
            </>
          ) : (
            <>
              {phase === undefined ? null : <PhaseBadge phase={phase} />}
              <WorkloadLink id={workloadId} name={name} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function WorkloadLink({ id, name }: { readonly id: string; readonly name: string }): ReactElement {
  return (
    <Link to="/workloads/$workloadId" params={{ workloadId: id }} className="font-medium hover:underline">
      {name}
    </Link>
  );
}
