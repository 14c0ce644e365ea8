/** The page of all workloads that the control plane still has, newest first. */
import type { Page as Answer, WorkloadPhase, WorkloadSummary } from "@headroom/protocol";
import { hoursText } from "@headroom/views";
import { Link, getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { useNow } from "../../connect/use-now.ts";
import { usePagedList } from "../../data/use-paged-list.ts";
import { gangSentence, gangText, percentText } from "../../format/amounts.ts";
import { changesWorkloads } from "../../live/interest.ts";
import { REPORTS_POLL_MS, useLiveQuery } from "../../live/use-live-query.ts";
import { buttonClass } from "../../parts/button.tsx";
import { SearchInput, Segments, Select, inputClass } from "../../parts/controls.tsx";
import { TeamFilter } from "../../parts/team-filter.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Page } from "../../parts/page.tsx";
import { PhaseBadge } from "../../parts/phase-badge.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { Moment, Span } from "../../parts/time-text.tsx";
import { UsageBar } from "../../parts/usage-bar.tsx";
import { VirtualTable, type Column } from "../../parts/virtual-table.tsx";
import { timeRanges, type WorkloadsSearch } from "../../routes/search-params.ts";
import { BulkStop, useSelection, type ChosenWorkloads } from "./bulk-stop.tsx";

const route = getRouteApi("/workloads");
const idOf = ({ id }: WorkloadSummary): string => id;

export function WorkloadsPage(): ReactElement {
  const selection = useSelection();
  return (
    <Page
      title="Workloads"
      layout="fill"
      summary="Training runs and batch arrays, the newest first"
      actions={
        <>
          <BulkStop selection={selection} />
          <Link to="/workloads/new" className={buttonClass("primary")}>
            <Icon name="plus" size={14} />
            New workload
          </Link>
        </>
      }
      toolbar={<Filters />}
    >
      <WorkloadTable selection={selection} />
    </Page>
  );
}

const phases: readonly { readonly value: WorkloadPhase | "all"; readonly label: string }[] = [
  { value: "all", label: "All" },
  { value: "running", label: "Running" },
  { value: "pending", label: "Waiting" },
  { value: "succeeded", label: "Succeeded" },
  { value: "failed", label: "Failed" },
  { value: "cancelled", label: "Cancelled" },
];

function Filters(): ReactElement {
  const { team, search, phase, user, node, range } = route.useSearch();
  const navigate = route.useNavigate();
  const change = (next: Partial<WorkloadsSearch>): void =>
    void navigate({ search: (now) => ({ ...now, ...next }), replace: true });
  return (
    <>
      <Segments
        label="State"
        name="workload-phase"
        value={phase ?? "all"}
        options={phases}
        onValue={(value) => change({ phase: value === "all" ? undefined : value })}
      />
      <SearchInput
        label="Name or id"
        className="w-full sm:w-44"
        defaultValue={search ?? ""}
        onValue={(value) => change({ search: value.trim() === "" ? undefined : value.trim() })}
      />
      <TeamFilter team={team} onTeam={(chosen) => change({ team: chosen })} />
      <Select
        label="Submitted"
        value={range ?? ""}
        options={[
          { value: "", label: "Any time" },
          { value: "1", label: "Last hour" },
          { value: "24", label: "Last 24 hours" },
          { value: "168", label: "Last 7 days" },
        ]}
        onValue={(value) => change({ range: timeRanges.find((each) => each === value) })}
      />
      <TextFilter label="User" value={user} onValue={(value) => change({ user: value })} />
      <TextFilter label="Node" value={node} onValue={(value) => change({ node: value })} />
    </>
  );
}

interface TextFilterProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onValue: (value: string | undefined) => void;
}

