/**
 * Cron expressions of five fields, `minute hour day-of-month month day-of-week`, as in POSIX crontab, extended by steps
 * and names: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/crontab.html. Always UTC.
 */
import type { ScheduleTimes } from "../schedule-times.ts";
import { read, refuse, shown, type Reading } from "./reading.ts";

interface CronField {
  readonly key: keyof ScheduleTimes;
  readonly noun: string;
  readonly min: number;
  readonly max: number;
  /** Names of the values, in order from `min`. */
  readonly names: readonly string[];
}

const NO_NAMES: readonly string[] = [];
const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const dayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const cronFields: readonly CronField[] = [
  { key: "minutes", noun: "minute", min: 0, max: 59, names: NO_NAMES },
  { key: "hours", noun: "hour", min: 0, max: 23, names: NO_NAMES },
  { key: "daysOfMonth", noun: "day of the month", min: 1, max: 31, names: NO_NAMES },
  { key: "months", noun: "month", min: 1, max: 12, names: monthNames },
  { key: "daysOfWeek", noun: "day of the week", min: 0, max: 6, names: dayNames },
];

const nicknames: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
};

export function readCron(value: unknown): Reading<ScheduleTimes> {
  const text = typeof value === "string" ? (nicknames[value.trim()] ?? value.trim()) : "";
  const parts = text.split(/\s+/);
  if (parts.length !== cronFields.length)
    return refuse(`must be a cron expression of five fields in UTC, like "0 3 * * 1-5", got ${shown(value)}`);
  const times: Partial<Record<keyof ScheduleTimes, number[]>> = {};
  for (const [index, field] of cronFields.entries()) {
    const reading = readField(parts[index] ?? "", field);
    if (!reading.ok) return reading;
    times[field.key] = reading.value;
  }
  return read(times as ScheduleTimes);
}

function readField(text: string, field: CronField): Reading<number[]> {
  const found = new Set<number>();
  for (const part of text.split(",")) {
    const reading = readPart(part, field);
    if (!reading.ok) return reading;
    for (const each of reading.value) found.add(each);
  }
  return read([...found].toSorted((left, right) => left - right));
}

/** Reads `*`, `5` or `1-5`, each optionally with a step as in `8-18/2`; `5/10` extends to the end of the range. */
function readPart(part: string, field: CronField): Reading<number[]> {
  const { noun, min, max } = field;
  const [range = "", step, ...furtherSteps] = part.split("/");
  const every = step === undefined ? 1 : /^\d{1,2}$/.test(step) ? Number(step) : 0;
  const [first = "", last, ...furtherEnds] = range.split("-");
  const from = range === "*" ? min : valueOf(first, field);
  const to =
    range === "*"
      ? max
      : last !== undefined
        ? valueOf(last, field)
        : step === undefined
          ? from
          : Math.max(max, from ?? max);
  // Sunday is 0 or 7.
  const greatest = field.key === "daysOfWeek" ? max + 1 : max;
  const isWithin = (value: number | null): value is number => value !== null && value >= min && value <= greatest;
  if (!isWithin(from) || !isWithin(to) || furtherEnds.length > 0)
    return refuse(
      `must have a ${noun} from ${min} to ${max}${greatest > max ? ", or 7 for Sunday" : ""}, got ${shown(part)}`,
    );
  if (from > to) return refuse(`must have a range that runs forwards, got ${shown(part)}, which runs backwards`);
  if (every < 1 || furtherSteps.length > 0) return refuse(`must have a whole step after the /, got ${shown(part)}`);
  const values: number[] = [];
  for (let at = from; at <= to; at += every) values.push(at > max ? 0 : at);
  return read(values);
}

function valueOf(text: string, { names, min }: CronField): number | null {
  const named = names.indexOf(text.toLowerCase());
  if (named >= 0) return min + named;
  return /^\d{1,2}$/.test(text) ? Number(text) : null;
}

/** The shortest expression that reads back as these times. */
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
