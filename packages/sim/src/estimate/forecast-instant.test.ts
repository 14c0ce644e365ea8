import { expect, it } from "vitest";
import { forecastInstantMs } from "./forecast-instant.ts";

const MINUTE_MS = 60_000;

it("stays with the newest event for ten minutes, then moves on each time the quiet has doubled", () => {
  const at = (quietMinutes: number): number =>
    (forecastInstantMs(1000, 1000 + quietMinutes * MINUTE_MS) - 1000) / MINUTE_MS;
  expect([0, 9.9, 10, 19.9, 20, 39, 40, 79, 80].map(at)).toEqual([0, 0, 10, 10, 20, 20, 40, 40, 80]);
  expect(forecastInstantMs(5000, 1000)).toBe(5000);
});
