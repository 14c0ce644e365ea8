import { grouped, memoryText } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { usageQuery } from "../../data/queries.ts";
import { spanText } from "../../format/amounts.ts";
import { Panel } from "../../parts/page.tsx";

/** Memory usage causes no event, so it is polled while the panel is visible. */
const EVERY_MS = 5_000;
const WORKERS_SHOWN_MAX = 16;

export function UsagePanel({ workloadId }: { readonly workloadId: string }): ReactElement | null {
  const { data } = useQuery({ ...usageQuery(useClient(), workloadId), refetchInterval: EVERY_MS, retry: false });
  const rows = (data?.attempts ?? []).flatMap(({ attemptId, task, workers }) =>
    workers.map((usage) => ({ ...usage, attemptId, task })),
  );
  if (rows.length === 0) return null;
  return (
    <Panel title="Use">
      <div className="scroll-thin overflow-x-auto">
        <table className="w-full text-left">
          <thead className="text-xs text-ink-3">
            <tr>
              {["Worker", "Processor time", "Memory", "Peak"].map((name) => (
                <th key={name} scope="col" className="px-4 pt-2 font-medium">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, WORKERS_SHOWN_MAX).map(({ attemptId, task, worker, cpuMs, rssMib, peakRssMib }) => (
              <tr key={`${attemptId} ${worker}`}>
                <th scope="row" className="px-4 py-1 font-normal">
                  {task > 0 ? `${task}.${worker}` : worker}
                </th>
                <td className="px-4 py-1">{spanText(cpuMs)}</td>
                <td className="px-4 py-1">{memoryText(rssMib)}</td>
                <td className="px-4 py-1 text-ink-2">{memoryText(peakRssMib)}</td>
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
