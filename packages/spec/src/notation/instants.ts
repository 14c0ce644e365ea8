/**
 * Converts instants between the form that people write (RFC 3339, `2027-03-01T08:00:00+01:00`) and milliseconds since
 * 1970 in UTC, which the engine stores. The code computes with the proleptic Gregorian calendar, because a pure package
 * has no Date.
 */
import { read, refuse, shown, type Reading } from "./reading.ts";

const instantHelp = "write an instant with its offset, like 2027-03-01T08:00:00Z or 2027-03-01T08:00:00+01:00";
export const instantPattern =
  "^\\d{4}-\\d{2}-\\d{2}[Tt ]\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,3})?)?([Zz]|[+-]\\d{2}:\\d{2})$";
const parts =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?(?:([Zz])|([+-])(\d{2}):(\d{2}))$/;

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Number of days from 1 March of the year 0 to 1 January 1970. */
const DAYS_BEFORE_EPOCH = 719_468;

/**
 * Reads an instant as milliseconds since 1970. Seconds are optional; the offset is required, because without it the
 * instant is ambiguous.
 */
export function readInstant(value: unknown): Reading<number> {
  const found = typeof value === "string" ? parts.exec(value.trim()) : null;
  if (found === null) return refuse(`${instantHelp}, got ${shown(value)}`);
  const at = (index: number): number => Number(found[index] ?? "0");
  const [year, month, day, hour, minute, second] = [at(1), at(2), at(3), at(4), at(5), at(6)];
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
  if (!isDate || hour > 23 || minute > 59 || second > 59 || at(10) > 23 || at(11) > 59) {
    return refuse(`is no instant of the calendar, got ${shown(value)}`);
  }
  const offsetMs = (at(10) * 60 + at(11)) * MINUTE_MS * (found[9] === "-" ? -1 : 1);
  const ofDayMs = (hour * 60 + minute) * MINUTE_MS + second * 1_000 + Number((found[7] ?? "").padEnd(3, "0"));
  const instantMs = daysSinceEpoch(year, month, day) * DAY_MS + ofDayMs - offsetMs;
  return instantMs < 0 ? refuse(`must not be before 1970, got ${shown(value)}`) : read(instantMs);
}

/** The last instant of the year 9999, which is the largest year with four digits. */
export const INSTANT_MS_MAX: number = daysSinceEpoch(9999, 12, 31) * DAY_MS + DAY_MS - 1;

/** Writes an instant as `2027-03-01T07:00:00Z`, with milliseconds only if they are not 0. */
export function writeInstant(instantMs: number): string {
  const [year, month, day] = dateOf(Math.floor(instantMs / DAY_MS));
  const ofDayMs = instantMs % DAY_MS;
  const digits = (amount: number, width = 2): string => String(amount).padStart(width, "0");
  const clock = [
    Math.floor(ofDayMs / 3_600_000),
    Math.floor(ofDayMs / MINUTE_MS) % 60,
    Math.floor(ofDayMs / 1_000) % 60,
  ];
  const fraction = ofDayMs % 1_000 === 0 ? "" : `.${digits(ofDayMs % 1_000, 3)}`;
  return `${digits(year, 4)}-${digits(month)}-${digits(day)}T${clock.map((each) => digits(each)).join(":")}${fraction}Z`;
}

const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;

function daysIn(year: number, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** Years are counted from March, so that the leap day is the last day of a year and no table is needed. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  return marchYear * 365 + leapDays + dayOfYear - DAYS_BEFORE_EPOCH;
}

function dateOf(days: number): readonly [year: number, month: number, day: number] {
  const sinceZero = days + DAYS_BEFORE_EPOCH;
  // The first guess is never too late, and each step makes the remaining days less than a hundredth.
  let year = Math.floor(sinceZero / 366);
  while (daysSinceEpoch(year + 1, 3, 1) <= days)
    year += Math.max(1, Math.floor((days - daysSinceEpoch(year + 1, 3, 1)) / 366));
  const dayOfYear = days - daysSinceEpoch(year, 3, 1);
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = ((monthFromMarch + 2) % 12) + 1;
  return [month <= 2 ? year + 1 : year, month, day];
}
