/** The text of values in FOCUS files: instants as ISO 8601 in UTC, decimals without an exponent, null as nothing. */
import { civilDay, DAY_MS, dayOf } from "@headroom/model";
import { allColumns, type FocusRow, type FocusType } from "./focus-columns.ts";
import type { FocusText } from "./row-rules.ts";

const two = (value: number): string => String(value).padStart(2, "0");

const known = new Map<number, string>();
/** A month of hours fits many times. */
const KNOWN_MAX = 100_000;

function isoSeconds(atMs: number): string {
  const cached = known.get(atMs);
  if (cached !== undefined) return cached;
  const { year, month, day } = civilDay(dayOf(atMs));
  const seconds = Math.floor((atMs - dayOf(atMs) * DAY_MS) / 1_000);
  const clock = `${two(Math.floor(seconds / 3_600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  const text = `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}T${clock}Z`;
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(atMs, text);
  return text;
}

/** Digits after the point that a number without an exponent can need here. */
const FRACTION_MAX = 12;

/** Whole numbers have one digit after the point, so that readers that guess types see decimals. */
function decimalText(value: number): string {
  if (Number.isInteger(value)) return `${value}.0`;
  const text = String(value);
  return text.includes("e") ? value.toFixed(FRACTION_MAX).replace(/0+$/, "").replace(/\.$/, ".0") : text;
}

export function focusValueText(value: string | number | null, type: FocusType): string | null {
  if (value === null || typeof value === "string") return value;
  return type === "instant" ? isoSeconds(value) : decimalText(value);
}

export const focusText = (row: FocusRow): FocusText =>
  Object.fromEntries(
    allColumns.map(({ name, type }) => [name, focusValueText(row[name as keyof FocusRow], type)] as const),
  );
