/** The queue in scheduling order. Each entry shows its reason in numbers. */
import type { QueueEntry, QueuePage as QueueAnswer, StartEstimate } from "@headroom/protocol";
import { grouped, plural, spanText } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { policyQuery } from "../../data/queries.ts";
import { useNow } from "../../connect/use-now.ts";
import { usePagedList, type PagedList } from "../../data/use-paged-list.ts";
import { gangSentence, gangText } from "../../format/amounts.ts";
import { momentText } from "../../format/moment.ts";
import { changesQueue } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { SearchInput } from "../../parts/controls.tsx";
import { TeamFilter } from "../../parts/team-filter.tsx";
import { Page } from "../../parts/page.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { Moment, Span } from "../../parts/time-text.tsx";
import { VirtualTable, type Column } from "../../parts/virtual-table.tsx";
import type { QueueSearch } from "../../routes/search-params.ts";
import { foldedRows, type QueueRow } from "./folded-rows.ts";
import { matchesQueueFilter, reasonBrief } from "./queue-reason.ts";

const route = getRouteApi("/queue");
const QUEUE_KEY = ["queue"];
const idOf = ({ workload }: QueueEntry): string => workload.id;

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
  const [isFolding, setIsFolding] = useState(true);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const matching = useMemo(
    () => list.items.flatMap((entry, index) => (matchesQueueFilter(entry, { team, search }) ? [{ entry, index }] : [])),
    [list.items, team, search],
  );
  const rows = useMemo(
    () => (isFolding ? foldedRows(matching, opened) : matching.map((each) => ({ ...each, alike: [] }))),
    [matching, opened, isFolding],
  );
  const hiddenCount = matching.length - rows.length;
  const starts = useExpectedStarts();
  return (
    <Page
      title="Queue"
      layout="fill"
      summary={<QueueSummary list={list} shownCount={isFiltered ? matching.length : null} />}
      toolbar={<Filters isFolding={isFolding} onFolding={setIsFolding} />}
    >
      <QueueTable
        list={list}
        rows={rows}
        hiddenCount={hiddenCount}
        isFiltered={isFiltered}
        columns={queueColumns({ starts, open: (id) => setOpened((now) => new Set([...now, id])) })}
      />
    </Page>
  );
}

interface QueueSummaryProps {
  readonly list: PagedList<QueueEntry, QueueAnswer>;
  /** Number of entries that match the filter; `null`: no filter is set. */
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

interface FiltersProps {
  readonly isFolding: boolean;
  readonly onFolding: (isFolding: boolean) => void;
}

function Filters({ isFolding, onFolding }: FiltersProps): ReactElement {
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
      <label className="flex items-center gap-2 text-ink-2">
        <input
          type="checkbox"
          className="accent-accent"
          checked={isFolding}
          onChange={({ target }) => onFolding(target.checked)}
        />
        Fold identical reasons
      </label>
    </>
  );
}

interface QueueTableProps {
  readonly list: PagedList<QueueEntry, QueueAnswer>;
  readonly rows: readonly QueueRow[];
  /** Number of entries that are folded into other rows. */
  readonly hiddenCount: number;
  readonly isFiltered: boolean;
  readonly columns: readonly Column<QueueRow>[];
}

