/** The formats of JSON Schema 2020-12 that OpenLineage uses: `uuid` (RFC 4122), `date-time` (RFC 3339), `uri` (RFC 3986). */

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export const isUuid = (text: string): boolean => UUID.test(text);

const DATE_TIME =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[Tt](?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:\.\d+)?(?:[Zz]|(?<sign>[+-])(?<offsetHour>\d\d):(?<offsetMinute>\d\d))$/;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const MINUTES_PER_DAY = 1_440;

const isLeapYear = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);

export function isDateTime(text: string): boolean {
  const groups = DATE_TIME.exec(text)?.groups;
  if (groups === undefined) return false;
  const part = (name: string): number => Number(groups[name] ?? 0);
  const [month, day, minute] = [part("month"), part("day"), part("minute")];
  const days = month === 2 && isLeapYear(part("year")) ? 29 : (DAYS[month - 1] ?? 0);
  if (day < 1 || day > days || part("hour") > 23 || minute > 59) return false;
  if (part("offsetHour") > 23 || part("offsetMinute") > 59) return false;
  if (part("second") < 60) return true;
  // A leap second is the last second of a day in UTC.
  const offset = (part("offsetHour") * 60 + part("offsetMinute")) * (groups["sign"] === "-" ? -1 : 1);
  const utcMinute = (part("hour") * 60 + minute - offset + 2 * MINUTES_PER_DAY) % MINUTES_PER_DAY;
  return part("second") === 60 && utcMinute === MINUTES_PER_DAY - 1;
}

/** `pchar` of RFC 3986, with `/`: the characters of a path. */
const PATH = String.raw`(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*`;
const USER = String.raw`(?:(?:[A-Za-z0-9\-._~!$&'()*+,;=:]|%[0-9A-Fa-f]{2})*@)?`;
const HOST = String.raw`(?:\[[0-9A-Fa-f:.]+\]|\[v[0-9A-Fa-f]+\.[A-Za-z0-9\-._~!$&'()*+,;=:]+\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)`;
const TAIL = String.raw`(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*`;
const URI = new RegExp(
  String.raw`^[A-Za-z][A-Za-z0-9+.\-]*:(?://${USER}${HOST}(?::\d*)?(?:/${PATH})?|(?!//)${PATH})(?:\?${TAIL})?(?:#${TAIL})?$`,
);

/** Longer texts are refused: the pattern would need memory for each character. */
const URI_LENGTH_MAX = 65_536;

export const isUri = (text: string): boolean => text.length <= URI_LENGTH_MAX && URI.test(text);
