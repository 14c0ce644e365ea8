/** Instants in the reader's time zone, to the second. */
const timeFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const weekdayFormat = new Intl.DateTimeFormat("en-GB", { weekday: "short", day: "numeric", month: "short" });
const fullFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });
const clockFormat = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});

/** A time such as `14:05:09`, or `3 Jan 14:05:09` if it is not today. */
export function momentText(atMs: number, nowMs: number): string {
  const time = timeFormat.format(atMs);
  const day = dayFormat.format(atMs);
  return day === dayFormat.format(nowMs) ? time : `${day} ${time}`;
}

/** `3 Jan 14:05:09`. */
export const dayTimeText = (atMs: number): string => `${dayFormat.format(atMs)} ${timeFormat.format(atMs)}`;
export const fullMomentText = (atMs: number): string => fullFormat.format(atMs);
/** `Sat 3 Jan`. */
export const dayText = (atMs: number): string => weekdayFormat.format(atMs);
export const clockText = (atMs: number): string => clockFormat.format(atMs);

/** `14:05:09`. */
export const clockTimeText = (atMs: number): string => timeFormat.format(atMs);
