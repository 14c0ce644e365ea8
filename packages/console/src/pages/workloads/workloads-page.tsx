/** Every workload that the control plane remembers, newest first. */
import type { Page as Answer, WorkloadPhase, WorkloadSummary } from "@headroom/protocol";
import { Link, getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { usePagedList } from "../../data/use-paged-list.ts";
import { gangSentence, gangText, percentText } from "../../format/amounts.ts";
import { changesWorkloads } from "../../live/interest.ts";
import { REPORTS_POLL_MS, useLiveQuery } from "../../live/use-live-query.ts";
import { buttonClass } from "../../parts/button.tsx";
import { SearchInput, Segments } from "../../parts/controls.tsx";
import { TeamFilter } from "../../parts/team-filter.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Page } from "../../parts/page.tsx";
import { PhaseBadge } from "../../parts/phase-badge.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { Moment, Span } from "../../parts/time-text.tsx";
import { UsageBar } from "../../parts/usage-bar.tsx";
import { VirtualTable, type Column } from "../../parts/virtual-table.tsx";
import type { WorkloadsSearch } from "../../routes/search-params.ts";

const route = getRouteApi("/workloads");
const idOf = ({ id }: WorkloadSummary): string => id;

export function WorkloadsPage(): ReactElement {
  return (
    <Page
      title="Workloads"
      layout="fill"
      summary="Training runs and batch arrays, the newest first"
      actions={
        <Link to="/workloads/new" className={buttonClass("primary")}>
          <Icon name="plus" size={14} />
          New workload
        </Link>
      }
      toolbar={<Filters />}
    >
      <WorkloadTable />
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
  const { team, search, phase } = route.useSearch();
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
        className="w-full sm:w-60"
        defaultValue={search ?? ""}
        onValue={(value) => change({ search: value.trim() === "" ? undefined : value.trim() })}
      />
      <TeamFilter team={team} onTeam={(chosen) => change({ team: chosen })} />
    </>
  );
}

function WorkloadTable(): ReactElement {
  const client = useClient();
  const { team, search, phase } = route.useSearch();
  const list = usePagedList<WorkloadSummary, Answer<WorkloadSummary>>({
    queryKey: ["workloads", phase ?? "", team ?? "", search ?? ""],
    fetchPage: (page, signal) => client.listWorkloads({ ...page, phase, team, search }, { signal }),
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
    return <NoWorkloads isFiltered={(team ?? search ?? phase) !== undefined} />;
  return (
    <div className="flex h-full flex-col">
      {list.error === null ? null : <StaleNotice error={list.error} />}
      <div className="min-h-0 flex-1">
        <VirtualTable
          label="Workloads"
          rows={list.items}
          rowCount={list.isComplete ? list.items.length : -2}
          keyOf={idOf}
          columns={columns}
          template="grid-cols-[1fr_auto] md:grid-cols-[minmax(9rem,1.4fr)_6.5rem_minmax(7rem,1fr)_4.5rem_minmax(7rem,1.2fr)_7rem_6.5rem]"
          onShow={list.show}
          rowHeightPx={44}
        />
      </div>
    </div>
  );
}

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

const columns: readonly Column<WorkloadSummary>[] = [
  {
    id: "name",
    header: "Workload",
    cell: ({ id, name, team }) => (
      <>
        <Link
          to="/workloads/$workloadId"
          params={{ workloadId: id }}
          className="block truncate font-medium hover:underline"
        >
          {name}
        </Link>
        <span className="block truncate text-xs text-ink-2 md:hidden">{team}</span>
      </>
    ),
  },
  { id: "state", header: "State", cell: ({ phase }) => <PhaseBadge phase={phase} /> },
  { id: "team", header: "Team", className: "hidden md:block text-ink-2", cell: ({ team }) => team },
  {
    id: "gang",
    header: "Gang",
    className: "hidden md:block",
    cell: ({ gang }) => <span title={gangSentence(gang)}>{gangText(gang)}</span>,
  },
  {
    id: "progress",
    header: "Progress",
    className: "hidden md:block",
    cell: (workload) => <RowProgress workload={workload} />,
  },
  {
    id: "submitted",
    header: "Submitted",
    className: "hidden md:block text-ink-2",
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

/** Steps of a training run or tasks of an array; for ended work, its result in words. */
function RowProgress({ workload }: { readonly workload: WorkloadSummary }): ReactElement {
  const { kind, tasks, progress, endSentence } = workload;
  if (endSentence !== null)
    return (
      <span className="text-ink-2" title={endSentence}>
        {endSentence}
      </span>
    );
  const [done, total] =
    kind === "batch" ? [tasks.succeeded + tasks.failed, tasks.total] : [progress?.step ?? 0, progress?.totalSteps ?? 0];
  if (total === 0) return <span className="text-ink-3">–</span>;
  return (
    <span className="flex items-center gap-2">
      <span className="w-10 shrink-0 text-xs text-ink-2">{percentText(done, total)}</span>
      <UsageBar total={total} parts={[{ key: "done", amount: done, className: "bg-run" }]} />
    </span>
  );
}
