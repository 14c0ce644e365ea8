/** Rows of the timeline: windows cut to its range, and the due times of schedules. */
import type { CalendarItem, ScheduleItem } from "@headroom/protocol";

export interface TimelineSpan {
  readonly name: string;
  readonly kind: "maintenance" | "reservation" | "schedule";
  /** In their order, within the range of the timeline. */
  readonly spans: readonly { readonly fromMs: number; readonly toMs: number }[];
}

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
    return [{ name: entry.name, kind: entry.kind, spans: [span] }];
  });
  const runs = schedules.flatMap(({ schedule, nextAtsMs }): TimelineSpan[] => {
    const due = nextAtsMs.filter((atMs) => atMs >= fromMs && atMs < toMs);
    return due.length === 0
      ? []
      : [{ name: schedule.name, kind: "schedule", spans: due.map((atMs) => ({ fromMs: atMs, toMs: atMs })) }];
  });
  return [...windows, ...runs];
}
