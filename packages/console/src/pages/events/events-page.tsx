/** Shows recorded events as they arrive: newest first, each as a sentence, with the complete record on request. */
import type { EventEnvelope } from "@headroom/protocol";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { eventSubjects, eventText, eventTitle, eventTitles, grouped, isInternalEvent } from "@headroom/views";
import { useDeferredValue, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { ReactElement } from "react";
import { useClient, useSession } from "../../connect/session.ts";
import { newestWorkloadsQuery, nodesQuery } from "../../data/queries.ts";
import { dayTimeText } from "../../format/moment.ts";
import { Button } from "../../parts/button.tsx";
import { SearchInput, Select } from "../../parts/controls.tsx";
import { Drawer } from "../../parts/dialog.tsx";
import { Page } from "../../parts/page.tsx";
import { Empty, Loading } from "../../parts/states.tsx";
import { TeamFilter } from "../../parts/team-filter.tsx";
import { Moment } from "../../parts/time-text.tsx";
import { VirtualTable, type Column } from "../../parts/virtual-table.tsx";
import type { EventsSearch } from "../../routes/search-params.ts";
import { eventNames, teamOfEvent, withLocalTimes, withNames, workloadOfEvent, type EventNames } from "./event-names.ts";

const route = getRouteApi("/events");

interface EventRow {
  readonly envelope: EventEnvelope;
  readonly sentence: string;
  readonly workloadId: string | null;
  readonly workloadName: string | null;
  readonly team: string | null;
  readonly open: () => void;
}

export function EventsPage(): ReactElement {
  const search = route.useSearch();
  const live = useRecentEvents();
  const [frozen, setFrozen] = useState<readonly EventEnvelope[] | null>(null);
  const [opened, setOpened] = useState<EventRow | null>(null);
  const events = frozen ?? live.events;
  const names = useEventNames(events ?? []);
  const wanted = useDeferredValue(search);
  const all = useMemo(() => toRows(events ?? [], names, setOpened), [events, names]);
  const rows = useMemo(() => all.filter((row) => matches(row, wanted)), [all, wanted]);
  const hidden = search.internal === true ? 0 : all.filter(({ envelope }) => isInternalEvent(envelope.event)).length;
  return (
    <Page
      title="Events"
      layout="fill"
      summary={<Summary rows={rows} isPaused={frozen !== null} isFiltered={isFiltered(search)} hiddenCount={hidden} />}
      actions={
        <Button
          icon={frozen === null ? "pause" : "play"}
          onClick={() => setFrozen(frozen === null ? (live.events ?? []) : null)}
        >
          {frozen === null ? "Pause" : "Continue"}
        </Button>
      }
      toolbar={<Filters names={names} />}
    >
      {events === null ? (
        <Loading label="Loading events" rows={12} />
      ) : rows.length === 0 ? (
        <Empty icon="events" title={isFiltered(search) ? "No event matches" : "Nothing was recorded yet"}>
          <Older live={live} />
        </Empty>
      ) : (
        <VirtualTable
          label="Events"
          rows={rows}
          rowCount={rows.length}
          keyOf={({ envelope }) => String(envelope.sequence)}
          columns={columns}
          template="grid-cols-[5.5rem_minmax(0,1fr)] md:grid-cols-[7.5rem_8rem_minmax(0,1fr)] lg:grid-cols-[7.5rem_8rem_minmax(0,1fr)_minmax(0,8rem)_minmax(0,9rem)]"
          rowHeightPx={44}
          footer={<Older live={live} />}
        />
      )}
      <Drawer
        isOpen={opened !== null}
        onClose={() => setOpened(null)}
        title={opened === null ? "" : eventTitle(opened.envelope.event.kind).title}
      >
        {opened === null ? null : <Record row={opened} />}
      </Drawer>
    </Page>
  );
}

const isFiltered = ({ kind, team, workload, search }: EventsSearch): boolean =>
  (kind ?? team ?? workload ?? search) !== undefined;

/**
 * Options of the selector. Each subject is followed by the kinds of events about it, so that one selector is enough.
 */
const kindGroups = eventSubjects.map((subject) => ({
  label: subject,
  options: [
    { value: subject, label: `All: ${subject}` },
    ...Object.entries(eventTitles)
      .filter(([, title]) => title.subject === subject)
      .map(([kind, { title }]) => ({ value: kind, label: title }))
      .toSorted((left, right) => (left.label < right.label ? -1 : 1)),
  ],
}));

function Filters({ names }: { readonly names: EventNames }): ReactElement {
  const { search, kind, team, workload, internal } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<EventsSearch>): void =>
    void navigate({ search: (now) => ({ ...now, ...next }), replace: true });
  const orNone = (value: string): string | undefined => (value.trim() === "" ? undefined : value.trim());
  const workloads = [...names.workloads]
    .map(([id, { name }]) => ({ value: id, label: name }))
    .filter(({ value }) => value !== workload)
    .slice(-WORKLOADS_OFFERED_MAX)
    .toReversed();
  return (
    <>
      <SearchInput
        label="Name or text"
        className="w-full sm:w-60"
        defaultValue={search ?? ""}
        onValue={(value) => change({ search: orNone(value) })}
      />
      <Select
        label="Kind"
        value={kind ?? ""}
        options={[{ value: "", label: "All kinds" }]}
        groups={kindGroups}
        onValue={(value) => change({ kind: orNone(value) })}
      />
      <TeamFilter team={team} onTeam={(chosen) => change({ team: chosen })} />
      <Select
        label="Workload"
        className="w-44"
        value={workload ?? ""}
        options={[
          { value: "", label: "All workloads" },
          ...(workload === undefined
            ? []
            : [{ value: workload, label: names.workloads.get(workload)?.name ?? workload }]),
          ...workloads,
        ]}
        onValue={(value) => change({ workload: orNone(value) })}
      />
      <label className="flex items-center gap-2 text-ink-2">
        <input
          type="checkbox"
          className="accent-accent"
          checked={internal === true}
          onChange={({ target }) => change({ internal: target.checked ? true : undefined })}
        />
        Internal events
      </label>
    </>
  );
}

