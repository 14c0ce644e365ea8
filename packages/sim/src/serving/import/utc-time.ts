const pattern = /^(\d{4})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2}):(\d{2})(\.\d+)?(?:Z|([+-])(\d{2}):?(\d{2}))?$/;

/** Days from 1970-01-01 in the Gregorian calendar (Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2013). */
function daysFromCivil(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return (
    era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
  );
}

/** The ms since 1970 of `2023-11-16 18:17:03.9799600`, read as UTC, or with an offset such as `+02:00`; undefined for any other text. */
export function utcMs(text: string): number | undefined {
  const found = pattern.exec(text);
  if (found === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number);
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) return undefined;
  const fraction = found[7] === undefined ? 0 : Number(`0${found[7]}`);
  const [offsetHours, offsetMinutes] = [Number(found[9] ?? 0), Number(found[10] ?? 0)];
  if (offsetHours > 23 || offsetMinutes > 59) return undefined;
  const offset = (found[8] === "-" ? -1 : 1) * (offsetHours * 60 + offsetMinutes);
  return ((daysFromCivil(year, month, day) * 24 + hour) * 60 + minute - offset) * 60_000 + (second + fraction) * 1000;
}
