import type { ReplayGroup, ReplayReport } from "@headroom/protocol";
import { grouped } from "@headroom/views";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { spanText } from "../../format/amounts.ts";
import { Button } from "../../parts/button.tsx";
import { Segments } from "../../parts/controls.tsx";
import { TimeChart, type TimeSeries } from "../../parts/time-chart.tsx";
import { Panel } from "../../parts/page.tsx";
import { Empty, Failure } from "../../parts/states.tsx";
import { ChangeForm } from "./change-form.tsx";
import { isChange, teamChanges } from "./change.ts";
import { fittedCharts } from "./fitted-chart.ts";
import { replayed } from "./replayed.ts";
import type { Situation } from "./situation.ts";

const DAY_MS = 86_400_000;
const periods = ["1", "7", "30"] as const;
export function RecordedPast({ change: given, onChange, nodes: _nodes, ...situation }: Situation): ReactElement {
  const client = useClient();
  const [days, setDays] = useState<(typeof periods)[number]>("7");
  const [progress, setProgress] = useState(0);
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const { pool: _pool, ...kept } = given;
  const change = { ...kept, nodes: {}, lost: null };
  const ask = useMutation({
    mutationFn: () => {
      const controller = new AbortController();
      abort.current = controller;
      setProgress(0);
      const question = {
        periodMs: Number(days) * DAY_MS,
        teams: teamChanges(change, situation.teams),
        ...(change.policy === null ? {} : { policy: { preset: change.policy } }),
      };
      return replayed(client, question, { signal: controller.signal, onProgress: setProgress });
    },
  });
  return (
    <div className="grid max-w-7xl items-start gap-4 px-4 pb-6 md:px-6 lg:grid-cols-[22rem_1fr]">
      <ChangeForm change={change} onChange={onChange} nodes={null} {...situation}>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <Segments
            label="Days back"
            name="days"
            value={days}
            options={periods.map((value) => ({ value, label: `${value} d` }))}
            onValue={setDays}
          />
          {ask.isPending ? (
            <Button onClick={() => abort.current?.abort()}>Cancel</Button>
          ) : (
            <Button look="primary" disabled={!isChange(change)} onClick={() => ask.mutate()}>
              Replay
            </Button>
          )}
        </div>
        {ask.isPending ? (
          <progress aria-label="Replaying" max={1} value={progress} className="h-1.5 w-full accent-accent" />
        ) : null}
      </ChangeForm>
      <div className="flex min-w-0 flex-col gap-4" aria-live="polite" aria-busy={ask.isPending}>
        {ask.error !== null ? (
          <Failure error={ask.error} onRetry={() => ask.mutate()} />
        ) : ask.data === undefined || ask.data === null ? (
          <Panel title="Recorded window">
            <Empty icon="whatIf" title="Nothing is replayed yet">
              Choose another policy or other figures of teams: what was recorded is decided again, with the same
              submissions and nodes and work that takes what it really took.
            </Empty>
          </Panel>
        ) : (
          <Report report={ask.data} />
        )}
      </div>
    </div>
  );
}

const timelines = [
  { name: "recorded", label: "Recorded", tone: "idle", isDashed: true },
  { name: "control", label: "Replayed as it was", tone: "stop", isDashed: true },
  { name: "changed", label: "With the change", tone: "run", isDashed: false },
] as const;

const whole = (value: number): string => grouped(Math.round(value));

function Report({ report }: { readonly report: ReplayReport }): ReactElement {
  const course = (of: (sample: ReplayReport["changed"]["samples"][number]) => number): readonly TimeSeries[] =>
    timelines.map(({ name, label, tone, isDashed }) => ({
      name: label,
      tone,
      isDashed,
      kind: "line",
      values: report[name].samples.map(of),
    }));
  const [held, waiting] = fittedCharts(
    [course(({ heldAccelerators }) => heldAccelerators), course(({ waitingWorkloads }) => waitingWorkloads)],
    { fromMs: report.fromMs, toMs: report.toMs },
  );
  return (
    <>
      <Panel title="Result">
        <p className="px-4 py-3 text-base">{report.sentence}</p>
      </Panel>
      <Groups title="By team" groups={report.teams} />
      <Panel title="Accelerators in use">
        <TimeChart
          label="Accelerators in use"
          endLabel="At the end"
          unit="accelerators in use"
          atMs={held?.atMs ?? []}
          series={held?.series ?? []}
          text={whole}
        />
      </Panel>
      <Panel title="Workloads that wait">
        <TimeChart
          label="Waiting"
          endLabel="At the end"
          unit="workloads that wait"
          atMs={waiting?.atMs ?? []}
          series={waiting?.series ?? []}
          text={whole}
        />
      </Panel>
      <Groups title="By user" groups={report.users} />
      <Groups title="By size" groups={report.sizes} />
      <Panel title="Unknown in the record">
        <ul className="list-disc space-y-1 py-3 pr-4 pl-8 text-ink-2">
          {report.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      </Panel>
    </>
  );
}

const outcomes = {
  wins: { text: "waits less", className: "text-good" },
  loses: { text: "waits longer", className: "text-bad" },
  same: { text: "as before", className: "text-ink-3" },
} as const;

const ROWS_MAX = 50;

function Groups({ title, groups }: { readonly title: string; readonly groups: readonly ReplayGroup[] }): ReactElement {
  return (
    <Panel title={title}>
      <div
        className="scroll-thin relative overflow-x-auto"
        tabIndex={0}
        role="region"
        aria-label={`Waits ${title.toLowerCase()}`}
      >
        <table className="w-full text-left">
          <thead className="border-b border-line text-xs text-ink-3">
            <tr>
              {["Name", "Workloads", "Mean wait", "95 of 100 below", "Accelerator hours", "Evictions", ""].map(
                (heading) => (
                  <th key={heading} scope="col" className="px-4 py-2 font-medium whitespace-nowrap">
                    {heading === "" ? <span className="sr-only">Outcome</span> : heading}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {groups.slice(0, ROWS_MAX).map(({ name, control, changed, outcome }) => (
              <tr key={name} className="whitespace-nowrap">
                <th scope="row" className="px-4 py-1.5 font-medium">
                  {name}
                </th>
                <td className="px-4 py-1.5">
                  {control.workloads === changed.workloads ? "" : `${grouped(control.workloads)} → `}
                  {grouped(changed.workloads)}
                </td>
                <td className="px-4 py-1.5">
                  {spanText(control.waitMeanMs)} → {spanText(changed.waitMeanMs)}
                </td>
                <td className="px-4 py-1.5">
                  {spanText(control.waitP95Ms)} → {spanText(changed.waitP95Ms)}
                </td>
                <td className="px-4 py-1.5">
                  {whole(control.acceleratorHours)} → {whole(changed.acceleratorHours)}
                </td>
                <td className="px-4 py-1.5">
                  {grouped(control.evictions)} → {grouped(changed.evictions)}
                </td>
                <td className={`px-4 py-1.5 ${outcomes[outcome].className}`}>{outcomes[outcome].text}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
