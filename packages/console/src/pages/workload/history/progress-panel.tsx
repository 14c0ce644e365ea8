import type { Workload } from "@headroom/protocol";
import { grouped, rejectedLineTexts, rejectedLinesText } from "@headroom/views";
import { Suspense, lazy, useMemo, useState } from "react";
import type { ReactElement } from "react";
import { metricText } from "@headroom/views";
import { percentText } from "../../../format/amounts.ts";
import { Select } from "../../../parts/controls.tsx";
import { Panel } from "../../../parts/page.tsx";
import { UsageBar } from "../../../parts/usage-bar.tsx";
import { useWidth } from "../../fleet/use-width.ts";
import { metricNames, seriesOf } from "./progress-history.ts";
import type { WorkloadHistory } from "./use-history.ts";

const MetricChart = lazy(async () => ({ default: (await import("./metric-chart.tsx")).MetricChart }));

interface ProgressPanelProps {
  readonly workload: Workload;
  readonly history: WorkloadHistory;
  readonly isSimulated: boolean;
}

export function ProgressPanel({ workload, history, isSimulated }: ProgressPanelProps): ReactElement {
  const names = useMemo(() => metricNames(history.points), [history.points]);
  const [chosen, setChosen] = useState<string>();
  const metric = chosen !== undefined && names.includes(chosen) ? chosen : names[0];
  return (
    <Panel
      title={isSimulated ? "Progress (simulated)" : "Progress"}
      aside={
        names.length < 2 ? null : (
          <Select
            label="Metric"
            value={metric ?? ""}
            options={names.map((name) => ({ value: name, label: name }))}
            onValue={setChosen}
          />
        )
      }
    >
      <Steps workload={workload} history={history} />
      {history.rejected.map((attempt) => (
        <Rejected key={attempt.attemptId} {...attempt} />
      ))}
      {metric === undefined ? null : <Chart metric={metric} history={history} />}
      {names.length === 0 && !history.isLoading ? <NoReports workload={workload} /> : null}
      {history.isCut ? (
        <p className="px-4 pb-3 text-xs text-ink-3">
          The beginning is further back than the console reads; the journal has it.
        </p>
      ) : null}
    </Panel>
  );
}

function Steps({ workload, history }: Omit<ProgressPanelProps, "isSimulated">): ReactElement | null {
  const newest = history.points.at(-1);
  const { progress, checkpoint, kind, tasks } = workload;
  if (kind === "batch") {
    const done = tasks.succeeded + tasks.failed;
    return (
      <div className="px-4 pt-3 pb-2">
        <p className="mb-1.5">
          <strong className="font-semibold">
            {grouped(done)} of {grouped(tasks.total)} tasks ended
          </strong>
          <span className="text-ink-2">
            , {grouped(tasks.active)} running, {grouped(tasks.waiting)} waiting, {grouped(tasks.failed)} failed
          </span>
        </p>
        <UsageBar
          total={tasks.total}
          className="h-2"
          parts={[
            { key: "succeeded", amount: tasks.succeeded, className: "bg-good" },
            { key: "failed", amount: tasks.failed, className: "bg-bad" },
            { key: "active", amount: tasks.active, className: "bg-run" },
          ]}
        />
      </div>
    );
  }
  const step = progress?.step ?? newest?.step;
  if (step === undefined) return null;
  const total = progress?.totalSteps ?? null;
  return (
    <div className="px-4 pt-3 pb-2">
      <p className="mb-1.5">
        <strong className="font-semibold">Step {grouped(step)}</strong>
        <span className="text-ink-2" title={checkpoint?.path}>
          {total === null ? "" : ` of ${grouped(total)}, ${percentText(step, total)}`}
          {Object.entries(progress?.metrics ?? {}).map(([name, value]) => `, ${name} ${metricText(value)}`)}
          {checkpoint === null ? "" : `, newest checkpoint at step ${grouped(checkpoint.step)}`}
        </span>
      </p>
      {total === null ? null : (
        <UsageBar total={total} className="h-2" parts={[{ key: "done", amount: step, className: "bg-run" }]} />
      )}
    </div>
  );
}

function Chart({ metric, history }: { readonly metric: string; readonly history: WorkloadHistory }): ReactElement {
  const [frame, width] = useWidth();
  const { steps, values } = useMemo(() => seriesOf(history.points, metric), [history.points, metric]);
  return (
    <div className="px-4 pb-3">
      <p className="text-xs font-medium text-ink-3">{metric} by step</p>
      <div ref={frame} className="min-h-[220px]">
        <Suspense fallback={<div className="skeleton h-[220px]" />}>
          <MetricChart metric={metric} steps={steps} values={values} width={width} />
        </Suspense>
      </div>
    </div>
  );
}

function Rejected({ attemptId, rejectedLines }: WorkloadHistory["rejected"][number]): ReactElement | null {
  if (rejectedLines === undefined) return null;
  return (
    <div role="status" className="mx-4 my-2 border-l-2 border-wait pl-3 text-xs">
      <p>{rejectedLinesText(attemptId, rejectedLines)}</p>
      {rejectedLineTexts(rejectedLines).map(({ problem, line, expected }) => (
        <p key={problem} className="mt-1 break-all text-ink-2">
          {problem} <code className="font-mono">{line}</code>; expected: <code className="font-mono">{expected}</code>
        </p>
      ))}
    </div>
  );
}

function NoReports({ workload }: { readonly workload: Workload }): ReactElement | null {
  if (workload.kind === "batch") return <p className="pb-2" />;
  return (
    <p className="px-4 py-3 text-ink-2">
      {workload.firstStartedAtMs === null ? (
        workload.endedAtMs === null ? (
          "It has not started yet."
        ) : (
          "It ended before it started."
        )
      ) : (
        <>
          {workload.phase === "failed" ? "It failed before it reported any progress" : "Nothing was reported"}. A
          program that appends lines such as{" "}
          <code className="font-mono text-xs">{'{"kind":"progress","step":120,"metrics":{"loss":2.31}}'}</code> to the
          file named by <code className="font-mono text-xs">HEADROOM_PROGRESS_FILE</code> shows its course here.
        </>
      )}
    </p>
  );
}
