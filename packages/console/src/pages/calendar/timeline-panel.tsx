/** The next two weeks as a timeline: one bar per window, one mark per due run of a schedule. */
import type { CalendarItem, ScheduleItem } from "@headroom/protocol";
import type { ReactElement } from "react";
import { useNow } from "../../connect/use-now.ts";
import { clockText } from "../../format/moment.ts";
import { Panel } from "../../parts/page.tsx";
import { spansIn, type TimelineSpan } from "./timeline-spans.ts";

const DAY_MS = 86_400_000;
const DAYS = 14;
const HOUR_MS = 3_600_000;

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
  const rows = spansIn({ items, schedules, fromMs: nowMs, toMs: nowMs + DAYS * DAY_MS });
  if (rows.length === 0) return null;
  const share = (atMs: number): number => (100 * (atMs - nowMs)) / (DAYS * DAY_MS);
  return (
    <Panel
      title="Next 14 days"
      aside={
        <ul aria-label="Legend" className="flex gap-x-4 text-xs text-ink-2">
          {(["maintenance", "reservation", "schedule"] as const).map((kind) => (
            <li key={kind} className="flex items-center gap-1.5">
              <span aria-hidden="true" className={`h-2 w-3 rounded-sm ${looks[kind]}`} />
              {kind}
            </li>
          ))}
        </ul>
      }
    >
      <ul className="px-4 py-3">
        {rows.map(({ name, kind, spans }) => (
          <li
            key={`${kind} ${name}`}
            className="grid grid-cols-[6.5rem_1fr] items-center gap-x-3 sm:grid-cols-[10rem_1fr]"
          >
            <span className="truncate" title={name}>
              {name}
            </span>
            <div
              role="img"
              aria-label={`${name}, ${kind}: ${spans.map(({ fromMs, toMs }) => `${clockText(fromMs)} to ${clockText(toMs)}`).join("; ")}`}
              className="relative h-6 border-l border-line"
            >
              {spans.map(({ fromMs, toMs }) => (
                <span
                  key={fromMs}
                  title={`${name}: ${clockText(fromMs)} to ${clockText(toMs)}`}
                  className={`absolute inset-y-1 min-w-1 rounded-sm ${looks[kind]}`}
                  style={{ left: `${share(fromMs)}%`, width: `${share(toMs) - share(fromMs)}%` }}
                />
              ))}
            </div>
          </li>
        ))}
        <li aria-hidden="true" className="grid grid-cols-[6.5rem_1fr] gap-x-3 sm:grid-cols-[10rem_1fr]">
          <span />
          <p className="flex justify-between border-t border-line pt-1 text-2xs text-ink-3">
            {[0, 0.5, 1].map((part) => (
              <span key={part}>{clockText(nowMs + part * DAYS * DAY_MS)}</span>
            ))}
          </p>
        </li>
      </ul>
    </Panel>
  );
}
