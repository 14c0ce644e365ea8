/**
 * Cron expressions of five fields, `minute hour day-of-month month day-of-week`, as in POSIX crontab, extended by steps,
 * names and nicknames such as `@daily`: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/crontab.html. Always UTC.
 */
import { CronPattern } from "croner";
import type { ScheduleTimes } from "../schedule-times.ts";
import { read, refuse, shown, type Reading } from "./reading.ts";

interface CronField {
  readonly key: keyof ScheduleTimes;
  /**
   * Name of the field in `CronPattern`. The array has a value other than zero at the index `value - min` if `value`
   * matches.
   */
  readonly property: "minute" | "hour" | "day" | "month" | "dayOfWeek";
  readonly noun: string;
  readonly min: number;
  readonly max: number;
}

const cronFields: readonly CronField[] = [
  { key: "minutes", property: "minute", noun: "minute", min: 0, max: 59 },
  { key: "hours", property: "hour", noun: "hour", min: 0, max: 23 },
  { key: "daysOfMonth", property: "day", noun: "day of the month", min: 1, max: 31 },
  { key: "months", property: "month", noun: "month", min: 1, max: 12 },
  { key: "daysOfWeek", property: "dayOfWeek", noun: "day of the week", min: 0, max: 6 },
];

/**
 * Characters that are allowed in the parts of a field between `,`, `-` and `/`. The library reads more, such as `L`
 * (last day), `W` (nearest weekday) and `#` (nth weekday), which lists of values cannot express.
 */
const PART = /^(?:\*|\d{1,2}|[a-z]{3})$/i;

export function readCron(value: unknown): Reading<ScheduleTimes> {
  const text = typeof value === "string" ? value.trim() : "";
  const parts = text.split(/\s+/);
  if (!text.startsWith("@")) {
    if (parts.length !== cronFields.length)
      return refuse(`must be a cron expression of five fields in UTC, like "0 3 * * 1-5", got ${shown(value)}`);
    const strange = parts.find((part) => !part.split(/[,/-]/).every((each) => PART.test(each)));
    if (strange !== undefined)
      return refuse(`must consist of numbers, three-letter names, *, and , - / between them, got ${shown(strange)}`);
  }
  try {
    return timesOf(new CronPattern(text, "UTC", { mode: "5-part", sloppyRanges: true }), parts);
  } catch (error) {
    return refuse(complaint(error as Error, parts));
  }
}

function timesOf(pattern: CronPattern, parts: readonly string[]): Reading<ScheduleTimes> {
  const times: Partial<Record<keyof ScheduleTimes, readonly number[]>> = {};
  for (const [index, { key, property, noun, min, max }] of cronFields.entries()) {
    const marks = pattern[property].slice(0, max - min + 1);
    const values = marks.flatMap((mark, at) => (mark === 0 ? [] : [min + at]));
    // The library would read `7/2` as no day at all.
    if (values.length === 0) return refuse(`must match at least one ${noun}, got ${shown(parts[index])}`);
    times[key] = values;
  }
  return read(times as ScheduleTimes);
}

/**
 * Converts an error of the library. The library numbers values from 0 (31 for day 32), so the message contains the
 * user's text and the valid range instead.
 */
function complaint({ message }: Error, parts: readonly string[]): string {
  const property = /Invalid value for (\w+)/.exec(message)?.[1];
  const index = cronFields.findIndex((field) => field.property === property);
  const field = cronFields[index];
  if (field === undefined) return `must be a cron expression: ${message.replace(/^CronPattern: /, "")}`;
  const { noun, min, max, key } = field;
  const sunday = key === "daysOfWeek" ? ", or 7 for Sunday" : "";
  return `must have a ${noun} from ${min} to ${max}${sunday}, got ${shown(parts[index])}`;
}

/** The shortest expression from which reading gives these times again. */
export function writeCron(times: ScheduleTimes): string {
  return cronFields
    .map(({ key, min, max }) => (times[key].length === max - min + 1 ? "*" : rangesText(times[key])))
    .join(" ");
}

function rangesText(list: readonly number[]): string {
  const ranges: string[] = [];
  for (let index = 0; index < list.length; index++) {
    const first = list[index] as number;
    let last = first;
    while (list[index + 1] === last + 1) last = list[++index] as number;
    ranges.push(last === first ? String(first) : last === first + 1 ? `${first},${last}` : `${first}-${last}`);
  }
  return ranges.join(",");
}
