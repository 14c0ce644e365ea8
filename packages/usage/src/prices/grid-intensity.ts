/** Carbon intensity of the grid: one value, or measured values by the hour. */
import { z } from "zod";
import { dateText, instantOf } from "./amounts.ts";

const HOUR_MS = 3_600_000;
const GRAMS_MAX = 100_000;
const HOURS_MAX = 100_000;
const grams = z.number().min(0).max(GRAMS_MAX);

/** Grams of CO2 for a kWh, or series of an hour each from a date on. The last value of a series holds until the next series. */
export const gridIntensity = z.union([
  grams,
  z
    .array(z.strictObject({ from: dateText, hourly: z.array(grams).min(1).max(HOURS_MAX) }))
    .min(1)
    .max(1_000),
]);

export type GridIntensity = z.output<typeof gridIntensity>;

/** Grams of CO2 for a kWh at an instant. Before the first series, its first value counts. */
export function gramsAt(intensity: GridIntensity, atMs: number): number {
  if (typeof intensity === "number") return intensity;
  let [first, firstMs] = [intensity[0]!, Number.POSITIVE_INFINITY];
  let [found, foundMs] = [first, Number.NEGATIVE_INFINITY];
  for (const series of intensity) {
    const fromMs = instantOf(series.from);
    if (fromMs < firstMs) [first, firstMs] = [series, fromMs];
    if (fromMs <= atMs && fromMs > foundMs) [found, foundMs] = [series, fromMs];
  }
  if (atMs < firstMs) return first.hourly[0]!;
  return found.hourly[Math.min(found.hourly.length - 1, Math.floor((atMs - foundMs) / HOUR_MS))]!;
}
