import { describe, expect, it } from "vitest";
import { daysFrom, daysUntil } from "./days.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const rate = { milli: 2, moneyMilli: 5 };
const hoursOf = (days: ReturnType<typeof daysFrom>): readonly (readonly [number, number])[] =>
  days.map(({ fromMs, milliMs }) => [fromMs / HOUR_MS, milliMs / 2 / HOUR_MS]);

describe("use by day", () => {
  it("is divided where days in UTC end, from where the count began", () => {
    const days = daysUntil(daysFrom(18 * HOUR_MS), { rate, fromMs: 18 * HOUR_MS, nowMs: 50 * HOUR_MS });
    expect(hoursOf(days)).toEqual([
      [18, 6],
      [24, 24],
      [48, 2],
    ]);
    expect(days.map(({ milliMs, moneyMilliMs }) => moneyMilliMs / milliMs)).toEqual([2.5, 2.5, 2.5]);
  });

  it("is the same however often it is brought up to date in between", () => {
    const atOnce = daysUntil(daysFrom(0), { rate, fromMs: 0, nowMs: 20 * DAY_MS + 7 });
    let days = daysFrom(0);
    for (let atMs = 0; atMs < 20 * DAY_MS; atMs += 5 * HOUR_MS)
      days = daysUntil(days, { rate, fromMs: atMs, nowMs: atMs + 5 * HOUR_MS });
    expect(daysUntil(days, { rate, fromMs: 20 * DAY_MS, nowMs: 20 * DAY_MS + 7 })).toEqual(atOnce);
  });

  it("has no gap where a long time ends with a day", () => {
    const days = daysUntil(daysFrom(9 * DAY_MS), { rate, fromMs: 9 * DAY_MS, nowMs: 9 * DAY_MS + HOUR_MS });
    const eventual = daysUntil(days, { rate, fromMs: 9 * DAY_MS + HOUR_MS, nowMs: 30 * DAY_MS });
    expect(hoursOf(eventual)).toEqual([23, 24, 25, 26, 27, 28, 29].map((day) => [day * 24, 24]));
  });

  it("is kept for the present day and the seven before, and begins anew by itself after longer", () => {
    const atMs = 100 * DAY_MS + HOUR_MS;
    const days = daysUntil(daysFrom(3), { rate, fromMs: 3, nowMs: atMs });
    expect(hoursOf(days).map(([, hours]) => hours)).toEqual([24, 24, 24, 24, 24, 24, 24, 1]);
    expect(days[0]?.fromMs).toBe(93 * DAY_MS);
    expect(daysUntil(days, { rate, fromMs: atMs, nowMs: atMs })).toEqual(days);
  });
});
