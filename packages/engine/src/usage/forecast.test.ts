import { describe, expect, it } from "vitest";
import type { Account, Budget } from "@headroom/model";
import { budgetForecast } from "./forecast.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The eleventh day of a month with 31 days. */
const NOW_MS = Date.UTC(2026, 0, 11);
const MONTH_END_MS = Date.UTC(2026, 1, 1);

const budget = (changes: Partial<Budget>): Budget => ({ gpuHours: 100, period: "month", over: "hold", ...changes });
const used = (gpuHours: number, days?: readonly (readonly [number, number])[]): Account => ({
  atMs: NOW_MS,
  milliMs: gpuHours * 1000 * HOUR_MS,
  moneyMilliMs: gpuHours * 2_000_000 * 1000 * HOUR_MS,
  ...(days === undefined
    ? {}
    : {
        days: days.map(([back, hours]) => ({
          fromMs: NOW_MS - back * DAY_MS,
          milliMs: hours * 1000 * HOUR_MS,
          moneyMilliMs: hours * 2_000_000 * 1000 * HOUR_MS,
        })),
      }),
});
/** Rate at which this number of accelerators uses up a budget, at two dollars an hour each. */
const running = (accelerators: number) => ({ milli: accelerators * 1000, moneyMilli: accelerators * 2_000_000 * 1000 });

describe("a forecast of a budget", () => {
  it("is what is left divided by what runs, in hours or in money, whichever ends first", () => {
    const now = budgetForecast(used(40), budget({}), running(2))?.now;
    expect(now).toEqual({
      gpuHoursPerDay: 48,
      microUsdPerDay: 96_000_000,
      usedUpAtMs: NOW_MS + 30 * HOUR_MS,
    });
    // Budget of $120, $80 of which are used. The rest lasts two accelerators for 10 hours.
    const both = budgetForecast(used(40), budget({ microUsd: 120_000_000 }), running(2))?.now;
    expect(both?.usedUpAtMs).toBe(NOW_MS + 10 * HOUR_MS);
  });

  it("has no end that lies after the budget is renewed, nor where nothing uses it up", () => {
    const leftMs = MONTH_END_MS - NOW_MS;
    const exactly = { gpuHours: 40 + leftMs / HOUR_MS };
    expect(budgetForecast(used(40), budget(exactly), running(1))?.now.usedUpAtMs).toBeNull();
    const less = { gpuHours: exactly.gpuHours - 1 };
    expect(budgetForecast(used(40), budget(less), running(1))?.now.usedUpAtMs).toBe(MONTH_END_MS - HOUR_MS);
    expect(budgetForecast(used(40), budget({ ...exactly, period: "total" }), running(1))?.now.usedUpAtMs).toBe(
      MONTH_END_MS,
    );
    expect(budgetForecast(used(40), budget({ period: "total" }), running(0))?.now.usedUpAtMs).toBeNull();
  });

  it("goes by the mean of the days that were counted, too", () => {
    const days = [
      [3, 6],
      [2, 0],
      [1, 24],
    ] as const;
    const lately = budgetForecast(used(40, days), budget({}), running(0))?.lately;
    expect(lately).toEqual({
      sinceMs: NOW_MS - 3 * DAY_MS,
      gpuHoursPerDay: 10,
      microUsdPerDay: 20_000_000,
      usedUpAtMs: NOW_MS + 6 * DAY_MS,
    });
  });

  it("does not go by less than an hour, and there is none of what is used up", () => {
    expect(budgetForecast(used(40, [[0.04, 1]]), budget({}), running(1))?.lately).toBeNull();
    expect(budgetForecast(used(40), budget({}), running(1))?.lately).toBeNull();
    expect(budgetForecast(used(100), budget({}), running(1))).toBeNull();
  });
});
