/** Allocated accelerator-hours of the last seven days by cause, for each team and in all. The causes add up to the allocated time. */
import type { CauseHours } from "@headroom/protocol";
import { grouped, plural } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { causeHoursQuery } from "../../data/queries.ts";
import { Panel } from "../../parts/page.tsx";
import { PanelTable } from "./panel-table.tsx";

const TEAMS_SHOWN = 12;
const numberCell = "px-4 py-1 text-right tabular-nums";

const titles: Record<CauseHours["total"]["causes"][number]["cause"], string> = {
  compute: "Compute",
  communication: "Communication",
  io: "I/O",
  unmeasured: "Not measured",
  idle: "Idle",
  failure: "Failure",
  restart: "Restart",
  waiting: "Waiting",
};

/** Nothing before anything was allocated, and for users who may not read usage. */
export function HoursPanel(): ReactElement | null {
  const { data } = useQuery({ ...causeHoursQuery(useClient()), retry: false });
  if (data === undefined || data.total.allocated.hours <= 0) return null;
  const { items, total, unallocated, attempts, measuredAttempts } = data;
  const lines = items.length > 1 ? [...items.slice(0, TEAMS_SHOWN), total] : [total];
  return (
    <Panel title="Accelerator-hours by cause" aside={<Link to="/cost">Costs</Link>}>
      <PanelTable
        label="Accelerator-hours by cause"
        region="Hours by cause"
        texts={["Last seven days"]}
        numbers={["Allocated", ...total.causes.map(({ cause }) => titles[cause])]}
      >
        {lines.map((line) => (
          <tr key={line === total ? "" : line.group} data-row>
            <th scope="row" className="px-4 py-1 font-normal">
              {line === total ? "All teams" : line.group}
            </th>
            <td className={numberCell}>{hoursText(line.allocated.hours)}</td>
            {line.causes.map(({ cause, hours }) => (
              <td key={cause} className={numberCell}>
                {hoursText(hours)}
              </td>
            ))}
          </tr>
        ))}
      </PanelTable>
      <p className="px-4 py-2 text-ink-2">
        {unallocated.length === 0
          ? ""
          : `Not allocated: ${unallocated.map(({ reason, hours }) => `${wordsOf(reason)} ${hoursText(hours)}`).join(", ")}. `}
        {measuredAttempts < attempts
          ? `${plural(attempts - measuredAttempts, "attempt")} of ${grouped(attempts)} did not report the parts of a step, so the used time is not divided.`
          : ""}
      </p>
    </Panel>
  );
}

const hoursText = (hours: number): string => (hours < 10 ? hours.toFixed(1) : grouped(Math.round(hours)));

/** `nodeLost` as words. */
const wordsOf = (reason: string): string => reason.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
