/** The queue in scheduling order, each entry with its reason in numbers. */
import type { QueueEntry, QueuePage as QueueAnswer } from "@headroom/protocol";
import { grouped, plural } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { policyQuery } from "../../data/queries.ts";
import { usePagedList, type PagedList } from "../../data/use-paged-list.ts";
import { gangSentence, gangText } from "../../format/amounts.ts";
import { changesQueue } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { SearchInput } from "../../parts/controls.tsx";
import { TeamFilter } from "../../parts/team-filter.tsx";
import { Page } from "../../parts/page.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { Span } from "../../parts/time-text.tsx";
import { VirtualTable, type Column } from "../../parts/virtual-table.tsx";
import type { QueueSearch } from "../../routes/search-params.ts";
import { matchesQueueFilter, reasonBrief } from "./queue-reason.ts";

const route = getRouteApi("/queue");
const QUEUE_KEY = ["queue"];
const idOf = ({ workload }: QueueEntry): string => workload.id;

interface QueueRow {
  readonly entry: QueueEntry;
  /** Its position in the unfiltered list. */
  readonly index: number;
}

export function QueuePage(): ReactElement {
  const client = useClient();
  const { team, search } = route.useSearch();
  const isFiltered = team !== undefined || search !== undefined;
  const list = usePagedList<QueueEntry, QueueAnswer>({
    queryKey: QUEUE_KEY,
    fetchPage: (page, signal) => client.queue(page, { signal }),
    idOf,
    isAllWanted: isFiltered,
  });
  useLiveQuery({ queryKey: QUEUE_KEY, matters: changesQueue });
  const rows = useMemo(
    () =>
      list.items.flatMap((entry, index): QueueRow[] =>
        matchesQueueFilter(entry, { team, search }) ? [{ entry, index }] : [],
      ),
    [list.items, team, search],
  );
  return (
    <Page
      title="Queue"
      layout="fill"
      summary={<QueueSummary list={list} shownCount={isFiltered ? rows.length : null} />}
      toolbar={<Filters />}
    >
      <QueueTable list={list} rows={rows} isFiltered={isFiltered} />
    </Page>
  );
}

interface QueueSummaryProps {
  readonly list: PagedList<QueueEntry, QueueAnswer>;
  /** `null`: no filter is set. */
  readonly shownCount: number | null;
}

function QueueSummary({ list, shownCount }: QueueSummaryProps): ReactElement {
  const { data: policy } = useQuery(policyQuery(useClient()));
  if (list.head === undefined) return <>In the order of the policy, each with its reason</>;
  const { workloads, tasks, accelerators } = list.head.waiting;
  const total = `${plural(workloads, "workload")}, ${plural(tasks, "task")}, ${plural(accelerators, "accelerator")} wanted`;
  const found =
    shownCount === null
      ? ""
      : ` ${grouped(shownCount)} match${shownCount === 1 ? "es" : ""} the filter${list.isComplete ? "" : ` in the first ${grouped(list.items.length)}`}.`;
  return (
    <p>
      {total}. Policy{" "}
      <Link to="/policy" className="underline decoration-line-strong underline-offset-2 hover:text-ink">
        {policy?.name ?? "…"}
      </Link>
      .<span role="status">{found}</span>
    </p>
  );
}

function Filters(): ReactElement {
  const { team, search } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<QueueSearch>): void =>
    void navigate({ search: (now) => ({ ...now, ...next }), replace: true });
  return (
    <>
      <SearchInput
        label="Name, person or reason"
        className="w-full sm:w-72"
        defaultValue={search ?? ""}
        onValue={(value) => change({ search: value.trim() === "" ? undefined : value.trim() })}
      />
      <TeamFilter team={team} onTeam={(chosen) => change({ team: chosen })} />
    </>
  );
}

interface QueueTableProps {
  readonly list: PagedList<QueueEntry, QueueAnswer>;
  readonly rows: readonly QueueRow[];
  readonly isFiltered: boolean;
}

function QueueTable({ list, rows, isFiltered }: QueueTableProps): ReactElement {
  const { show } = list;
  const onShow = useCallback(
    (first: number, last: number) => show(rows[first]?.index ?? 0, rows[last]?.index ?? 0),
    [show, rows],
  );
  if (list.head === undefined) {
    return list.error === null ? (
      <Loading label="Loading the queue" rows={12} />
    ) : (
      <Failure error={list.error} onRetry={list.retry} />
    );
  }
  if (rows.length === 0 && list.isComplete) {
    return isFiltered ? (
      <Empty icon="search" title="Nothing that waits matches">
        <p>Take the filter away to see the whole queue.</p>
      </Empty>
    ) : (
      <Empty icon="check" title="Nothing waits">
        <p>Whatever was submitted runs or has ended.</p>
      </Empty>
    );
  }
  return (
    <div className="flex h-full flex-col">
      {list.error === null ? null : <StaleNotice error={list.error} />}
      <div className="min-h-0 flex-1">
        <VirtualTable
          label="Queue"
          rows={rows}
          rowCount={isFiltered ? rows.length : list.head.waiting.workloads}
          keyOf={({ entry }) => entry.workload.id}
          columns={columns}
          template="grid-cols-[2.5rem_1fr_auto] md:grid-cols-[3rem_minmax(9rem,1.1fr)_minmax(7rem,0.8fr)_4.5rem_6rem_6.5rem_minmax(0,3fr)]"
          onShow={onShow}
          footer={
            list.isComplete ? null : (
              <p role="status" className="px-4 py-3 text-ink-2 md:px-6">
                {grouped(list.items.length)} of {grouped(list.head.waiting.workloads)} loaded
              </p>
            )
          }
          rowHeightPx={44}
        />
      </div>
    </div>
  );
}

const columns: readonly Column<QueueRow>[] = [
  { id: "position", header: "#", className: "text-ink-3", cell: ({ entry }) => grouped(entry.position + 1) },
  {
    id: "name",
    header: "Workload",
    cell: ({ entry: { workload, reason } }) => (
      <>
        <Link
          to="/workloads/$workloadId"
          params={{ workloadId: workload.id }}
          className="block truncate font-medium hover:underline"
        >
          {workload.name}
        </Link>
        <span className="block truncate text-xs text-ink-2 md:hidden">
          {reason?.sentence ?? "It starts within a moment."}
        </span>
      </>
    ),
  },
  { id: "team", header: "Team", className: "hidden md:block text-ink-2", cell: ({ entry }) => entry.workload.team },
  {
    id: "gang",
    header: "Gang",
    className: "hidden md:block",
    cell: ({ entry }) => <span title={gangSentence(entry.workload.gang)}>{gangText(entry.workload.gang)}</span>,
  },
  {
    id: "waiting",
    header: "Waiting",
    className: "text-right md:text-left",
    cell: ({ entry }) => <Span fromMs={entry.workload.submittedAtMs} />,
  },
  {
    id: "kind",
    header: "Needs / has",
    className: "hidden md:block",
    cell: ({ entry }) => {
      const { word, amounts } = reasonBrief(entry.reason);
      return (
        <>
          <span className={`block truncate text-xs font-medium ${entry.reason === null ? "text-run" : "text-wait"}`}>
            {word}
          </span>
          <span className="block truncate text-xs text-ink-3">{amounts}</span>
        </>
      );
    },
  },
  {
    id: "reason",
    header: "Why it waits",
    className: "hidden md:block",
    isWrapping: true,
    cell: ({ entry: { reason } }) => (
      <span className="line-clamp-2" title={reason?.sentence}>
        {reason?.sentence ?? "It fits and starts within a moment."}
      </span>
    ),
  },
];
