/** Pipelines with their newest runs. */
import type { PipelineItem, PipelineRun } from "@headroom/protocol";
import { plural, triggerText } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { usePageCommand } from "../../commands/use-page-command.ts";
import { useClient } from "../../connect/session.ts";
import { pipelineRunsQuery, pipelinesQuery } from "../../data/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { Moment } from "../../parts/time-text.tsx";
import { countsText, RunBadge } from "./pipeline-texts.tsx";

export function PipelinesPage(): ReactElement {
  const client = useClient();
  const { data, error, refetch } = useQuery(pipelinesQuery(client));
  const runs = useQuery(pipelineRunsQuery(client)).data?.items ?? [];
  return (
    <Page
      title="Pipelines"
      layout="flow"
      summary={data === undefined ? "Graphs of steps that run as workloads" : plural(data.items.length, "pipeline")}
    >
      {data === undefined ? (
        error === null ? (
          <Loading label="Loading pipelines" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          <div className="flex max-w-6xl flex-col gap-4 px-4 pb-6 md:px-6">
            {data.items.length === 0 ? <NoPipelines /> : <PipelineList items={data.items} />}
            {runs.length === 0 ? null : <RunList runs={runs} />}
          </div>
        </>
      )}
    </Page>
  );
}

function NoPipelines(): ReactElement {
  return (
    <Empty icon="pipelines" title="There are no pipelines">
      <p>
        Describe one in a file of <code className="font-mono text-xs">kind: pipeline</code> and apply it with{" "}
        <code className="font-mono text-xs">headroom apply -f FILE</code>.
      </p>
    </Empty>
  );
}

function PipelineList({ items }: { readonly items: readonly PipelineItem[] }): ReactElement {
  const { mutate, isPending } = usePageCommand(["pipelines"]);
  const start = (name: string): void =>
    mutate({
      call: async (client) => {
        const { runIds } = await client.startPipelineRun(name, { params: {}, force: false });
        return `Run ${runIds.join(", ")} of ${name} started.`;
      },
    });
  return (
    <Panel title="Pipelines">
      <ul className="divide-y divide-line">
        {items.map(({ pipeline: { name, team, steps }, nextAtMs, openRuns, lastRun }) => (
          <li key={name} className="flex flex-wrap items-start justify-between gap-x-4 gap-y-1 px-4 py-2">
            <div className="min-w-0">
              <h3 className="font-medium break-words">{name}</h3>
              <p className="text-ink-2">
                {team}, {plural(steps.length, "step")}, {plural(openRuns, "open run")}
                {nextAtMs === null ? null : (
                  <>
                    ; next run <Moment atMs={nextAtMs} />
                  </>
                )}
              </p>
              {lastRun === null ? null : (
                <p>
                  <RunLink run={lastRun} /> <RunBadge phase={lastRun.phase} />
                </p>
              )}
            </div>
            <Button disabled={isPending} aria-label={`Start a run of ${name}`} onClick={() => start(name)}>
              Start a run
            </Button>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

type ShownRun = Pick<PipelineRun, "id" | "pipeline" | "phase" | "trigger" | "actor" | "createdAtMs" | "counts">;

const RunLink = ({ run: { id } }: { readonly run: Pick<PipelineRun, "id"> }): ReactElement => (
  <Link to="/pipelines/$runId" params={{ runId: id }} className="underline">
    run {id}
  </Link>
);

function RunList({ runs }: { readonly runs: readonly ShownRun[] }): ReactElement {
  return (
    <Panel title="Newest runs">
      <ul aria-label="Newest runs" className="divide-y divide-line">
        {runs.map((run) => (
          <li key={run.id} data-row className="px-4 py-2">
            <p className="flex flex-wrap items-center gap-x-2">
              <span className="font-medium">{run.pipeline}</span>
              <RunLink run={run} />
              <RunBadge phase={run.phase} />
            </p>
            <p className="text-ink-2">
              {countsText(run.counts)}; created <Moment atMs={run.createdAtMs} /> {triggerText(run.trigger)} (
              {run.actor})
            </p>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
