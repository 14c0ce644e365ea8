/** Calendar months in UTC, by arithmetic on days (proleptic Gregorian): a pure package has no clock to ask. */
export const DAY_MS = 86_400_000;
/** Number of days from 1 March of the year 0 to 1 January 1970. */
const DAYS_BEFORE_EPOCH = 719_468;
const ERA_DAYS = 146_097;

export interface CivilDay {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** Howard Hinnant's algorithm civil_from_days, which counts in eras of 400 years and in years that begin in March. */
export function civilDay(days: number): CivilDay {
  const sinceZero = days + DAYS_BEFORE_EPOCH;
  const era = Math.floor(sinceZero / ERA_DAYS);
  const ofEra = sinceZero - era * ERA_DAYS;
  const leaps = Math.floor(ofEra / 1_460) - Math.floor(ofEra / 36_524) + Math.floor(ofEra / 146_096);
  const yearOfEra = Math.floor((ofEra - leaps) / 365);
  const dayOfYear = ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shifted = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shifted < 10 ? shifted + 3 : shifted - 9;
  const day = dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

export const dayOf = (instantMs: number): number => Math.floor(instantMs / DAY_MS);

/** The first instant of the calendar month that contains `instantMs`. */
export function monthStartMs(instantMs: number): number {
  const day = dayOf(instantMs);
  return (day - civilDay(day).day + 1) * DAY_MS;
}

/** The first instant of the following month; no month has more than 31 days. */
export const nextMonthStartMs = (instantMs: number): number => monthStartMs(monthStartMs(instantMs) + 31 * DAY_MS);
