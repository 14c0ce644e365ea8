import { draw } from "@headroom/model";
import { expect, it } from "vitest";
import { rateInterval } from "./rate-interval.ts";

const KEPT = 39;
const uniform = (seed: number, at: number): number => (draw(seed, at, "rates") + 0.5) / 2 ** 32;
/** Normally distributed (Box and Muller). */
const normal = (seed: number, at: number): number =>
  Math.sqrt(-2 * Math.log(uniform(seed, 2 * at))) * Math.cos(2 * Math.PI * uniform(seed, 2 * at + 1));

/** Percent of 20,000 lognormal rates that lie in the interval of the readings before them, and the mean of its width. */
function covered(correlation: number): { readonly percent: number; readonly width: number } {
  let [within, width, count] = [0, 0, 0];
  for (let seed = 1; seed <= 200; seed++) {
    const rates: number[] = [];
    let level = 0;
    for (let at = 0; at < 120; at++) {
      level = correlation * level + Math.sqrt(1 - correlation * correlation) * normal(seed, at);
      const rate = Math.round(100_000 * Math.exp(0.5 * level));
      if (at >= 20) {
        const { low, high } = rateInterval(rates.slice(-KEPT));
        within += rate >= low && rate <= high ? 1 : 0;
        width += high / low;
        count++;
      }
      rates.push(rate);
    }
  }
  return { percent: (100 * within) / count, width: width / count };
}

it.each([0, 0.6, 0.9])("holds 77 to 83% of rates with the correlation %d", (correlation) => {
  const { percent } = covered(correlation);
  expect(percent).toBeGreaterThan(77);
  expect(percent).toBeLessThan(83);
});

it("is narrower where the last reading says more", () => {
  expect(covered(0.9).width).toBeLessThan(0.6 * covered(0).width);
});

it("has the order of low, median and high, also for one reading and for equal ones", () => {
  expect(rateInterval([7])).toEqual({ low: 7, median: 7, high: 7 });
  expect(rateInterval(Array.from({ length: 20 }, () => 5))).toEqual({ low: 5, median: 5, high: 5 });
  expect(rateInterval([5, 5, 5, 5, 5, 5, 5, 5, 100])).toMatchObject({ low: 5, median: 5 });
  const rising = rateInterval(Array.from({ length: 39 }, (_, at) => 1_000 + 50 * at));
  expect(rising.low).toBeLessThanOrEqual(rising.median);
  expect(rising.median).toBeLessThanOrEqual(rising.high);
  expect(rising.median).toBeGreaterThan(2_400);
});
