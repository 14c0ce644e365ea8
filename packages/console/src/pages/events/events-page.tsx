/** Recorded events as they arrive: newest first, each as a sentence, with the complete record on request. */
import type { EventEnvelope } from "@headroom/protocol";
import { Link, getRouteApi } from "@tanstack/react-router";
import { eventText, grouped } from "@headroom/views";
import { useDeferredValue, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { ReactElement } from "react";
import { useSession } from "../../connect/session.ts";
import { Button } from "../../parts/button.tsx";
import { SearchInput } from "../../parts/controls.tsx";
import { Drawer } from "../../parts/dialog.tsx";
import { Page } from "../../parts/page.tsx";
import { Empty, Loading } from "../../parts/states.tsx";
import { Moment } from "../../parts/time-text.tsx";
import { VirtualTable, type Column } from "../../parts/virtual-table.tsx";

const route = getRouteApi("/events");

interface EventRow {
  readonly envelope: EventEnvelope;
  readonly sentence: string;
  readonly workloadId: string | null;
  readonly open: () => void;
}

export function EventsPage(): ReactElement {
  const { search } = route.useSearch();
  const navigate = route.useNavigate();
  const live = useRecentEvents();
  const [frozen, setFrozen] = useState<readonly EventEnvelope[] | null>(null);
  const [opened, setOpened] = useState<EventEnvelope | null>(null);
  const events = frozen ?? live;
  const wanted = useDeferredValue(search?.toLowerCase() ?? "");
  const rows = useMemo(() => toRows(events ?? [], wanted, setOpened), [events, wanted]);
  return (
    <Page
      title="Events"
      layout="fill"
      summary={<Summary rows={rows} isPaused={frozen !== null} isFiltered={wanted !== ""} />}
      actions={
        <Button
          icon={frozen === null ? "pause" : "play"}
          onClick={() => setFrozen(frozen === null ? (live ?? []) : null)}
        >
          {frozen === null ? "Pause" : "Continue"}
        </Button>
      }
      toolbar={
        <SearchInput
          label="Kind, name or text"
          className="w-full sm:w-72"
          defaultValue={search ?? ""}
          onValue={(value) =>
            void navigate({ search: value.trim() === "" ? {} : { search: value.trim() }, replace: true })
          }
        />
      }
    >
      {events === null ? (
        <Loading label="Loading events" rows={12} />
      ) : rows.length === 0 ? (
        <Empty icon="events" title={wanted === "" ? "Nothing was recorded yet" : "No event matches"} />
      ) : (
        <VirtualTable
          label="Events"
          rows={rows}
          rowCount={rows.length}
          keyOf={({ envelope }) => String(envelope.sequence)}
          columns={columns}
          template="grid-cols-[4.5rem_1fr] md:grid-cols-[5rem_7.5rem_11rem_1fr_5rem]"
          rowHeightPx={36}
        />
      )}
      <Drawer
        isOpen={opened !== null}
        onClose={() => setOpened(null)}
        title={opened === null ? "" : `Event ${opened.sequence}`}
      >
        {opened === null ? null : <Record envelope={opened} />}
      </Drawer>
    </Page>
  );
}

/** Events from before the page was opened, so that it is not empty on a quiet fleet. */
const PAST = 300;

/** The newest events: past ones, then those of the page's stream. `null`: not read yet. */
function useRecentEvents(): readonly EventEnvelope[] | null {
  const { client, feed } = useSession();
  const [past, setPast] = useState<readonly EventEnvelope[] | null>(null);
  const recent = useSyncExternalStore(feed.subscribeState, () => feed.recent);
  useEffect(() => {
    const abort = new AbortController();
    const before = (feed.recent[0]?.sequence ?? feed.state.lastSequence + 1) - 1;
    const read = async (): Promise<void> => {
      const found: EventEnvelope[] = [];
      if (before > 0) {
        for await (const envelope of client.events({ from: Math.max(1, before - PAST + 1), signal: abort.signal })) {
          if (envelope.sequence <= before) found.push(envelope);
          if (envelope.sequence >= before) break;
        }
      }
      setPast(found);
    };
    read().catch(() => {
      if (!abort.signal.aborted) setPast([]);
    });
    return () => abort.abort(new Error("the page was left"));
  }, [client, feed]);
  return useMemo(() => {
    if (past === null) return null;
    const oldest = recent[0]?.sequence ?? Number.POSITIVE_INFINITY;
    return [...past.filter(({ sequence }) => sequence < oldest), ...recent];
  }, [past, recent]);
}

function toRows(
  events: readonly EventEnvelope[],
  wanted: string,
  open: (envelope: EventEnvelope) => void,
): readonly EventRow[] {
  return events
    .map((envelope): EventRow => {
      const { sentence, workloadId } = eventText(envelope.event);
      return { envelope, sentence, workloadId, open: () => open(envelope) };
    })
    .filter(({ envelope, sentence, workloadId }) =>
      `${envelope.event.kind} ${sentence} ${workloadId ?? ""}`.toLowerCase().includes(wanted),
    )
    .toReversed();
}

interface EventsSummaryProps {
  readonly rows: readonly EventRow[];
  readonly isPaused: boolean;
  readonly isFiltered: boolean;
}

function Summary({ rows, isPaused, isFiltered }: EventsSummaryProps): ReactElement {
  return (
    <p>
      {grouped(rows.length)} of the newest{isFiltered ? " that match" : ""}
      {isPaused ? ", paused" : ", live"}
    </p>
  );
}

const columns: readonly Column<EventRow>[] = [
  {
    id: "sequence",
    header: "#",
    cell: ({ envelope, open }) => (
      <button
        type="button"
        onClick={open}
        className="text-ink-2 hover:underline"
        aria-label={`Event ${grouped(envelope.sequence)}`}
      >
        {grouped(envelope.sequence)}
      </button>
    ),
  },
  {
    id: "time",
    header: "Time",
    className: "hidden md:block text-ink-2",
    cell: ({ envelope }) => <Moment atMs={envelope.event.atMs} />,
  },
  {
    id: "kind",
    header: "Kind",
    className: "hidden md:block",
    cell: ({ envelope }) => <span className="font-mono text-xs text-ink-2">{envelope.event.kind}</span>,
  },
  { id: "sentence", header: "What happened", cell: ({ sentence }) => <span title={sentence}>{sentence}</span> },
  {
    id: "workload",
    header: "Workload",
    className: "hidden md:block",
    cell: ({ workloadId }) =>
      workloadId === null ? null : (
        <Link to="/workloads/$workloadId" params={{ workloadId }} className="hover:underline">
          {workloadId}
        </Link>
      ),
  },
];

function Record({ envelope }: { readonly envelope: EventEnvelope }): ReactElement {
  const { sentence } = eventText(envelope.event);
  return (
    <div className="flex flex-col gap-3 p-4">
      <p className="text-base">{sentence}</p>
      <pre
        tabIndex={0}
        role="region"
        aria-label="The record"
        className="scroll-thin overflow-x-auto rounded-md bg-sunken p-3 font-mono text-xs"
      >
        {JSON.stringify(envelope.event, null, 2)}
      </pre>
    </div>
  );
}