/** A filter for an exact name. It applies on Enter or when the field loses focus, not with every letter. */
function TextFilter({ label, value, onValue }: TextFilterProps): ReactElement {
  const take = (text: string): void => onValue(text.trim() === "" ? undefined : text.trim());
  return (
    <input
      key={value ?? ""}
      aria-label={label}
      placeholder={label}
      defaultValue={value ?? ""}
      autoComplete="off"
      spellCheck={false}
      className={`${inputClass} w-24`}
      onBlur={({ target }) => take(target.value)}
      onKeyDown={({ key, currentTarget }) => {
        if (key === "Enter") take(currentTarget.value);
      }}
    />
  );
}

const HOUR_MS = 3_600_000;

/** The time is rounded down to the minute, so that the query stays the same from one render to the next. */
function useSubmittedFrom(range: WorkloadsSearch["range"]): number | undefined {
  const nowMs = useNow();
  return range === undefined ? undefined : Math.floor((nowMs - Number(range) * HOUR_MS) / 60_000) * 60_000;
}

function WorkloadTable({ selection }: { readonly selection: ChosenWorkloads }): ReactElement {
  const client = useClient();
  const { team, search, phase, user, node, range } = route.useSearch();
  const submittedFromMs = useSubmittedFrom(range);
  const list = usePagedList<WorkloadSummary, Answer<WorkloadSummary>>({
    queryKey: [
      "workloads",
      phase ?? "",
      team ?? "",
      search ?? "",
      user ?? "",
      node ?? "",
      String(submittedFromMs ?? ""),
    ],
    fetchPage: (page, signal) =>
      client.listWorkloads({ ...page, phase, team, search, actor: user, node, submittedFromMs }, { signal }),
    idOf,
  });
  useLiveQuery({ queryKey: ["workloads"], matters: changesWorkloads, pollMs: REPORTS_POLL_MS });
  if (list.head === undefined) {
    return list.error === null ? (
      <Loading label="Loading workloads" rows={12} />
    ) : (
      <Failure error={list.error} onRetry={list.retry} />
    );
  }
  if (list.items.length === 0 && list.isComplete)
    return <NoWorkloads isFiltered={(team ?? search ?? phase ?? user ?? node ?? range) !== undefined} />;
  return (
    <div className="flex h-full flex-col">
      {list.error === null ? null : <StaleNotice error={list.error} />}
      <div className="min-h-0 flex-1">
        <VirtualTable
          label="Workloads"
          rows={list.items}
          rowCount={list.isComplete ? list.items.length : -2}
          keyOf={idOf}
          columns={columnsWith(
            selection,
            list.items.filter(({ endedAtMs }) => endedAtMs === null),
          )}
          template={template}
          onShow={list.show}
          rowHeightPx={44}
        />
      </div>
    </div>
  );
}

const template = [
  "grid-cols-[1.5rem_minmax(0,1fr)_auto]",
  "md:grid-cols-[1.5rem_minmax(0,1fr)_6.5rem_minmax(0,1fr)_5.5rem]",
  "lg:grid-cols-[1.5rem_minmax(0,1fr)_6.5rem_4.5rem_minmax(0,1.2fr)_7rem_5.5rem]",
  "xl:grid-cols-[1.5rem_minmax(0,1.4fr)_6.5rem_4.5rem_minmax(0,1.6fr)_minmax(5rem,0.7fr)_4.5rem_7rem_5.5rem]",
].join(" ");

function NoWorkloads({ isFiltered }: { readonly isFiltered: boolean }): ReactElement {
  if (isFiltered) {
    return (
      <Empty icon="search" title="No workload matches">
        <p>Ended workloads are kept until 20,000 newer ones have ended; older ones are in the journal.</p>
      </Empty>
    );
  }
  return (
    <Empty icon="workloads" title="Nothing was submitted yet">
      <p>
        Press <kbd>n</kbd>, or run <code className="font-mono">headroom apply -f</code> with a workload file.
      </p>
    </Empty>
  );
}

