import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareProducts, divideProduct } from "./exact.ts";

const amount = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.constantFrom(0, 1, Number.MAX_SAFE_INTEGER));

describe("exact arithmetic", () => {
  it("compares products as big integers do, ties included", () => {
    const factors = fc.tuple(amount, amount, amount);
    fc.assert(
      fc.property(factors, factors, fc.boolean(), (left, other, isPermuted) => {
        const right: typeof left = isPermuted ? [left[2], left[0], left[1]] : other;
        const difference =
          BigInt(left[0]) * BigInt(left[1]) * BigInt(left[2]) - BigInt(right[0]) * BigInt(right[1]) * BigInt(right[2]);
        expect(compareProducts(left, right)).toBe(difference > 0n ? 1 : difference < 0n ? -1 : 0);
      }),
    );
  });

  it("tells products apart that a double cannot", () => {
    const large = 2 ** 52 + 1;
    expect(compareProducts([large, large, 3], [large + 1, large - 1, 3])).toBe(1);
  });

  it("divides a product into whole part and remainder", () => {
    fc.assert(
      fc.property(amount, fc.nat({ max: 1_000_000 }), fc.integer({ min: 1, max: 1_000_000 }), (left, part, more) => {
        const divisor = part + more;
        const { quotient, remainder } = divideProduct(left, part, divisor);
        expect(BigInt(quotient) * BigInt(divisor) + BigInt(remainder)).toBe(BigInt(left) * BigInt(part));
        expect(remainder).toBeLessThan(divisor);
      }),
    );
  });
});
