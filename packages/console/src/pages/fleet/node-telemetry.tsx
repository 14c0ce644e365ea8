/** Utilization, memory, temperature, power and errors of a node's accelerators, now and over time. */
import type { AcceleratorHistory, Node, NodeTelemetry } from "@headroom/protocol";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { nodeTelemetryQuery } from "../../data/queries.ts";
import { Select } from "../../parts/controls.tsx";
import { TimeChart } from "../../parts/time-chart.tsx";
import { errorsText, memoryUseText, powerText, temperatureText, utilizationText } from "./reading-text.ts";

export function NodeTelemetryPanel({ node }: { readonly node: Node }): ReactElement {
  const { data } = useQuery(nodeTelemetryQuery(useClient(), node.id));
  return (
    <section aria-label="Telemetry" className="border-t border-line py-3">
      <h3 className="px-4 pb-1 font-semibold">
        Telemetry
        {data?.readings.source == null ? null : (
          <span className="ml-2 text-xs font-normal text-ink-3">{data.readings.source}</span>
        )}
      </h3>
      {data === undefined ? <div className="skeleton mx-4 h-10" /> : <Content node={node} telemetry={data} />}
    </section>
  );
}

interface ContentProps {
  readonly node: Node;
  readonly telemetry: NodeTelemetry;
}

function Content({ node, telemetry: { readings, history } }: ContentProps): ReactElement {
  if (node.acceleratorCount === 0) return <p className="px-4 text-ink-2">The node has no accelerators.</p>;
  return (
    <>
      {readings.problem === null ? null : (
        <p className="px-4 pb-1 text-bad">The accelerators cannot be read: {readings.problem}.</p>
      )}
      {readings.accelerators.length > 0 ? (
        <ReadingTable telemetry={{ readings, history }} />
      ) : readings.problem === null ? (
        <p className="px-4 text-ink-2">{nothingText(readings)}</p>
      ) : null}
      {history.some(({ points }) => points.length > 1) ? <History history={history} /> : null}
    </>
  );
}

const nothingText = ({ source, atMs }: NodeTelemetry["readings"]): string =>
  atMs !== null && source === null
    ? "No telemetry: these are declared slots, which no vendor's tool can read."
    : "No telemetry yet: the accelerators are read every 15 seconds.";

const titles = ["#", "Use", "Memory", "Temp.", "Power", "Errors"];

function ReadingTable({ telemetry: { readings } }: { readonly telemetry: NodeTelemetry }): ReactElement {
  return (
    <div className="scroll-thin relative overflow-x-auto" tabIndex={0} role="region" aria-label="Accelerators">
      <table className="w-full text-left text-xs whitespace-nowrap">
        <thead className="text-ink-3">
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col" className="px-2 py-1 font-medium first:pl-4 last:pr-4">
                {title === "#" ? <abbr title="Accelerator">#</abbr> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {readings.accelerators.map((reading) => (
            <tr
              key={reading.index}
              className={reading.fault === null ? "" : "text-bad"}
              title={reading.fault ?? undefined}
            >
              <th scope="row" className="px-2 py-0.5 pl-4 font-normal">
                {reading.index}
              </th>
              <td className="px-2 py-0.5">{utilizationText(reading)}</td>
              <td className="px-2 py-0.5">{memoryUseText(reading)}</td>
              <td className="px-2 py-0.5">{temperatureText(reading)}</td>
              <td className="px-2 py-0.5">{powerText(reading)}</td>
              <td className={`px-2 py-0.5 pr-4 ${(reading.errorCount ?? 0) > 0 ? "font-medium text-bad" : ""}`}>
                {errorsText(reading)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {readings.accelerators.map(({ index, fault }) =>
        fault === null ? null : (
          <p key={index} className="px-4 pt-1 text-xs text-bad">
            Accelerator {index}: {fault}
          </p>
        ),
      )}
    </div>
  );
}

const charts = {
  busyMilli: {
    label: "Utilization",
    unit: "percent busy",
    factor: 0.1,
    text: (value: number) => `${Math.round(value)}%`,
  },
  memoryUsedMib: { label: "Memory", unit: "GiB", factor: 1 / 1024, text: (value: number) => `${value.toFixed(0)} GiB` },
  temperatureC: { label: "Temperature", unit: "°C", factor: 1, text: (value: number) => `${Math.round(value)} °C` },
  powerMilliwatts: { label: "Power", unit: "watts", factor: 0.001, text: (value: number) => `${Math.round(value)} W` },
  errorCount: { label: "Memory errors", unit: "errors", factor: 1, text: (value: number) => String(Math.round(value)) },
} as const;
type ChartName = keyof typeof charts;

/** Charts of the mean and the maximum over all accelerators, because eight lines in a drawer cannot be told apart. */
function History({ history }: { readonly history: readonly AcceleratorHistory[] }): ReactElement {
  const [name, setName] = useState<ChartName>("busyMilli");
  const { label, unit, factor, text } = charts[name];
  const columns = courseOf(history, name);
  return (
    <>
      <div className="flex items-center justify-between px-4 pt-2">
        <h4 className="text-xs font-medium text-ink-3">All accelerators of the node</h4>
        <Select
          label="Value"
          value={name}
          options={Object.entries(charts).map(([value, chart]) => ({ value, label: chart.label }))}
          onValue={(value) => setName(value as ChartName)}
        />
      </div>
      {columns.atMs.length < 2 ? (
        <p className="px-4 py-2 text-ink-2">{label} is not reported by these accelerators.</p>
      ) : (
        <TimeChart
          label={label}
          unit={unit}
          atMs={columns.atMs}
          series={[
            { name: "mean", values: columns.means.map((value) => value * factor), tone: "run", kind: "area" },
            { name: "highest", values: columns.most.map((value) => value * factor), tone: "wait", kind: "line" },
          ]}
          text={text}
        />
      )}
    </>
  );
}

interface Course {
  readonly atMs: readonly number[];
  readonly means: readonly number[];
  readonly most: readonly number[];
}

/** The node's values over time. All its accelerators are read together, so their points have the same times. */
function courseOf(history: readonly AcceleratorHistory[], name: ChartName): Course {
  const byTime = new Map<number, number[]>();
  for (const { points } of history)
    for (const point of points) {
      const value = point[name];
      if (value === null) continue;
      const known = byTime.get(point.atMs);
      if (known === undefined) byTime.set(point.atMs, [value]);
      else known.push(value);
    }
  const rows = [...byTime].toSorted(([left], [right]) => left - right);
  return {
    atMs: rows.map(([atMs]) => atMs),
    means: rows.map(([, values]) => values.reduce((sum, value) => sum + value, 0) / values.length),
    most: rows.map(([, values]) => values.reduce((most, value) => Math.max(most, value), 0)),
  };
}
