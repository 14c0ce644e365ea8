/** Times in Slurm's output. Slurm prints local time without a zone, so the zone of the cluster is an option of the reader. */
import { isAbsent, quoted, Unreadable } from "./rows.ts";

/** Offset of the local time from UTC in milliseconds, by local time. Returns null for a local time that does not exist. */
export interface Zone {
  instantOf(localMs: number): number | null;
}

export const utc: Zone = { instantOf: (localMs) => localMs };

export interface ReadTime {
  /** ISO 8601 in UTC; null: Slurm prints no time here, or one without a date. */
  readonly iso: string | null;
  /** Why a printed time has no value. The row is read, and the problem is reported beside it. */
  readonly problem?: string;
}

const NO_TIME: ReadTime = { iso: null };
const isoPattern = /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?$/;
/**
 * `SLURM_TIME_FORMAT=relative` prints the time alone for today, `Ystday 10:17`, `Tomorr 10:17`, a weekday, or a day without its
 * year. Days and months follow the locale.
 */
const undatedPattern =
  /^(?:\p{L}[\p{L}.]{0,9}\s+|\d{1,2}\.?\s+\p{L}[\p{L}.]{0,9}\s+|\p{L}[\p{L}.]{0,9}\s+\d{1,2}\s+)?\d{1,2}:\d\d(?::\d\d)?$/u;
const undatedDayPattern = /^(?:\d{1,2}\.?\s+\p{L}[\p{L}.]{0,9}|\p{L}[\p{L}.]{0,9}\s+\d{1,2})$/u;
const SECONDS_MAX = 253_402_300_799;

export function readTime(column: string, text: string, zone: Zone): ReadTime {
  if (isAbsent(text) || text === "0") return NO_TIME;
  const match = isoPattern.exec(text);
  if (match !== null) return { iso: isoText(column, text, instantOf(column, match, zone)) };
  if (/^\d{9,12}$/.test(text)) return { iso: secondsText(Number(text)) };
  if (undatedPattern.test(text) || undatedDayPattern.test(text)) {
    return {
      iso: null,
      problem: `${column}: the time ${quoted(text)} has no date; print times with SLURM_TIME_FORMAT=standard`,
    };
  }
  throw new Unreadable(`${column}: expected a time such as 2026-01-31T08:15:00, got ${quoted(text)}`);
}

/** A time in seconds since 1970, as the JSON forms have it; 0 and less: none. */
export function secondsText(seconds: number): string | null {
  if (!Number.isFinite(seconds) || seconds <= 0 || seconds > SECONDS_MAX) return null;
  return withoutMilliseconds(new Date(seconds * 1000));
}

function instantOf(column: string, match: RegExpExecArray, zone: Zone): number | null {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const localMs = Date.UTC(year, month - 1, day, hour, minute, second);
  const local = new Date(localMs);
  // Date.UTC carries 31 April over to May.
  const exists =
    year >= 1970 &&
    local.getUTCMonth() === month - 1 &&
    local.getUTCDate() === day &&
    hour < 24 &&
    minute < 60 &&
    second < 61;
  if (!exists) throw new Unreadable(`${column}: the time ${match[0]} does not exist`);
  const offset = match[7];
  if (offset === undefined) return zone.instantOf(localMs);
  if (offset === "Z") return localMs;
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(-2));
  return localMs - (offset.startsWith("-") ? -minutes : minutes) * 60_000;
}

function isoText(column: string, text: string, instant: number | null): string {
  if (instant === null)
    throw new Unreadable(`${column}: the time ${text} does not exist in the time zone of the cluster`);
  return withoutMilliseconds(new Date(instant));
}

function withoutMilliseconds(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
