/** Idle and oversized allocations, most accelerator time first. */
import type { WasteList } from "@headroom/protocol";
import { grouped, hoursText, plural } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { wasteQuery } from "../../data/queries.ts";
import { changesWaste } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Page } from "../../parts/page.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";

const EVERY_MS = 5_000;
/** Interval in ms: attempts report their use of accelerators every 30 s. */
const POLL_MS = 30_000;

export function WastePage(): ReactElement {
  const query = wasteQuery(useClient());
  const { data, error, refetch } = useQuery(query);
  useLiveQuery({ queryKey: query.queryKey, matters: changesWaste, everyMs: EVERY_MS, pollMs: POLL_MS });
  return (
    <Page
      title="Idle resources"
      layout="flow"
      summary={data?.sentence ?? "Accelerators, memory and time that are held or requested and not used"}
    >
      {data === undefined ? (
        error === null ? (
          <Loading label="Loading idle resources" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          <div className="max-w-6xl px-4 pb-6 md:px-6">
            {data.items.length === 0 ? <NothingFound list={data} /> : <WasteTable items={data.items} />}
          </div>
        </>
      )}
    </Page>
  );
}

/** The text of an empty list. It distinguishes "nothing is idle" from "no work reports its utilization". */
function NothingFound({ list: { toldCount, runningCount } }: { readonly list: WasteList }): ReactElement {
  if (runningCount === 0) {
    return (
      <Empty icon="check" title="Nothing is idle">
        <p>No running attempt holds accelerators.</p>
      </Empty>
    );
  }
  if (toldCount === 0) {
    return (
      <Empty icon="waste" title="No telemetry yet">
        <p>
          {plural(runningCount, "running attempt")} {runningCount === 1 ? "holds" : "hold"} accelerators, and nothing
          tells how busy they are. Idle accelerators are found once a vendor&apos;s tool (nvidia-smi, rocm-smi, DCGM)
          can read them, or the job reports utilization in its progress file.
        </p>
      </Empty>
    );
  }
  return (
    <Empty icon="check" title="Nothing is idle">
      <p>
        {grouped(toldCount)} of {plural(runningCount, "running attempt")} with accelerators report utilization, and all
        of it is in use. Nothing is assumed about the others.
      </p>
    </Empty>
  );
}

const words: Readonly<Record<WasteList["items"][number]["kind"], string>> = {
  idle: "Idle",
  unusedAccelerators: "Partly used",
  noProgress: "No progress",
  memoryTooLarge: "Memory",
  walltimeTooLong: "Walltime",
};

/** On a phone, the finding is shown below the name. */
const columns = [
  { title: "Workload", className: "" },
  { title: "Team", className: "hidden md:table-cell" },
  { title: "Kind", className: "hidden md:table-cell" },
  { title: "Idle accelerator-hours", className: "text-right" },
  { title: "Finding", className: "hidden md:table-cell" },
];

function WasteTable({ items }: Pick<WasteList, "items">): ReactElement {
  return (
    <div
      className="scroll-thin relative overflow-x-auto rounded-lg border border-line bg-surface"
      tabIndex={0}
      role="region"
      aria-label="Findings"
    >
      <table className="w-full text-left">
        <thead className="border-b border-line text-xs text-ink-3">
          <tr>
            {columns.map(({ title, className }) => (
              <th key={title} scope="col" className={`px-4 py-2 font-medium ${className}`}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {items.map(({ workloadId, kind, name, team, wastedAcceleratorMs, sentence }) => (
            <tr key={`${workloadId} ${kind}`} className="align-top hover:bg-hover">
              <th scope="row" className="px-4 py-2 font-medium whitespace-nowrap">
                <Link to="/workloads/$workloadId" params={{ workloadId }} className="hover:underline">
                  {name}
                </Link>
                <p className="pt-0.5 font-normal whitespace-normal text-ink-2 md:hidden">{sentence}</p>
              </th>
              <td className="hidden px-4 py-2 text-ink-2 md:table-cell">{team}</td>
              <td className="hidden px-4 py-2 text-xs font-medium whitespace-nowrap text-wait md:table-cell">
                {words[kind]}
              </td>
              <td className="px-4 py-2 text-right">
                {wastedAcceleratorMs === null ? "–" : hoursText(wastedAcceleratorMs / 3_600_000)}
              </td>
              <td className="hidden min-w-72 px-4 py-2 md:table-cell">{sentence}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
