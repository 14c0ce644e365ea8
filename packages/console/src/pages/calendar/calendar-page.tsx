/** Calendar: maintenance windows, reservations, schedules and power tariffs. */
import type { CalendarItem } from "@headroom/protocol";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { calendarQuery, schedulesQuery } from "../../data/queries.ts";
import { changesCalendar, changesSchedules } from "../../live/interest.ts";
import { useLiveQuery } from "../../live/use-live-query.ts";
import { Page, Panel } from "../../parts/page.tsx";
import { Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { SchedulesPanel } from "./schedules-panel.tsx";
import { TimelinePanel } from "./timeline-panel.tsx";
import { WindowsPanel } from "./windows-panel.tsx";

/** Minimum interval in ms between fetches. Usage changes with every start, but windows are hours ahead. */
const EVERY_MS = 2_000;

export function CalendarPage(): ReactElement {
  const client = useClient();
  const planned = useQuery(calendarQuery(client));
  const schedules = useQuery(schedulesQuery(client));
  useLiveQuery({ queryKey: ["calendar"], matters: changesCalendar, everyMs: EVERY_MS });
  useLiveQuery({ queryKey: ["schedules"], matters: changesSchedules, everyMs: EVERY_MS });
  const error = planned.error ?? schedules.error;
  return (
    <Page title="Calendar" layout="flow" summary="Maintenance windows, reservations and schedules">
      {planned.data === undefined || schedules.data === undefined ? (
        error === null ? (
          <Loading label="Loading the calendar" />
        ) : (
          <Failure error={error} onRetry={() => void Promise.all([planned.refetch(), schedules.refetch()])} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          <div className="flex max-w-6xl flex-col gap-4 px-4 pb-6 md:px-6">
            <TimelinePanel items={planned.data.items} schedules={schedules.data.items} />
            <WindowsPanel items={planned.data.items} />
            <SchedulesPanel items={schedules.data.items} />
            <TariffsPanel items={planned.data.items} />
          </div>
        </>
      )}
    </Page>
  );
}

/** The panel is hidden if no tariff is declared. */
function TariffsPanel({ items }: { readonly items: readonly CalendarItem[] }): ReactElement | null {
  const tariffs = items.filter(({ entry }) => entry.kind === "tariff");
  if (tariffs.length === 0) return null;
  return (
    <Panel title="Power">
      <ul className="divide-y divide-line">
        {tariffs.map(({ entry, sentence }) => (
          <li key={entry.name} className="px-4 py-2">
            {sentence}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
