/** Months and days of a plan as numbers. */
import { civilDay } from "@headroom/model";

/** Mean days of a month, and the hours that a month is billed with. */
export const DAYS_PER_MONTH: number = 365.25 / 12;
export const HOURS_PER_MONTH = 730;

/** Months since the year 0. */
export function monthNumber(text: string): number {
  return Number(text.slice(0, 4)) * 12 + Number(text.slice(5, 7)) - 1;
}

export function monthName(number: number): string {
  return `${String(Math.floor(number / 12)).padStart(4, "0")}-${String((number % 12) + 1).padStart(2, "0")}`;
}

/** Days from 1 January 1970 to the first day of a month: Howard Hinnant's days_from_civil. */
export function dayNumber(month: number): number {
  const calendarMonth = (month % 12) + 1;
  const year = Math.floor(month / 12) - (calendarMonth <= 2 ? 1 : 0);
  const era = Math.floor(year / 400);
  const yearOfEra = year - era * 400;
  const dayOfYear = Math.floor((153 * (calendarMonth + (calendarMonth > 2 ? -3 : 9)) + 2) / 5);
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

export function dayName(day: number): string {
  const { year, month, day: ofMonth } = civilDay(day);
  return `${year}-${String(month).padStart(2, "0")}-${String(ofMonth).padStart(2, "0")}`;
}

/** `16w`, `30d` or `4m` in days. */
export function daysOf(text: string): number {
  const number = Number(text.slice(0, -1));
  const unit = text.at(-1);
  return unit === "w" ? number * 7 : unit === "m" ? number * DAYS_PER_MONTH : number;
}

/** The month, counted from the start of the plan, whose first day is at least so many days after the start. */
export function monthsUntil(startMonth: number, days: number): number {
  const first = dayNumber(startMonth);
  let month = 0;
  while (dayNumber(startMonth + month) - first < days) month += 1;
  return month;
}
