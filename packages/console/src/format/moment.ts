/** Instants in the reader's time zone, to the second. */
const DAY_MS = 86_400_000;

const timeFormat = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const dayFormat = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const fullFormat = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });
const clockFormat = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});

/** `14:05:09`, or `3 Jan 14:05:09` when that was more than half a day away from now. */
export function momentText(atMs: number, nowMs: number): string {
  const time = timeFormat.format(atMs);
  return Math.abs(nowMs - atMs) < DAY_MS / 2 ? time : `${dayFormat.format(atMs)} ${time}`;
}

export const fullMomentText = (atMs: number): string => fullFormat.format(atMs);
export const clockText = (atMs: number): string => clockFormat.format(atMs);

/** `14:05:09`. */
export const clockTimeText = (atMs: number): string => timeFormat.format(atMs);