function QueueTable({ list, rows, hiddenCount, isFiltered, columns }: QueueTableProps): ReactElement {
  const { show } = list;
  const onShow = useCallback(
    (first: number, last: number) =>
      show(rows[first]?.index ?? 0, (rows[last]?.index ?? 0) + (rows[last]?.alike.length ?? 0)),
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
        <p>All submitted work is running or has ended.</p>
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
          rowCount={isFiltered ? rows.length : list.head.waiting.workloads - hiddenCount}
          keyOf={({ entry }) => entry.workload.id}
          columns={columns}
          template="grid-cols-[2.5rem_minmax(0,1fr)_auto] lg:grid-cols-[2.5rem_minmax(0,1fr)_4rem_5rem_7rem_minmax(0,1.6fr)] xl:grid-cols-[2.5rem_minmax(0,1fr)_4rem_5rem_7rem_6.5rem_minmax(0,1.6fr)]"
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

const sizeColumns: readonly Column<QueueRow>[] = [
  {
    id: "gang",
    header: "Gang",
    className: "hidden lg:block",
    cell: ({ entry }) => <span title={gangSentence(entry.workload.gang)}>{gangText(entry.workload.gang)}</span>,
  },
];

const reasonColumns: readonly Column<QueueRow>[] = [
  {
    id: "kind",
    header: "Needs / has",
    className: "hidden xl:block",
    cell: ({ entry }) => {
      const { word, amounts } = reasonBrief(entry.reason);
      return (
        <>
          <span className={`block text-xs font-medium ${entry.reason === null ? "text-run" : "text-wait"}`}>
            {word}
          </span>
          <span className="block text-xs text-ink-3">{amounts}</span>
        </>
      );
    },
  },
  {
    id: "reason",
    header: "Why it waits",
    className: "hidden lg:block",
    cell: ({ entry: { reason } }) => reason?.sentence ?? "It fits and starts within a moment.",
  },
];

interface ColumnNeeds {
  readonly starts: ReadonlyMap<string, StartEstimate> | null;
  readonly open: (id: string) => void;
}

const queueColumns = ({ starts, open }: ColumnNeeds): readonly Column<QueueRow>[] => [
  { id: "position", header: "#", className: "text-ink-3", cell: ({ entry }) => grouped(entry.position + 1) },
  {
    id: "name",
    header: "Workload",
    cell: ({ entry: { workload, reason }, alike }) => (
      <>
        <span className="flex flex-wrap items-center gap-x-2">
          <Link
            to="/workloads/$workloadId"
            params={{ workloadId: workload.id }}
            className="min-w-0 font-medium hover:underline"
          >
            {workload.name}
          </Link>
          {alike.length === 0 ? null : (
            <button
              type="button"
              className="min-h-6 shrink-0 rounded-sm bg-accent-soft px-1.5 text-xs text-accent hover:underline"
              onClick={() => open(workload.id)}
            >
              and {grouped(alike.length)} alike
            </button>
          )}
        </span>
        <span className="block text-xs text-ink-2">
          <span>{workload.team}</span>, <span>{workload.actor}</span>
        </span>
        <span className="block text-xs text-ink-2 lg:hidden">{reason?.sentence ?? "It starts within a moment."}</span>
      </>
    ),
  },
  ...sizeColumns,
  {
    id: "waiting",
    header: "Waiting",
    className: "text-right lg:text-left",
    cell: ({ entry }) => (
      <>
        <Span fromMs={entry.workload.submittedAtMs} />
        <span className="block text-xs text-ink-2 lg:hidden">
          <span className="sr-only">expected start </span>
          <ExpectedStartCell entry={entry} starts={starts} isBrief />
        </span>
      </>
    ),
  },
  {
    id: "start",
    header: "Expected start",
    className: "hidden lg:block",
    cell: ({ entry }) => <ExpectedStartCell entry={entry} starts={starts} />,
  },
  ...reasonColumns,
];

interface ExpectedStartCellProps {
  readonly entry: QueueEntry;
  readonly starts: ReadonlyMap<string, StartEstimate> | null;
  /** Whether the text is on a separate line below another value. */
  readonly isBrief?: boolean;
}

function ExpectedStartCell({ entry, starts, isBrief = false }: ExpectedStartCellProps): ReactElement {
  const nowMs = useNow();
  const ordered = starts?.get(entry.workload.id)?.expectedCapacity;
  if (entry.neverStarts === true && ordered !== undefined)
    return (
      <span title={ordered.sentence}>
        {ordered.p50AtMs <= nowMs ? "order is late" : `order in ${spanText(ordered.p50AtMs - nowMs)}`}
      </span>
    );
  if (entry.neverStarts === true)
    return isBrief ? <span className="text-bad">cannot start</span> : <Badge tone="bad">Cannot start</Badge>;
  const estimate = starts?.get(entry.workload.id);
  if (estimate === undefined) return <span className="text-ink-3">{starts === null ? "…" : "–"}</span>;
  if (estimate.p50AtMs === null) return <span className="text-ink-3">beyond forecast</span>;
  // Forecasts are fetched rarely, so the expected time can pass before the next one.
  if (estimate.p50AtMs <= nowMs) return <span title={estimate.sentence}>any moment</span>;
  if (isBrief) return <>starts {momentText(estimate.p50AtMs, nowMs)}</>;
  return (
    <span title={estimate.sentence}>
      <Moment atMs={estimate.p50AtMs} />
    </span>
  );
}

/** Interval between forecasts in ms. A forecast simulates the whole fleet and covers all rows. */
const FORECAST_EVERY_MS = 60_000;
const FORECASTS_MAX = 500;
/** Delay in ms before the first forecast, so that no forecast is made for a page that the user leaves at once. */
const GLANCE_MS = 1_000;

function unlessLeft(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, GLANCE_MS);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error("the queue was left"));
    });
  });
}

/** Expected starts by workload; `null`: no forecast has arrived yet. */
function useExpectedStarts(): ReadonlyMap<string, StartEstimate> | null {
  const client = useClient();
  const queryKey = ["expected starts"];
  const { data, error } = useQuery({
    queryKey,
    queryFn: async ({ signal }) => {
      await unlessLeft(signal);
      return client.expectedStarts({ limit: FORECASTS_MAX }, { signal });
    },
    retry: false,
  });
  useLiveQuery({ queryKey, matters: changesQueue, everyMs: FORECAST_EVERY_MS });
  return useMemo(() => {
    if (data === undefined) return error === null ? null : new Map();
    return new Map(data.items.map(({ workload, estimate }) => [workload.id, estimate]));
  }, [data, error]);
}
