/**
 * Due times of schedules, by arithmetic on days in UTC. Whole days are skipped, so a search takes a few hundred steps
 * at most.
 */
import { civilDay, dayOf } from "./months.ts";
import type { ScheduleTimes } from "../schedule.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** 1 January 1970 was a Thursday. */
const EPOCH_WEEKDAY = 4;
/**
 * Every date that exists recurs within eight years. 29 February takes that long around a century year that is no leap
 * year.
 */
const DAYS_LOOKED_AT = 8 * 366 + 1;
const DAYS_OF_MONTH = 31;
const DAYS_OF_WEEK = 7;

/** The first due time after this instant, or `null` if there is none. */
export function nextDueMs(times: ScheduleTimes, afterMs: number): number | null {
  const from = Math.floor(afterMs / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  const first = dayOf(from);
  for (let day = first; day < first + DAYS_LOOKED_AT; day++) {
    const ofDay = isDueOn(times, day) ? firstOfDay(times, Math.max(0, from - day * DAY_MS)) : null;
    if (ofDay !== null) return day * DAY_MS + ofDay;
  }
  return null;
}

/** The last due time at or before this instant, or `null` if there was none since 1970. */
export function lastDueMs(times: ScheduleTimes, untilMs: number): number | null {
  const last = dayOf(untilMs);
  for (let day = last; day >= Math.max(0, last - DAYS_LOOKED_AT); day--) {
    const ofDay = isDueOn(times, day) ? lastOfDay(times, Math.min(DAY_MS - 1, untilMs - day * DAY_MS)) : null;
    if (ofDay !== null) return day * DAY_MS + ofDay;
  }
  return null;
}

function isDueOn({ daysOfMonth, months, daysOfWeek }: ScheduleTimes, day: number): boolean {
  const { month, day: ofMonth } = civilDay(day);
  if (!months.includes(month)) return false;
  const inMonth = daysOfMonth.includes(ofMonth);
  const inWeek = daysOfWeek.includes((day + EPOCH_WEEKDAY) % DAYS_OF_WEEK);
  const isEither = daysOfMonth.length < DAYS_OF_MONTH && daysOfWeek.length < DAYS_OF_WEEK;
  return isEither ? inMonth || inWeek : inMonth && inWeek;
}

function firstOfDay({ hours, minutes }: ScheduleTimes, fromMs: number): number | null {
  for (const hour of hours)
    for (const minute of minutes) if (ofDayMs(hour, minute) >= fromMs) return ofDayMs(hour, minute);
  return null;
}

function lastOfDay({ hours, minutes }: ScheduleTimes, untilMs: number): number | null {
  let last: number | null = null;
  for (const hour of hours)
    for (const minute of minutes) if (ofDayMs(hour, minute) <= untilMs) last = ofDayMs(hour, minute);
  return last;
}

const ofDayMs = (hour: number, minute: number): number => hour * HOUR_MS + minute * MINUTE_MS;