/** Maximum number of workloads in the selector. The search finds others. */
const WORKLOADS_OFFERED_MAX = 200;

function useEventNames(events: readonly EventEnvelope[]): EventNames {
  const client = useClient();
  const { data: nodes } = useQuery(nodesQuery(client));
  const { data: newest } = useQuery(newestWorkloadsQuery(client));
  return useMemo(
    () => eventNames({ events, nodes: nodes ?? [], newest: (newest?.items ?? []).toReversed() }),
    [events, nodes, newest],
  );
}

/** Number of events from before the page was opened. They fill the page on a quiet fleet. */
const PAST = 300;

/** Number of older events that are read each time that the user asks for more. */
const OLDER = 1_000;

interface RecentEvents {
  /** The older events; `null`: they were not read yet. */
  readonly events: readonly EventEnvelope[] | null;
  readonly hasOlder: boolean;
  readonly readOlder: () => void;
}

/** The newest events: past events, then events of the live stream. */
function useRecentEvents(): RecentEvents {
  const { client, feed } = useSession();
  const [past, setPast] = useState<readonly EventEnvelope[] | null>(null);
  const [wantedPast, setWantedPast] = useState(PAST);
  const [end] = useState(() => (feed.recent[0]?.sequence ?? feed.state.lastSequence + 1) - 1);
  const recent = useSyncExternalStore(feed.subscribeState, () => feed.recent);
  useEffect(() => {
    const abort = new AbortController();
    const read = async (): Promise<void> => {
      const found: EventEnvelope[] = [];
      if (end > 0) {
        for await (const envelope of client.events({
          from: Math.max(1, end - wantedPast + 1),
          signal: abort.signal,
        })) {
          if (envelope.sequence <= end && envelope.event.kind !== "eventHidden") found.push(envelope);
          if (envelope.sequence >= end) break;
        }
      }
      setPast(found);
    };
    read().catch(() => {
      if (!abort.signal.aborted) setPast((now) => now ?? []);
    });
    return () => abort.abort(new Error("the page was left"));
  }, [client, end, wantedPast]);
  const events = useMemo(() => {
    if (past === null) return null;
    const oldest = recent[0]?.sequence ?? Number.POSITIVE_INFINITY;
    return [...past.filter(({ sequence }) => sequence < oldest), ...recent];
  }, [past, recent]);
  return {
    events,
    hasOlder: (events?.[0]?.sequence ?? 1) > 1,
    readOlder: () => setWantedPast((now) => now + OLDER),
  };
}

