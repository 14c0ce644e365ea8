import type { MeasuredRun } from "@headroom/protocol";
import { slowRunText, stepText } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { predictionsQuery } from "../../data/queries.ts";
import { Panel } from "../../parts/page.tsx";

/** Interval in ms: attempts are measured every minute. */
const POLL_MS = 30_000;
const ATTEMPTS_SHOWN_MAX = 5;
const titles = ["Attempt", "On", "Predicted", "80% range", "Measured", "Difference"];

/** Predicted and measured step times of a workload that names its model; empty for other workloads. */
export function StepPanel({ workloadId }: { readonly workloadId: string }): ReactElement | null {
  const { data } = useQuery({ ...predictionsQuery(useClient(), workloadId), refetchInterval: POLL_MS, retry: false });
  const runs = data?.items.slice(0, ATTEMPTS_SHOWN_MAX) ?? [];
  if (runs.length === 0) return null;
  const slow = runs.flatMap((run) => slowRunText(run) ?? []).slice(0, 1);
  return (
    <Panel title="Step time" {...(slow.length === 0 ? {} : { className: "border-l-2 border-l-wait" })}>
      {slow.map((text) => (
        <p key={text} className="px-4 pt-3 text-base">
          {text}.
        </p>
      ))}
      <div className="scroll-thin relative overflow-x-auto pb-2">
        <table className="w-full text-left">
          <thead className="text-xs text-ink-3">
            <tr>
              {titles.map((title) => (
                <th key={title} scope="col" className="px-4 pt-2 font-medium">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <StepRow key={run.attemptId} run={run} />
            ))}
          </tbody>
        </table>
        {runs.slice(0, 1).map((run) => (
          <PartTable key={run.attemptId} run={run} />
        ))}
      </div>
    </Panel>
  );
}

const partNames = [
  ["compute", "Computation"],
  ["network", "Network"],
  ["storage", "Storage"],
] as const;

/** Components of the step time of the newest attempt; empty until a component is measured. */
function PartTable({ run: { predicted, measured } }: { readonly run: MeasuredRun }): ReactElement | null {
  const parts = measured?.parts;
  if (parts === undefined || Object.values(parts).every((seconds) => seconds === null || seconds === 0)) return null;
  return (
    <table className="mt-3 w-full text-left">
      <thead className="text-xs text-ink-3">
        <tr>
          {["Part of a step", "Predicted", "Measured"].map((title) => (
            <th key={title} scope="col" className="px-4 font-medium">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {partNames.map(([part, title]) => (
          <tr key={part}>
            <th scope="row" className="px-4 py-1 font-normal">
              {title}
            </th>
            <td className="px-4 py-1">{stepText(predicted.parts[part])}</td>
            <td className="px-4 py-1">{parts[part] === null ? "not reported" : stepText(parts[part])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function StepRow({ run }: { readonly run: MeasuredRun }): ReactElement {
  const { attemptId, acceleratorType, acceleratorCount, predicted, measured } = run;
  const share = measured === null ? 0 : Math.round((measured.seconds / predicted.seconds - 1) * 100);
  return (
    <tr>
      <th scope="row" className="px-4 py-1 font-normal">
        {attemptId}
      </th>
      <td className="px-4 py-1">
        {acceleratorCount} × {acceleratorType}
      </td>
      <td className="px-4 py-1">{stepText(predicted.seconds)}</td>
      <td className="px-4 py-1 text-ink-2">
        {stepText(predicted.lowSeconds)} to {stepText(predicted.highSeconds)}
      </td>
      <td className="px-4 py-1">{measured === null ? "–" : stepText(measured.seconds)}</td>
      <td className="px-4 py-1">{measured === null ? "–" : `${share > 0 ? "+" : ""}${share}%`}</td>
    </tr>
  );
}
