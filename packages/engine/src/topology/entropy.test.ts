import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { entropyOf } from "./entropy.ts";

describe("entropy", () => {
  it("is known where parts are powers of two, and nothing where there is one part or none", () => {
    expect(entropyOf([1, 1])).toBe(1);
    expect(entropyOf([5, 5, 5, 5])).toBe(2);
    expect(entropyOf([1, 1, 2])).toBe(1.5);
    expect(entropyOf([7, 0])).toBe(0);
    expect(entropyOf([])).toBe(0);
  });

  it("agrees with logarithms of the platform, and does not depend on the order", () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 1_000_000 }), { maxLength: 20 }), (amounts) => {
        const sum = amounts.reduce((total, each) => total + each, 0);
        const parts = amounts.filter((each) => each > 0).map((each) => each / sum);
        const expected = -parts.reduce((total, part) => total + part * Math.log2(part), 0);
        expect(entropyOf(amounts)).toBeCloseTo(expected, 10);
        expect(entropyOf(amounts.toReversed())).toBe(entropyOf(amounts));
      }),
    );
  });
});
