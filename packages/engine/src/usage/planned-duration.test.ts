import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { roundedDownMs, roundedUpMs } from "./planned-duration.ts";

const MINUTE_MS = 60_000;
const durations = fc.oneof(
  fc.integer({ min: 1, max: 100 * MINUTE_MS }),
  fc.integer({ min: 1, max: 400 * 24 * 60 * MINUTE_MS }),
);

describe("planned durations", () => {
  it("are what people write, as it is written", () => {
    for (const minutes of [1, 5, 10, 15, 30, 45, 60, 90, 120, 180, 240, 480, 720, 1440, 2880, 7 * 1440])
      expect(roundedUpMs(minutes * MINUTE_MS)).toBe(minutes * MINUTE_MS);
  });

  it("are not shorter and at most 9% longer, in the same order, and planned as themselves", () => {
    fc.assert(
      fc.property(durations, durations, (one, other) => {
        const planned = roundedUpMs(one);
        expect(planned).toBeGreaterThanOrEqual(one);
        expect(planned).toBeLessThanOrEqual(one * 1.09);
        expect(roundedUpMs(planned)).toBe(planned);
        if (one <= other) expect(planned).toBeLessThanOrEqual(roundedUpMs(other));
      }),
    );
  });

  it("round down to the longest that is not longer", () => {
    fc.assert(
      fc.property(durations, (duration) => {
        const down = roundedDownMs(duration);
        expect(down).toBeLessThanOrEqual(duration);
        expect(roundedUpMs(down)).toBe(down);
        expect(roundedUpMs(down + 1)).toBeGreaterThan(down);
        if (down < duration) expect(roundedUpMs(down + 1)).toBeGreaterThan(duration);
      }),
    );
  });

  it("are a few hundred", () => {
    const found = new Set<number>();
    for (let minutes = 1; minutes <= 60 * 24 * 60; minutes++) found.add(roundedUpMs(minutes * MINUTE_MS));
    expect(found.size).toBeLessThan(300);
  });
});
