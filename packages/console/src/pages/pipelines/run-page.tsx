/** One run of a pipeline: its graph, level by level, and its steps with their reasons. */
import type { PipelineRun, PipelineStepPage } from "@headroom/protocol";
import { triggerText } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { usePageCommand, type PageCommand } from "../../commands/use-page-command.ts";
import { useClient } from "../../connect/session.ts";
import { pipelineRunQuery, pipelineStepsQuery } from "../../data/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { Moment } from "../../parts/time-text.tsx";
import { countsText, RunBadge, StepBadge, stepPhaseOf } from "./pipeline-texts.tsx";

const route = getRouteApi("/pipelines/$runId");

export function RunPage(): ReactElement {
  const { runId } = route.useParams();
  const client = useClient();
  const { data: run, error, refetch } = useQuery(pipelineRunQuery(client, runId));
  const steps = useQuery(pipelineStepsQuery(client, runId)).data;
  return (
    <Page
      title={run === undefined ? `Run ${runId}` : `${run.pipeline}, run ${run.id}`}
      layout="flow"
      summary={run === undefined ? "" : countsText(run.counts)}
      actions={run === undefined ? null : <RunActions run={run} />}
    >
      {run === undefined ? (
        error === null ? (
          <Loading label="Loading the run" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          <div className="flex max-w-6xl flex-col gap-4 px-4 pb-6 md:px-6">
            <RunFacts run={run} />
            <Graph run={run} />
            {steps === undefined ? null : <StepList run={run} steps={steps} />}
          </div>
        </>
      )}
    </Page>
  );
}

const useRunCommand = (id: string) => usePageCommand(["pipelines", id]);

function RunActions({ run: { id, phase } }: { readonly run: PipelineRun }): ReactElement {
  const { mutate, isPending } = useRunCommand(id);
  const isOpen = phase === "waiting" || phase === "running";
  const cancel: PageCommand = {
    call: async (client) => {
      await client.cancelPipelineRun(id);
      return `Run ${id} is being cancelled.`;
    },
  };
  const retry: PageCommand = {
    call: async (client) => {
      const { steps } = await client.retryPipelineRun(id, { force: false });
      return `${steps} steps of run ${id} run again.`;
    },
  };
  return isOpen ? (
    <Button disabled={isPending} onClick={() => mutate(cancel)}>
      Cancel the run
    </Button>
  ) : (
    <Button disabled={isPending || phase === "succeeded"} onClick={() => mutate(retry)}>
      Retry what did not succeed
    </Button>
  );
}

function RunFacts({ run }: { readonly run: PipelineRun }): ReactElement {
  const params = Object.entries(run.params);
  return (
    <Panel title="Run" aside={<RunBadge phase={run.phase} />}>
      <Facts
        facts={[
          { name: "Pipeline", value: `${run.pipeline} of team ${run.team}` },
          { name: "Created", value: <Created run={run} /> },
          ...(run.endedAtMs === null ? [] : [{ name: "Ended", value: <Moment atMs={run.endedAtMs} /> }]),
          ...params.map(([name, value]) => ({ name, value })),
          ...(run.force ? [{ name: "Cache", value: "no step uses it" }] : []),
          ...(run.retryCount === 0 ? [] : [{ name: "Retries", value: String(run.retryCount) }]),
        ]}
      />
    </Panel>
  );
}

const Created = ({ run: { createdAtMs, trigger, actor } }: { readonly run: PipelineRun }): ReactElement => (
  <>
    <Moment atMs={createdAtMs} /> {triggerText(trigger)} ({actor})
  </>
);

/** One column for each level: a step stands to the right of all steps that it waits for. On a phone the levels are below each other. */
function Graph({ run: { graph } }: { readonly run: PipelineRun }): ReactElement {
  const levels = [...Map.groupBy(graph, ({ level }) => level)].toSorted(([left], [right]) => left - right);
  return (
    <Panel title="Graph">
      <ol className="scroll-thin flex flex-col gap-3 overflow-x-auto px-4 py-3 md:flex-row" aria-label="Graph of steps">
        {levels.map(([level, steps]) => (
          <li key={level} className="min-w-44 shrink-0">
            <ul className="flex flex-col gap-2">
              {steps.map(({ name, after, counts, isFanOut }) => (
                <li key={name} className="rounded-md border border-line px-3 py-2">
                  <p className="font-medium break-words">{name}</p>
                  <StepBadge phase={stepPhaseOf(counts)} />
                  {isFanOut ? <p className="text-xs text-ink-2">{countsText(counts)}</p> : null}
                  {after.length === 0 ? null : <p className="text-xs text-ink-3">after {after.join(", ")}</p>}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

interface StepListProps {
  readonly run: PipelineRun;
  readonly steps: PipelineStepPage;
}

function StepList({ run, steps: { items, nextCursor } }: StepListProps): ReactElement {
  return (
    <Panel title="Steps">
      <ul aria-label="Steps" className="divide-y divide-line">
        {items.map(({ key, phase, sentence, workloadId, item, proposalId }) => (
          <li key={key} data-row className="px-4 py-2">
            <p className="flex flex-wrap items-center gap-x-2">
              {workloadId === null ? (
                <span className="font-medium">{key}</span>
              ) : (
                <Link to="/workloads/$workloadId" params={{ workloadId }} className="font-medium underline">
                  {key}
                </Link>
              )}
              <StepBadge phase={phase} />
              {item === null ? null : <code className="font-mono text-xs break-all text-ink-2">{item}</code>}
            </p>
            {sentence === "" ? null : <p className="break-words text-ink-2">{sentence}</p>}
            {phase === "awaitingApproval" && proposalId === undefined ? <Approval runId={run.id} step={key} /> : null}
          </li>
        ))}
      </ul>
      {nextCursor === null ? null : (
        <p className="px-4 py-2 text-ink-2">
          More steps: <code className="font-mono text-xs">headroom pipeline show {run.id}</code>.
        </p>
      )}
    </Panel>
  );
}

function Approval({ runId, step }: { readonly runId: string; readonly step: string }): ReactElement {
  const { mutate, isPending } = useRunCommand(runId);
  const decide = (approved: boolean): void =>
    mutate({
      call: async (client) => {
        await client.decidePipelineStep(runId, { step, approved, reason: "" });
        return `Step ${step} ${approved ? "approved" : "rejected"}.`;
      },
    });
  return (
    <div className="flex gap-2 pt-1">
      <Button look="primary" disabled={isPending} onClick={() => decide(true)}>
        Approve
      </Button>
      <Button disabled={isPending} onClick={() => decide(false)}>
        Reject
      </Button>
    </div>
  );
}
