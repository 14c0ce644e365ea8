/** A calendar quarter in UTC. */
import { civilDay, DAY_MS, dayOf, nextMonthStartMs } from "@headroom/model";
import { instantOf } from "../prices/amounts.ts";

const MONTHS_IN_QUARTER = 3;

export interface MonthOfQuarter {
  readonly month: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Quarter {
  /** Such as `2026Q3`. */
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly months: readonly MonthOfQuarter[];
}

/** `null`: the text is no quarter such as 2026Q3. */
export function quarterOf(text: string): Quarter | null {
  const [, year, number] = /^(\d{4})Q([1-4])$/.exec(text) ?? [];
  if (year === undefined || number === undefined) return null;
  return quarterFrom(instantOf(`${year}-${twoDigits(MONTHS_IN_QUARTER * (Number(number) - 1) + 1)}-01`), text);
}

export function nextQuarter({ toMs }: Quarter): Quarter {
  const { year, month } = civilDay(dayOf(toMs));
  return quarterFrom(toMs, `${year}Q${Math.ceil(month / MONTHS_IN_QUARTER)}`);
}

function quarterFrom(fromMs: number, name: string): Quarter {
  const months: MonthOfQuarter[] = [];
  for (let startMs = fromMs; months.length < MONTHS_IN_QUARTER; startMs = nextMonthStartMs(startMs))
    months.push({ month: dayText(startMs).slice(0, 7), fromMs: startMs, toMs: nextMonthStartMs(startMs) });
  return { name, fromMs, toMs: months.at(-1)?.toMs ?? fromMs, months };
}

/** `2026-07-01`. */
export function dayText(atMs: number): string {
  const { year, month, day } = civilDay(dayOf(atMs));
  return `${String(year).padStart(4, "0")}-${twoDigits(month)}-${twoDigits(day)}`;
}

const twoDigits = (value: number): string => String(value).padStart(2, "0");

/** The starts of the days from an instant on. */
export function daysBetween(fromMs: number, toMs: number): readonly number[] {
  const days: number[] = [];
  for (let at = dayOf(fromMs) * DAY_MS; at < toMs; at += DAY_MS) days.push(at);
  return days;
}
