/** Money as integer micro-dollars, and dates of documents as instants in UTC. */
import { DAY_MS } from "@headroom/model";
import { z } from "zod";

export const MICRO = 1_000_000;
/** Amounts stay safe integers in micro-dollars. */
const DOLLARS_MAX = 1_000_000_000;

export const dollars = z.number().min(0).max(DOLLARS_MAX);

const DATE = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):00(?::00(?:\.000)?)?Z)?$/;

/** A day, or a whole hour in UTC: prices change at full hours, so that an hour has one price. */
export const dateText = z
  .string()
  .refine(
    (text) => DATE.test(text) && !Number.isNaN(instantOf(text)),
    "expected a day like 2026-11-01, or a full hour like 2026-11-01T12:00Z",
  );

export const microUsd = (amount: number): number => Math.round(amount * MICRO);

/** Howard Hinnant's days_from_civil. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

const known = new Map<string, number>();

/** NaN: the text is no date. */
export function instantOf(text: string): number {
  const cached = known.get(text);
  if (cached !== undefined) return cached;
  const [, year, month, day, hour] = DATE.exec(text) ?? [];
  const days = daysSinceEpoch(Number(year), Number(month), Number(day));
  const isValid =
    year !== undefined && Number(month) >= 1 && Number(month) <= 12 && Number(day) >= 1 && Number(day) <= 31;
  const instant = isValid && Number(hour ?? 0) < 24 ? days * DAY_MS + Number(hour ?? 0) * 3_600_000 : Number.NaN;
  if (known.size < 100_000) known.set(text, instant);
  return instant;
}
