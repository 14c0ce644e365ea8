import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExactSum, meanSeconds, roundedQuotient } from "./exact-mean.ts";

const safe = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

describe("exact sums and means", () => {
  it("add up past 2^53 without losing a unit", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(safe, safe)), (pairs) => {
        const sum = new ExactSum();
        let expected = 0n;
        for (const [left, right] of pairs) {
          sum.add(left);
          sum.addProduct(left, right);
          expected += BigInt(left) + BigInt(left) * BigInt(right);
        }
        expect(sum.total).toBe(expected);
      }),
    );
  });

  it("round half up, where doubles would round the other way", () => {
    expect(meanSeconds(250n, 1)).toBe(0.3);
    expect(meanSeconds(249n, 1)).toBe(0.2);
    // The double nearest to 1.005 is slightly smaller than 1.005, so rounding that double to two decimals gives 1.
    expect(roundedQuotient(1005n, 1000n, 2)).toBe(1.01);
    expect(roundedQuotient(1n, 0n, 2)).toBe(0);
  });

  it("agree with rounding in integers", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 40 }), fc.integer({ min: 1, max: 10_000 }), (sumMs, count) => {
        const tenths = Math.floor((2 * sumMs + 100 * count) / (200 * count));
        expect(meanSeconds(BigInt(sumMs), count)).toBe(tenths / 10);
      }),
    );
  });
});
