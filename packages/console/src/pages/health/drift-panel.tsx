/** Drift: nodes that differ from declared remediations, and the waves in which they are changed. */
import type { RemediationList, RemediationRun } from "@headroom/protocol";
import { grouped, plural } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { usePageCommand } from "../../commands/use-page-command.ts";
import { useClient } from "../../connect/session.ts";
import { remediationRunsQuery, remediationsQuery } from "../../data/queries.ts";
import { Button } from "../../parts/button.tsx";
import { Panel } from "../../parts/page.tsx";
import { Badge } from "../../parts/phase-badge.tsx";
import { Moment } from "../../parts/time-text.tsx";

/** Runs that the page shows; `headroom drift waves` lists all that are kept. */
const RUNS_SHOWN = 5;

/** Nothing where no remediation is declared and none was run. */
export function DriftPanel(): ReactElement | null {
  const client = useClient();
  const declared = useQuery(remediationsQuery(client)).data;
  const runs = useQuery(remediationRunsQuery(client)).data?.items ?? [];
  if ((declared?.items.length ?? 0) + runs.length === 0 && (declared?.problem ?? null) === null) return null;
  return (
    <Panel title="Drift">
      {declared?.problem == null ? null : <p className="px-4 py-3 break-words text-bad">{declared.problem}</p>}
      <ul aria-label="Remediations" className="divide-y divide-line">
        {(declared?.items ?? []).map((each) => (
          <li key={each.name} data-row className="px-4 py-3 break-words">
            <span className="font-medium">{each.name}</span>: {checkText(each)}
          </li>
        ))}
      </ul>
      <ul aria-label="Waves" className="divide-y divide-line border-t border-line">
        {runs.slice(0, RUNS_SHOWN).map((run) => (
          <li key={run.id} data-row className="px-4 py-3">
            <RunItem run={run} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function checkText({ lastCheck, canary, wave, mode }: RemediationList["items"][number]): string {
  const waves = `canary of ${plural(canary, "node")}, then waves of ${wave}${mode === "live" ? ", live" : ""}`;
  if (lastCheck === null) return `not checked yet; ${waves}`;
  return `${grouped(lastCheck.nodes.length)} of ${plural(lastCheck.nodeCount, "node")} differ; ${waves}`;
}

function RunItem({ run }: { readonly run: RemediationRun }): ReactElement {
  const { id, remediation, phase, nodes, reason, waitsFor, startedAtMs } = run;
  const { mutate, isPending } = usePageCommand(["health"]);
  const cancel = (): void =>
    mutate({
      call: async (client) => {
        await client.cancelRemediationRun(id);
        return `No further node of ${id} is changed.`;
      },
    });
  const isWell = (each: RemediationRun["nodes"][number]): boolean =>
    each.phase === "returned" || each.phase === "asDesired";
  const failed = nodes.filter((each) => each.phase === "failed");
  return (
    <>
      <div className="flex flex-wrap items-start justify-between gap-2">
        <h3 className="min-w-0 font-medium break-words">
          {remediation} <span className="font-normal text-ink-3">({id})</span>
        </h3>
        {phase === "running" ? (
          <Button disabled={isPending} aria-label={`Cancel ${id}`} onClick={cancel}>
            Cancel
          </Button>
        ) : (
          <Badge tone={phase === "done" ? "run" : "bad"}>{phase}</Badge>
        )}
      </div>
      <p className="text-ink-2">
        Since <Moment atMs={startedAtMs} />: {grouped(nodes.filter(isWell).length)} of {plural(nodes.length, "node")} as
        desired, {grouped(failed.length)} failed.
      </p>
      {reason === "" ? null : <p className="break-words">{reason}</p>}
      {waitsFor === "" ? null : <p className="break-words text-ink-2">Waits for {waitsFor}</p>}
    </>
  );
}
