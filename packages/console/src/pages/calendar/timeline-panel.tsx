/** The next two weeks as a timeline, with one bar for each window and one mark for each due run of a schedule. */
import type { CalendarItem, ScheduleItem } from "@headroom/protocol";
import type { ReactElement } from "react";
import { useNow } from "../../connect/use-now.ts";
import { clockText, dayText } from "../../format/moment.ts";
import { Panel } from "../../parts/page.tsx";
import { midnightsIn, spansIn, type TimelineSpan } from "./timeline-spans.ts";

const DAY_MS = 86_400_000;
const DAYS = 14;
const HOUR_MS = 3_600_000;
const DAYS_BETWEEN_LABELS = 2;

const looks: Readonly<Record<TimelineSpan["kind"], string>> = {
  maintenance: "bg-stop",
  reservation: "bg-run",
  schedule: "bg-good",
};

interface TimelinePanelProps {
  readonly items: readonly CalendarItem[];
  readonly schedules: readonly ScheduleItem[];
}

export function TimelinePanel({ items, schedules }: TimelinePanelProps): ReactElement | null {
  const nowMs = Math.floor(useNow() / HOUR_MS) * HOUR_MS;
  const range = { fromMs: nowMs, toMs: nowMs + DAYS * DAY_MS };
  const rows = spansIn({ items, schedules, ...range });
  if (rows.length === 0) return null;
  const scale: DayScale = {
    days: midnightsIn(range, DAYS_BETWEEN_LABELS),
    share: (atMs) => (100 * (atMs - nowMs)) / (DAYS * DAY_MS),
  };
  return (
    <Panel title="Next 14 days" aside={<Legend hasMore={rows.some(({ moreAfterMs }) => moreAfterMs !== null)} />}>
      <ul className="px-4 py-3">
        {rows.map((row) => (
          <li key={`${row.kind} ${row.name}`} className={ROW}>
            <span className="truncate" title={row.name}>
              {row.name}
            </span>
            <Bars row={row} scale={scale} />
          </li>
        ))}
        <li aria-hidden="true" className={ROW}>
          <span />
          <p className="relative h-5 border-t border-line text-2xs text-ink-3">
            {scale.days.map((atMs, index) => (
              <span
                key={atMs}
                className={`absolute top-1 -translate-x-1/2 whitespace-nowrap ${index % 3 === 0 ? "" : "hidden sm:inline"}`}
                style={{ left: `${scale.share(atMs)}%` }}
              >
                {dayText(atMs)}
              </span>
            ))}
          </p>
        </li>
      </ul>
    </Panel>
  );
}

const ROW = "grid grid-cols-[6.5rem_1fr] items-center gap-x-3 sm:grid-cols-[10rem_1fr]";

interface DayScale {
  /** Labelled midnights. */
  readonly days: readonly number[];
  /** Position or length in percent of the width. */
  readonly share: (atMs: number) => number;
}

interface BarsProps {
  readonly row: TimelineSpan;
  readonly scale: DayScale;
}

function Bars({ row: { name, kind, spans, moreAfterMs }, scale: { days, share } }: BarsProps): ReactElement {
  const times = spans.map(({ fromMs, toMs }) => `${clockText(fromMs)} to ${clockText(toMs)}`).join("; ");
  return (
    <div
      role="img"
      aria-label={`${name}, ${kind}: ${times}${moreAfterMs === null ? "" : "; further runs after that"}`}
      className="relative h-6 border-l border-line"
    >
      {days.map((atMs) => (
        <span key={atMs} className="absolute inset-y-0 border-l border-line" style={{ left: `${share(atMs)}%` }} />
      ))}
      {moreAfterMs === null ? null : (
        <span
          title={`${name}: further runs`}
          className="absolute inset-y-2 right-0 bg-hatch"
          style={{ left: `${share(moreAfterMs)}%` }}
        />
      )}
      {spans.map(({ fromMs, toMs }) => (
        <span
          key={fromMs}
          title={`${name}: ${clockText(fromMs)} to ${clockText(toMs)}`}
          className={`absolute inset-y-1 min-w-1 rounded-sm ${looks[kind]}`}
          style={{ left: `${share(fromMs)}%`, width: `${share(toMs) - share(fromMs)}%` }}
        />
      ))}
    </div>
  );
}

function Legend({ hasMore }: { readonly hasMore: boolean }): ReactElement {
  return (
    <ul aria-label="Legend" className="flex flex-wrap gap-x-4 text-xs text-ink-2">
      {(["maintenance", "reservation", "schedule"] as const).map((kind) => (
        <li key={kind} className="flex items-center gap-1.5">
          <span aria-hidden="true" className={`h-2 w-3 rounded-sm ${looks[kind]}`} />
          {kind}
        </li>
      ))}
      {hasMore ? (
        <li className="flex items-center gap-1.5">
          <span aria-hidden="true" className="h-2 w-3 bg-hatch" />
          further runs
        </li>
      ) : null}
    </ul>
  );
}
