import { describe, expect, it } from "vitest";
import { civilDay, dayOf, monthStartMs, nextMonthStartMs } from "./months.ts";

describe("months", () => {
  it("are those of the platform's calendar, day by day over 150 years", () => {
    for (let day = 0; day < 55_000; day += 1) {
      const date = new Date(day * 86_400_000);
      const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
      const civil = civilDay(day);
      if (civil.year !== year || civil.month !== month + 1 || civil.day !== date.getUTCDate())
        throw new Error(`day ${day} is ${date.toISOString()}, got ${JSON.stringify(civil)}`);
      const noon = date.getTime() + 43_200_000;
      expect(dayOf(noon)).toBe(day);
      expect(monthStartMs(noon)).toBe(Date.UTC(year, month, 1));
      expect(nextMonthStartMs(noon)).toBe(Date.UTC(year, month + 1, 1));
    }
  });
});
