import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ScheduleTimes } from "../schedule.ts";
import { lastDueMs, nextDueMs } from "./due.ts";

const MINUTE_MS = 60_000;
const all = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const some = (from: number, to: number) =>
  fc.oneof(
    fc.constant(all(from, to)),
    fc
      .uniqueArray(fc.integer({ min: from, max: to }), { minLength: 1, maxLength: 3 })
      .map((list) => list.toSorted((a, b) => a - b)),
  );
const times: fc.Arbitrary<ScheduleTimes> = fc.record({
  minutes: some(0, 59),
  hours: some(0, 23),
  daysOfMonth: some(1, 28),
  months: some(1, 12),
  daysOfWeek: some(0, 6),
});

/** Computed with the platform's calendar, as an independent check. */
function isDue({ minutes, hours, daysOfMonth, months, daysOfWeek }: ScheduleTimes, atMs: number): boolean {
  const at = new Date(atMs);
  const inMonth = daysOfMonth.includes(at.getUTCDate());
  const inWeek = daysOfWeek.includes(at.getUTCDay());
  const isDay = daysOfMonth.length < 31 && daysOfWeek.length < 7 ? inMonth || inWeek : inMonth && inWeek;
  return (
    isDay &&
    minutes.includes(at.getUTCMinutes()) &&
    hours.includes(at.getUTCHours()) &&
    months.includes(at.getUTCMonth() + 1)
  );
}

describe("due times", () => {
  it("are due by the platform's calendar, and nothing between now and the next one or since the last one is", () => {
    fc.assert(
      fc.property(times, fc.integer({ min: 0, max: 4e12 }), (given, nowMs) => {
        const next = nextDueMs(given, nowMs);
        const last = lastDueMs(given, nowMs);
        if (next === null) throw new Error("never due");
        expect(next).toBeGreaterThan(nowMs);
        expect(isDue(given, next)).toBe(true);
        if (last !== null) expect(isDue(given, last) && last <= nowMs).toBe(true);
        const minute = Math.floor(nowMs / MINUTE_MS);
        for (let at = minute + 1; at < Math.min(next / MINUTE_MS, minute + 3_000); at++)
          if (isDue(given, at * MINUTE_MS)) throw new Error(`due at ${at * MINUTE_MS}, before ${next}`);
        for (let at = minute; at > Math.max((last ?? 0) / MINUTE_MS, minute - 3_000); at--)
          if (isDue(given, at * MINUTE_MS)) throw new Error(`due at ${at * MINUTE_MS}, after ${last}`);
      }),
      { numRuns: 200 },
    );
  });

  it("come on leap days, over a century without one, and never on the 30th of February", () => {
    const leap: ScheduleTimes = { minutes: [0], hours: [0], daysOfMonth: [29], months: [2], daysOfWeek: all(0, 6) };
    expect(nextDueMs(leap, Date.UTC(2096, 1, 29))).toBe(Date.UTC(2104, 1, 29));
    expect(lastDueMs(leap, Date.UTC(2104, 1, 28))).toBe(Date.UTC(2096, 1, 29));
    expect(nextDueMs({ ...leap, daysOfMonth: [30] }, 0)).toBeNull();
  });
});
