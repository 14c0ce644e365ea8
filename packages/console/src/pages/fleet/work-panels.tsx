/** Panels beside the map: recent starts and the head of the queue, with links to the full lists. */
import type { QueueEntry, WorkloadSummary } from "@headroom/protocol";
import { grouped } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import { useClient } from "../../connect/session.ts";
import { firstInQueueQuery, newestRunningQuery } from "../../data/queries.ts";
import { gangText, percentText } from "../../format/amounts.ts";
import { changesQueue, changesWorkloads } from "../../live/interest.ts";
import { REPORTS_POLL_MS, useLiveQuery } from "../../live/use-live-query.ts";
import { Panel } from "../../parts/page.tsx";
import { Span } from "../../parts/time-text.tsx";
import { reasonBrief } from "../queue/queue-reason.ts";

/** Minimum interval in ms between fetches. These lists can lag a little behind the map. */
const EVERY_MS = 2_000;

const linkClass = "text-xs text-ink-2 underline decoration-line-strong underline-offset-2 hover:text-ink";

export function RunningPanel(): ReactElement | null {
  const query = newestRunningQuery(useClient());
  const { data } = useQuery(query);
  useLiveQuery({ queryKey: query.queryKey, matters: changesWorkloads, everyMs: EVERY_MS, pollMs: REPORTS_POLL_MS });
  if (data === undefined) return null;
  return (
    <Panel
      title="Running"
      aside={
        <Link to="/workloads" search={{ phase: "running" }} className={linkClass}>
          All running work
        </Link>
      }
    >
      <Rows isEmpty={data.items.length === 0} emptyText="Nothing runs.">
        {data.items.map((workload) => (
          <li key={workload.id} className="flex flex-wrap items-baseline gap-x-3 px-4 py-2">
            <WorkloadLink workload={workload} />
            <span className="shrink-0 text-ink-3">{gangText(workload.gang)}</span>
            <span className="ml-auto shrink-0 text-ink-2">{progressText(workload)}</span>
            <span className="w-20 shrink-0 text-right text-ink-3">
              {workload.firstStartedAtMs === null ? "–" : <Span fromMs={workload.firstStartedAtMs} />}
            </span>
          </li>
        ))}
      </Rows>
    </Panel>
  );
}

export function NextPanel(): ReactElement | null {
  const query = firstInQueueQuery(useClient());
  const { data } = useQuery(query);
  useLiveQuery({ queryKey: query.queryKey, matters: changesQueue, everyMs: EVERY_MS });
  if (data === undefined) return null;
  return (
    <Panel
      title="First in the queue"
      aside={
        <Link to="/queue" className={linkClass}>
          All {grouped(data.waiting.workloads)} that wait
        </Link>
      }
    >
      <Rows isEmpty={data.items.length === 0} emptyText="Nothing waits.">
        {data.items.map((entry) => (
          <NextRow key={entry.workload.id} entry={entry} />
        ))}
      </Rows>
    </Panel>
  );
}

function NextRow({ entry: { workload, reason } }: { readonly entry: QueueEntry }): ReactElement {
  return (
    <li className="flex flex-wrap items-baseline gap-x-3 px-4 py-2">
      <WorkloadLink workload={workload} />
      <span className="shrink-0 text-ink-3">{gangText(workload.gang)}</span>
      <span className="ml-auto text-wait" title={reason?.sentence}>
        {reasonBrief(reason).word}
      </span>
      <span className="w-20 shrink-0 text-right text-ink-3">
        <Span fromMs={workload.submittedAtMs} />
      </span>
    </li>
  );
}

interface RowsProps {
  readonly isEmpty: boolean;
  readonly emptyText: string;
  readonly children: ReactNode;
}

function Rows({ isEmpty, emptyText, children }: RowsProps): ReactElement {
  return isEmpty ? (
    <p className="px-4 py-3 text-ink-2">{emptyText}</p>
  ) : (
    <ul className="divide-y divide-line">{children}</ul>
  );
}

function WorkloadLink({ workload }: { readonly workload: WorkloadSummary }): ReactElement {
  return (
    <Link
      to="/workloads/$workloadId"
      params={{ workloadId: workload.id }}
      className="max-w-full truncate font-medium hover:underline"
      title={workload.name}
    >
      {workload.name}
    </Link>
  );
}

function progressText({ kind, tasks, progress, replicas }: WorkloadSummary): string {
  if (replicas !== undefined) return `ready ${grouped(replicas.ready)} of ${grouped(replicas.wanted)}`;
  if (kind === "batch") return `${grouped(tasks.succeeded + tasks.failed)} of ${grouped(tasks.total)} tasks`;
  if (progress === null) return "";
  return progress.totalSteps === null
    ? `step ${grouped(progress.step)}`
    : percentText(progress.step, progress.totalSteps);
}
