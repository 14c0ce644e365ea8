/** Instants of `--begin` and `--deadline`, in the local time of the submitter (Slurm's `parse_time`). */
import { read, refuse, shown, type Reading } from "../notation/reading.ts";

export interface LocalTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

/** The clock of the submitter. A pure package has none. */
export interface LocalClock {
  readonly nowMs: number;
  local(instantMs: number): LocalTime;
  instant(time: LocalTime): number;
}

type Day = Pick<LocalTime, "year" | "month" | "day">;
type Hour = Pick<LocalTime, "hour" | "minute" | "second">;

const unitSeconds: readonly (readonly [RegExp, number])[] = [
  [/^(?:s|sec|second|seconds)?$/i, 1],
  [/^(?:m|min|minute|minutes)$/i, 60],
  [/^(?:h|hour|hours)$/i, 3_600],
  [/^(?:d|day|days)$/i, 86_400],
  [/^(?:w|week|weeks)$/i, 604_800],
];
const namedHours: Readonly<Record<string, number>> = { midnight: 0, noon: 12, fika: 15, teatime: 16 };

export function readBegin(text: string, clock: LocalClock): Reading<number> {
  const fault = refuse(`must be a time like 16:00, now+1hour, tomorrow or 2027-03-01T08:00, got ${shown(text)}`);
  const now = clock.local(clock.nowMs);
  const after = /^now\s*(?:([+-])\s*(\d{1,9})\s*([a-z]*))?$/i.exec(text);
  if (after !== null) {
    const seconds = unitSeconds.find(([unit]) => unit.test(after[3] ?? ""))?.[1];
    if (seconds === undefined) return fault;
    return read(clock.nowMs + Number(after[2] ?? 0) * seconds * 1_000 * (after[1] === "-" ? -1 : 1));
  }
  let day: { readonly day: Day; readonly hasYear: boolean } | null = null;
  let hour: Hour | null = null;
  for (const part of text.trim().split(/\s+|(?<=\d)[T-](?=\d\d?:)/)) {
    const asHour = hourOf(part);
    const asDay = asHour === null ? dayOf(part, now, clock) : null;
    if ((asHour === null && asDay === null) || (asHour !== null && hour !== null) || (asDay !== null && day !== null))
      return fault;
    hour = asHour ?? hour;
    day = asDay ?? day;
  }
  const at = { ...(day?.day ?? now), ...(hour ?? { hour: 0, minute: 0, second: 0 }) };
  const instantMs = clock.instant(at);
  const back = clock.local(instantMs);
  if (back.month !== at.month || back.day !== at.day) return fault;
  // A time of day that is past means the next day; a date without a year that is past means the next year.
  if (day === null && instantMs <= clock.nowMs) return read(clock.instant({ ...at, day: at.day + 1 }));
  if (day?.hasYear === false && instantMs <= clock.nowMs) return read(clock.instant({ ...at, year: at.year + 1 }));
  return read(instantMs);
}

function hourOf(text: string): Hour | null {
  const named = namedHours[text.toLowerCase()];
  if (named !== undefined) return { hour: named, minute: 0, second: 0 };
  const [, hours, minutes, seconds, half] = /^(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(am|pm)?$/i.exec(text) ?? [];
  if (hours === undefined) return null;
  const isHalf = half !== undefined;
  const hour = isHalf ? (Number(hours) % 12) + (half.toLowerCase() === "pm" ? 12 : 0) : Number(hours);
  if (hour > 23 || (isHalf && Number(hours) > 12) || Number(minutes) > 59 || Number(seconds ?? 0) > 59) return null;
  return { hour, minute: Number(minutes), second: Number(seconds ?? 0) };
}

function dayOf(
  text: string,
  now: LocalTime,
  clock: LocalClock,
): { readonly day: Day; readonly hasYear: boolean } | null {
  if (/^today$/i.test(text)) return { day: now, hasYear: true };
  if (/^tomorrow$/i.test(text))
    return { day: clock.local(clock.instant({ ...now, hour: 12, day: now.day + 1 })), hasYear: true };
  const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(text);
  if (iso !== null) return checked(Number(iso[1]), Number(iso[2]), Number(iso[3]), true);
  const [, month, date, year] =
    /^(\d{2})(\d{2})(\d{2})$/.exec(text) ?? /^(\d{1,2})[./](\d{1,2})(?:[./](\d{2}|\d{4}))?$/.exec(text) ?? [];
  if (month === undefined) return null;
  const full = year === undefined ? now.year : Number(year) + (year.length === 2 ? 2_000 : 0);
  return checked(full, Number(month), Number(date), year !== undefined);
}

const checked = (year: number, month: number, day: number, hasYear: boolean) =>
  month >= 1 && month <= 12 && day >= 1 && day <= 31 ? { day: { year, month, day }, hasYear } : null;