function Older({ live: { hasOlder, readOlder } }: { readonly live: RecentEvents }): ReactElement | null {
  if (!hasOlder) return null;
  return (
    <p className="px-4 py-3 md:px-6">
      <Button onClick={readOlder}>Show older events</Button>
    </p>
  );
}

function toRows(
  events: readonly EventEnvelope[],
  names: EventNames,
  open: (row: EventRow) => void,
): readonly EventRow[] {
  return events
    .map((envelope): EventRow => {
      const workloadId = workloadOfEvent(envelope.event, names);
      const row: EventRow = {
        envelope,
        sentence: withLocalTimes(withNames(eventText(envelope.event).sentence, names), dayTimeText),
        workloadId,
        workloadName: workloadId === null ? null : (names.workloads.get(workloadId)?.name ?? workloadId),
        team: teamOfEvent(envelope.event, names),
        open: () => open(row),
      };
      return row;
    })
    .toReversed();
}

function matches(row: EventRow, { search, kind, team, workload, internal }: EventsSearch): boolean {
  const { event } = row.envelope;
  const { title, subject } = eventTitle(event.kind);
  // Internal events are hidden, unless the user selects their kind.
  if (internal !== true && kind === undefined && isInternalEvent(event)) return false;
  if (kind !== undefined && kind !== event.kind && kind !== subject) return false;
  if (team !== undefined && row.team !== team && row.team?.startsWith(`${team}/`) !== true) return false;
  if (workload !== undefined && row.workloadId !== workload) return false;
  const text = `${title} ${row.sentence} ${row.workloadName ?? ""} ${row.workloadId ?? ""}`.toLowerCase();
  return search === undefined || text.includes(search.toLowerCase());
}

interface EventsSummaryProps {
  readonly rows: readonly EventRow[];
  readonly isPaused: boolean;
  readonly isFiltered: boolean;
  readonly hiddenCount: number;
}

function Summary({ rows, isPaused, isFiltered: hasFilter, hiddenCount }: EventsSummaryProps): ReactElement {
  return (
    <p>
      {grouped(rows.length)} of the newest{hasFilter ? " that match" : ""}
      {isPaused ? ", paused" : ", live"}
      {hiddenCount === 0 || hasFilter ? "" : `; ${grouped(hiddenCount)} internal ones hidden`}
    </p>
  );
}

const columns: readonly Column<EventRow>[] = [
  {
    id: "time",
    header: "Time",
    cell: ({ envelope, open }) => (
      <button type="button" onClick={open} className="text-ink-2 hover:underline">
        <Moment atMs={envelope.event.atMs} />
      </button>
    ),
  },
  {
    id: "kind",
    header: "Kind",
    className: "hidden md:block",
    cell: ({ envelope }) => eventTitle(envelope.event.kind).title,
  },
  {
    id: "sentence",
    header: "What happened",
    cell: ({ sentence }) => sentence,
  },
  {
    id: "workload",
    header: "Workload",
    className: "hidden lg:block",
    cell: ({ workloadId, workloadName }) =>
      workloadId === null ? null : (
        <Link to="/workloads/$workloadId" params={{ workloadId }} className="hover:underline">
          {workloadName}
        </Link>
      ),
  },
  { id: "team", header: "Team", className: "hidden lg:block text-ink-2", cell: ({ team }) => team },
];

function Record({ row: { envelope, sentence } }: { readonly row: EventRow }): ReactElement {
  return (
    <div className="scroll-thin flex min-h-0 flex-col gap-3 overflow-y-auto p-4">
      <p className="text-base">{sentence}</p>
      <p className="text-ink-2">
        Event {grouped(envelope.sequence)} of the journal, <Moment atMs={envelope.event.atMs} />
      </p>
      <details>
        <summary className="font-medium">Record as JSON</summary>
        <pre
          tabIndex={0}
          role="region"
          aria-label="Record as JSON"
          className="scroll-thin mt-2 overflow-x-auto rounded-md bg-sunken p-3 font-mono text-xs"
        >
          {JSON.stringify(envelope.event, null, 2)}
        </pre>
      </details>
    </div>
  );
}
