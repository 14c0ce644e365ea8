/** Time zones by their IANA name, from the data of the JavaScript engine. */
import type { Zone } from "./times.ts";

const HOUR_MS = 3_600_000;
/** Number of remembered hours: a year. */
const REMEMBERED_MAX = 9_000;

/**
 * Null: the name is not known. A local time that exists twice, when clocks are set back, is the earlier of both instants; one that
 * clocks skip does not exist.
 */
export function zoneNamed(name: string): Zone | null {
  const format = formatOf(name);
  if (format === null) return null;
  const remembered = new Map<number, number | null>();
  const offsetAt = (instant: number): number => localOf(format, instant) - instant;
  const instantOf = (localMs: number): number | null => {
    // An offset changes by at most a few hours, so the offsets a day before and after include the right one.
    const offsets = [offsetAt(localMs - 24 * HOUR_MS), offsetAt(localMs + 24 * HOUR_MS)];
    const instants = offsets.map((offset) => localMs - offset).filter((each) => each + offsetAt(each) === localMs);
    return instants.length === 0 ? null : Math.min(...instants);
  };
  return {
    instantOf(localMs) {
      // Zones change at whole quarters of an hour of local time.
      const quarter = Math.floor(localMs / (HOUR_MS / 4));
      const start = quarter * (HOUR_MS / 4);
      let shift = remembered.get(quarter);
      if (shift === undefined) {
        const instant = instantOf(start);
        shift = instant === null ? null : instant - start;
        if (remembered.size >= REMEMBERED_MAX) remembered.clear();
        remembered.set(quarter, shift);
      }
      return shift === null ? null : localMs + shift;
    },
  };
}

function formatOf(timeZone: string): Intl.DateTimeFormat | null {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The local time of an instant, as if it were UTC. */
function localOf(format: Intl.DateTimeFormat, instant: number): number {
  const parts = new Map<string, number>(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
  const part = (type: string): number => parts.get(type) ?? 0;
  return Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
}
