/** The page of one workload: specification, verdict or progress, logs, history. */
import type { Workload } from "@headroom/protocol";
import { hoursText } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { Link, getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import type { ReactElement } from "react";
import { useClient, useSession } from "../../connect/session.ts";
import { workloadQuery } from "../../data/queries.ts";
import { changesWorkload } from "../../live/interest.ts";
import { REPORTS_POLL_MS, useLiveQuery } from "../../live/use-live-query.ts";
import { Facts } from "../../parts/facts.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { Badge, PhaseBadge } from "../../parts/phase-badge.tsx";
import { Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { Moment, Span } from "../../parts/time-text.tsx";
import { AttemptsPanel } from "./attempts-panel.tsx";
import { ProgressPanel } from "./history/progress-panel.tsx";
import { StoryPanel } from "./history/story-panel.tsx";
import { useHistory } from "./history/use-history.ts";
import { LogsPanel } from "./logs/logs-panel.tsx";
import { PerformancePanel } from "./performance-panel.tsx";
import { SpecPanel } from "./spec-panel.tsx";
import { StepPanel } from "./step-panel.tsx";
import { UsagePanel } from "./usage-panel.tsx";
import { FailurePanel } from "./failure-panel.tsx";
import { WorkloadActions } from "./workload-actions.tsx";
import { WastePanel } from "./waste-panel.tsx";
import { WaitingPanel } from "./waiting-panel.tsx";

const route = getRouteApi("/workloads/$workloadId");

const kindWords = { train: "Training run", batch: "Batch array", serve: "Endpoint" } as const satisfies Record<
  Workload["kind"],
  string
>;

export function WorkloadPage(): ReactElement {
  const { workloadId } = route.useParams();
  return <WorkloadOf key={workloadId} workloadId={workloadId} />;
}

function WorkloadOf({ workloadId }: { readonly workloadId: string }): ReactElement {
  const query = workloadQuery(useClient(), workloadId);
  const { data, error, refetch } = useQuery(query);
  const attemptIds = useMemo(() => new Set((data?.attempts ?? []).map(({ id }) => id)), [data]);
  const pollMs = data?.phase === "running" ? REPORTS_POLL_MS : 0;
  useLiveQuery({ queryKey: query.queryKey, matters: changesWorkload(workloadId, attemptIds), pollMs });
  if (data === undefined) {
    return (
      <Page title="Workload" layout="flow">
        {error === null ? (
          <Loading label="Loading the workload" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )}
      </Page>
    );
  }
  return (
    <Page
      title={data.name}
      layout="flow"
      summary={<Summary workload={data} />}
      actions={<WorkloadActions workload={data} />}
    >
      {error === null ? null : <StaleNotice error={error} />}
      <Panels workload={data} />
    </Page>
  );
}

function Summary({ workload }: { readonly workload: Workload }): ReactElement {
  const { phase, team, kind, endSentence, held } = workload;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <PhaseBadge phase={phase} />
      {held === true ? <Badge tone="stop">Held</Badge> : null}
      <span>
        {kindWords[kind]} of{" "}
        <Link
          to="/workloads"
          search={{ team }}
          className="underline decoration-line-strong underline-offset-2 hover:text-ink"
        >
          {team}
        </Link>
      </span>
      {endSentence === null ? null : <span>{endSentence}</span>}
    </div>
  );
}

function Panels({ workload }: { readonly workload: Workload }): ReactElement {
  const { demo } = useSession();
  const history = useHistory(workload);
  const isOver = workload.endedAtMs !== null;
  return (
    <div className="grid items-start gap-4 px-4 pb-6 md:px-6 xl:grid-cols-[minmax(0,1fr)_22rem]">
      <div className="flex min-w-0 flex-col gap-4">
        <FailurePanel workload={workload} />
        {isOver ? null : <WastePanel workloadId={workload.id} />}
        {isOver || workload.tasks.waiting === 0 ? null : <WaitingPanel workloadId={workload.id} />}
        <ProgressPanel workload={workload} history={history} isSimulated={demo !== null} />
        {demo === null && workload.kind === "train" ? <StepPanel workloadId={workload.id} /> : null}
        {workload.tasks.active > 0 && workload.kind !== "serve" ? <PerformancePanel workloadId={workload.id} /> : null}
        {demo === null && workload.tasks.active > 0 ? <UsagePanel workloadId={workload.id} /> : null}
        <AttemptsPanel workload={workload} checkpoints={history.checkpoints} />
        <StoryPanel history={history} />
        {demo === null ? (
          <LogsPanel workload={workload} />
        ) : (
          <Panel title="Logs">
            <p className="px-4 py-3 text-ink-2">
              Simulated work has no processes, so it writes no logs. On a real fleet they are followed live here.
            </p>
          </Panel>
        )}
      </div>
      <div className="flex min-w-0 flex-col gap-4">
        <Panel title="Facts">
          <Facts
            facts={[
              { name: "Submitted", value: <Moment atMs={workload.submittedAtMs} /> },
              { name: "By", value: workload.actor },
              {
                name: "Waited",
                value: <Span fromMs={workload.submittedAtMs} toMs={workload.firstStartedAtMs ?? workload.endedAtMs} />,
              },
              {
                name: "Running for",
                value:
                  workload.firstStartedAtMs === null ? (
                    "–"
                  ) : (
                    <Span fromMs={workload.firstStartedAtMs} toMs={workload.endedAtMs} />
                  ),
              },
              ...(isOver ? [{ name: "Ended", value: <Moment atMs={workload.endedAtMs ?? 0} /> }] : []),
              { name: "Accelerator-hours", value: hoursText(workload.acceleratorMs / 3_600_000) },
              { name: "Id", value: workload.id },
              { name: "Priority", value: String(workload.priority) },
            ]}
          />
        </Panel>
        <SpecPanel workload={workload} />
      </div>
    </div>
  );
}
