/** Backfills: one run for each day, or each hour, of a span of dates in a time zone. */
import { DAY_MS, civilDay } from "@headroom/model";

/**
 * Offset of local time from UTC in ms at an instant. It comes from the caller, because time zones change by law and are
 * data of the machine.
 */
export type ZoneOffsetAt = (instantMs: number) => number;

export interface BackfillSpan {
  /** The first and the last day, as `2026-03-28`. */
  readonly from: string;
  readonly to: string;
  readonly every: "day" | "hour";
}

export interface BackfillDate {
  /** The value of the parameter `date`: `2026-03-29`, or `2026-03-29T02:00+02:00` for an hour. */
  readonly date: string;
  /** The instant at which the day or hour begins. */
  readonly startMs: number;
}

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Maximum number of runs of a backfill. */
export const BACKFILL_RUNS_MAX = 1_000;

/** Number of the day since 1970, or `null` if the text is no day. */
export function dayNumber(text: string): number | null {
  const [, year = "", month = "", day = ""] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  if (year === "") return null;
  const wanted = { year: Number(year), month: Number(month), day: Number(day) };
  // Days of the civil calendar by Howard Hinnant's `days_from_civil`.
  const shifted = wanted.month <= 2 ? wanted.year - 1 : wanted.year;
  const era = Math.floor(shifted / 400);
  const ofEra = shifted - era * 400;
  const ofYear = Math.floor((153 * (wanted.month + (wanted.month > 2 ? -3 : 9)) + 2) / 5) + wanted.day - 1;
  const number = era * 146_097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719_468;
  return dayText(number) === text ? number : null;
}

const pad = (value: number): string => String(value).padStart(2, "0");

export function dayText(number: number): string {
  const { year, month, day } = civilDay(number);
  return `${String(year).padStart(4, "0")}-${pad(month)}-${pad(day)}`;
}

/**
 * The first instant whose local time is at or after this local time. A local time that a change of the clocks leaves out
 * is that of the change; one that comes twice is the first one.
 */
export function instantOfLocal(localMs: number, offsetAt: ZoneOffsetAt): number {
  const candidates = [localMs - offsetAt(localMs - DAY_MS), localMs - offsetAt(localMs + DAY_MS)];
  const exact = candidates.filter((instant) => instant + offsetAt(instant) === localMs);
  if (exact.length > 0) return Math.min(...exact);
  // The clocks are put forward over it: the change lies between the two candidates.
  let before = Math.min(...candidates);
  let after = Math.max(...candidates);
  while (after - before > MINUTE_MS) {
    const middle = before + Math.floor((after - before) / 2 / MINUTE_MS) * MINUTE_MS;
    if (middle === before) break;
    if (middle + offsetAt(middle) >= localMs) after = middle;
    else before = middle;
  }
  return after;
}

/** The dates of a span, in order. A day of 23 or 25 hours is one day, and has 23 or 25 hours. `null`: no such span. */
export function backfillDates(
  { from, to, every }: BackfillSpan,
  offsetAt: ZoneOffsetAt,
): readonly BackfillDate[] | null {
  const first = dayNumber(from);
  const last = dayNumber(to);
  if (first === null || last === null || last < first || last - first > BACKFILL_RUNS_MAX) return null;
  const startOf = (day: number): number => instantOfLocal(day * DAY_MS, offsetAt);
  if (every === "day")
    return Array.from({ length: last - first + 1 }, (_, at) => ({
      date: dayText(first + at),
      startMs: startOf(first + at),
    }));
  const dates: BackfillDate[] = [];
  const endMs = startOf(last + 1);
  for (let startMs = startOf(first); startMs < endMs && dates.length <= BACKFILL_RUNS_MAX; startMs += HOUR_MS)
    dates.push({ date: hourText(startMs, offsetAt(startMs)), startMs });
  return dates;
}

/** The local time with its offset, so that the two hours of the same name in autumn differ. */
function hourText(instantMs: number, offsetMs: number): string {
  const localMs = instantMs + offsetMs;
  const day = Math.floor(localMs / DAY_MS);
  const minutes = Math.floor((localMs - day * DAY_MS) / MINUTE_MS);
  const size = Math.abs(offsetMs) / MINUTE_MS;
  const zone = offsetMs === 0 ? "Z" : `${offsetMs < 0 ? "-" : "+"}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
  return `${dayText(day)}T${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}${zone}`;
}
