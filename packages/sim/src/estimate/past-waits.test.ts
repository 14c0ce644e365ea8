import { describe, expect, it } from "vitest";
import { PastWaits, pinballLoss } from "./past-waits.ts";

describe("the waits of the past", () => {
  it("speak for their own size, for all sizes where that has none, and for no wait at first", () => {
    const waits = new PastWaits();
    expect(waits.quantiles(1)).toEqual({ p10Ms: 0, p90Ms: 0 });
    for (let wait = 100; wait >= 0; wait -= 10) waits.started(1, wait);
    waits.started(8, 5000);
    expect(waits.quantiles(1)).toEqual({ p10Ms: 10, p90Ms: 90 });
    expect(waits.quantiles(8)).toEqual({ p10Ms: 5000, p90Ms: 5000 });
    expect(waits.quantiles(4).p10Ms).toBeCloseTo(11, 9);
    expect(waits.quantiles(4).p90Ms).toBeCloseTo(99, 9);
  });
});

describe("the pinball loss", () => {
  it("is least at the quantile that it is named after", () => {
    const outcomes = Array.from({ length: 100 }, (_, index) => index);
    const loss = (forecast: number): number =>
      outcomes.reduce((sum, outcome) => sum + pinballLoss(0.9, forecast, outcome), 0);
    const best = outcomes.toSorted((left, right) => loss(left) - loss(right))[0];
    expect(best).toBeGreaterThanOrEqual(89);
    expect(best).toBeLessThanOrEqual(90);
  });
});