/** `open`: those of the loaded workloads that have not ended. */
const columnsWith = (
  { chosen, toggle, choose, clear }: ChosenWorkloads,
  open: readonly WorkloadSummary[],
): readonly Column<WorkloadSummary>[] => [
  {
    id: "select",
    header: "Select",
    headerControl:
      open.length === 0 ? (
        <span className="sr-only">Select</span>
      ) : (
        <input
          type="checkbox"
          aria-label={`Select all ${open.length} listed that have not ended`}
          className="accent-accent"
          checked={open.every(({ id }) => chosen.has(id))}
          onChange={({ target }) => (target.checked ? choose(open) : clear())}
        />
      ),
    cell: (workload) =>
      workload.endedAtMs === null ? (
        <input
          type="checkbox"
          aria-label={`Select ${workload.name}`}
          className="accent-accent"
          checked={chosen.has(workload.id)}
          onChange={() => toggle(workload)}
        />
      ) : null,
  },
  ...columns,
];

const columns: readonly Column<WorkloadSummary>[] = [
  {
    id: "name",
    header: "Workload",
    cell: ({ id, name, team, actor }) => (
      <>
        <Link to="/workloads/$workloadId" params={{ workloadId: id }} className="block font-medium hover:underline">
          {name}
        </Link>
        <span className="block text-xs text-ink-2">
          <span>{team}</span>, <span>{actor}</span>
        </span>
      </>
    ),
  },
  { id: "state", header: "State", cell: ({ phase }) => <PhaseBadge phase={phase} /> },
  {
    id: "gang",
    header: "Gang",
    className: "hidden lg:block",
    cell: ({ gang }) => <span title={gangSentence(gang)}>{gangText(gang)}</span>,
  },
  {
    id: "progress",
    header: "Progress",
    className: "hidden md:block",
    cell: (workload) => <RowProgress workload={workload} />,
  },
  {
    id: "node",
    header: "Node",
    className: "hidden xl:block text-ink-2",
    cell: ({ nodes }) =>
      nodes.length === 0 ? (
        "–"
      ) : (
        <span title={nodes.join(", ")}>{nodes.length === 1 ? nodes[0] : `${nodes[0] ?? ""} +${nodes.length - 1}`}</span>
      ),
  },
  {
    id: "hours",
    header: "Acc.-hours",
    className: "hidden xl:block text-right pr-2",
    cell: ({ acceleratorMs }) => hoursText(acceleratorMs / HOUR_MS),
  },
  {
    id: "submitted",
    header: "Submitted",
    className: "hidden lg:block text-ink-2",
    cell: ({ submittedAtMs }) => <Moment atMs={submittedAtMs} />,
  },
  {
    id: "took",
    header: "Run time",
    className: "hidden md:block text-ink-2",
    cell: ({ firstStartedAtMs, endedAtMs }) =>
      firstStartedAtMs === null ? "–" : <Span fromMs={firstStartedAtMs} toMs={endedAtMs} />,
  },
];

/** Steps of a training run, tasks of an array or ready replicas of an endpoint: what is done, and of how many. */
function doneOf({
  kind,
  tasks,
  progress,
  replicas,
}: Pick<WorkloadSummary, "kind" | "tasks" | "progress" | "replicas">): readonly [done: number, total: number] {
  if (replicas !== undefined) return [replicas.ready, replicas.wanted];
  return kind === "batch"
    ? [tasks.succeeded + tasks.failed, tasks.total]
    : [progress?.step ?? 0, progress?.totalSteps ?? 0];
}

/** Steps of a training run or tasks of an array. For ended work, the result in words. */
function RowProgress({ workload }: { readonly workload: WorkloadSummary }): ReactElement {
  const { tasks, progress, endSentence, replicas } = workload;
  if (endSentence !== null)
    return (
      <span className="text-ink-2" title={endSentence}>
        {endSentence}
      </span>
    );
  const [done, total] = doneOf({ kind: workload.kind, tasks, progress, replicas });
  if (total === 0) return <span className="text-ink-3">–</span>;
  return (
    <span className="flex items-center gap-2">
      <span className="w-10 shrink-0 text-xs text-ink-2">{percentText(done, total)}</span>
      <UsageBar total={total} parts={[{ key: "done", amount: done, className: "bg-run" }]} />
    </span>
  );
}
