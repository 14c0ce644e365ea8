import { grouped, memoryText } from "@headroom/views";
import type { AcceleratorReading, WorkloadUsage } from "@headroom/protocol";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { usageQuery } from "../../data/queries.ts";
import { spanText } from "../../format/amounts.ts";
import { Panel } from "../../parts/page.tsx";

/** Memory usage causes no event, so it is polled while the panel is visible. */
const EVERY_MS = 5_000;
const WORKERS_SHOWN_MAX = 16;

/** Number of cores that a worker used on average between the last two answers. */
function useCoresUsed(data: WorkloadUsage | undefined): (key: string, cpuMs: number) => string {
  const [pair, setPair] = useState<{ readonly before?: WorkloadUsage; readonly now?: WorkloadUsage }>({});
  if (data !== undefined && data !== pair.now)
    setPair({ ...(pair.now === undefined ? {} : { before: pair.now }), now: data });
  const { before } = pair;
  const earlier = new Map<string, number>(
    (before?.attempts ?? []).flatMap(({ attemptId, workers }) =>
      workers.map(({ worker, cpuMs }) => [`${attemptId} ${worker}`, cpuMs] as const),
    ),
  );
  return (key, cpuMs) => {
    const was = earlier.get(key);
    const spanMs = (data?.atMs ?? 0) - (before?.atMs ?? 0);
    return was === undefined || spanMs <= 0 ? "–" : ((cpuMs - was) / spanMs).toFixed(1);
  };
}

const processTitles = ["Worker", "Node", "Cores used", "Processor time", "Memory", "Peak"];
const acceleratorTitles = ["Accelerators busy", "Accelerator memory", "Temperature", "Power", "Errors"];

/**
 * Readings of all accelerators of a worker: mean utilization, fullest memory, highest temperature, and the sums of
 * power and errors.
 */
function ReadingCells({ accelerators }: { readonly accelerators: readonly AcceleratorReading[] }): ReactElement {
  const cells = [
    meanText(accelerators.map(({ busyMilli }) => busyMilli)),
    extremeText(
      accelerators.map(({ memoryUsedMib }) => memoryUsedMib),
      memoryText,
    ),
    extremeText(
      accelerators.map(({ temperatureC }) => temperatureC),
      (value) => `${Math.round(value)} °C`,
    ),
    sumText(
      accelerators.map(({ powerMilliwatts }) => powerMilliwatts),
      (value) => `${Math.round(value / 1000)} W`,
    ),
    sumText(
      accelerators.map(({ errorCount }) => errorCount),
      grouped,
    ),
  ];
  return (
    <>
      {cells.map((text, column) => (
        <td key={acceleratorTitles[column]} className="px-4 py-1">
          {text}
        </td>
      ))}
    </>
  );
}

type MaybeNumbers = readonly (number | null)[];
const known = (values: MaybeNumbers): readonly number[] => values.filter((value) => value !== null);

function meanText(values: MaybeNumbers): string {
  const all = known(values);
  return all.length === 0 ? "–" : `${Math.round(all.reduce((sum, value) => sum + value, 0) / all.length / 10)}%`;
}

function sumText(values: MaybeNumbers, text: (value: number) => string): string {
  const all = known(values);
  return all.length === 0 ? "–" : text(all.reduce((sum, value) => sum + value, 0));
}

function extremeText(values: MaybeNumbers, text: (value: number) => string): string {
  const all = known(values);
  return all.length === 0 ? "–" : text(all.reduce((most, value) => Math.max(most, value)));
}

export function UsagePanel({ workloadId }: { readonly workloadId: string }): ReactElement | null {
  const { data } = useQuery({ ...usageQuery(useClient(), workloadId), refetchInterval: EVERY_MS, retry: false });
  const rows = (data?.attempts ?? []).flatMap(({ attemptId, task, workers }) =>
    workers.map((usage) => ({ ...usage, attemptId, task })),
  );
  const coresUsed = useCoresUsed(data);
  const hasReadings = rows.some(({ accelerators }) => accelerators !== undefined);
  const titles = [...processTitles, ...(hasReadings ? acceleratorTitles : [])];
  if (rows.length === 0) return null;
  return (
    <Panel title="Workers">
      <div className="scroll-thin relative overflow-x-auto" tabIndex={0} role="group" aria-label="Use of each worker">
        <table className="w-full text-left">
          <thead className="text-xs text-ink-3">
            <tr>
              {titles.map((name) => (
                <th key={name} scope="col" className="px-4 pt-2 font-medium">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows
              .slice(0, WORKERS_SHOWN_MAX)
              .map(({ attemptId, task, worker, node, cpuMs, rssMib, peakRssMib, accelerators = [] }) => (
                <tr key={`${attemptId} ${worker}`}>
                  <th scope="row" className="px-4 py-1 font-normal">
                    {task > 0 ? `${task}.${worker}` : worker}
                  </th>
                  <td className="px-4 py-1 text-ink-2">{node ?? "–"}</td>
                  <td className="px-4 py-1">{coresUsed(`${attemptId} ${worker}`, cpuMs)}</td>
                  <td className="px-4 py-1">{spanText(cpuMs)}</td>
                  <td className="px-4 py-1">{memoryText(rssMib)}</td>
                  <td className="px-4 py-1 text-ink-2">{memoryText(peakRssMib)}</td>
                  {hasReadings ? <ReadingCells accelerators={accelerators} /> : null}
                </tr>
              ))}
          </tbody>
        </table>
      </div>
      {rows.length > WORKERS_SHOWN_MAX ? (
        <p className="px-4 pb-2 text-xs text-ink-3">and {grouped(rows.length - WORKERS_SHOWN_MAX)} more workers</p>
      ) : null}
    </Panel>
  );
}
