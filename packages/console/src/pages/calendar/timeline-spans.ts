/** Rows of the timeline: windows cut to its range, and the due times of schedules. */
import type { CalendarItem, ScheduleItem } from "@headroom/protocol";

export interface TimelineSpan {
  readonly name: string;
  readonly kind: "maintenance" | "reservation" | "schedule";
  /** Spans in the order of time, cut to the range of the timeline. */
  readonly spans: readonly { readonly fromMs: number; readonly toMs: number }[];
  /**
   * The last known due time, if the schedule has more runs within the range; `null`: there are none, or the row is not
   * a schedule.
   */
  readonly moreAfterMs: number | null;
}

/** Maximum number of due times that the API lists for a schedule (`nextAtsMs`). */
const DUE_KNOWN_MAX = 5;

interface Range {
  readonly items: readonly CalendarItem[];
  readonly schedules: readonly ScheduleItem[];
  readonly fromMs: number;
  readonly toMs: number;
}

export function spansIn({ items, schedules, fromMs, toMs }: Range): readonly TimelineSpan[] {
  const windows = items.flatMap(({ entry }): TimelineSpan[] => {
    if (entry.kind === "tariff" || entry.endMs <= fromMs || entry.startMs >= toMs) return [];
    const span = { fromMs: Math.max(fromMs, entry.startMs), toMs: Math.min(toMs, entry.endMs) };
    return [{ name: entry.name, kind: entry.kind, spans: [span], moreAfterMs: null }];
  });
  const runs = schedules.flatMap(({ schedule, nextAtsMs }): TimelineSpan[] => {
    const due = nextAtsMs.filter((atMs) => atMs >= fromMs && atMs < toMs);
    if (due.length === 0) return [];
    const spans = due.map((atMs) => ({ fromMs: atMs, toMs: atMs }));
    const last = nextAtsMs.at(-1) ?? toMs;
    const moreAfterMs = nextAtsMs.length >= DUE_KNOWN_MAX && last < toMs ? last : null;
    return [{ name: schedule.name, kind: "schedule", spans, moreAfterMs }];
  });
  return [...windows, ...runs];
}

/** Midnights of the reader's time zone within the range, but only one in every `everyDays`. */
export function midnightsIn({ fromMs, toMs }: Pick<Range, "fromMs" | "toMs">, everyDays: number): readonly number[] {
  const found: number[] = [];
  const at = new Date(fromMs);
  at.setHours(24, 0, 0, 0);
  for (; at.getTime() < toMs; at.setDate(at.getDate() + everyDays)) found.push(at.getTime());
  return found;
}
