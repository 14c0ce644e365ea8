/**
 * Products and quotients of safe integers without rounding. Shares are compared by cross-multiplication, and a product
 * of two or three amounts (memory in MiB, cores in thousandths) can exceed 2^53. Comparisons that a double might round
 * wrongly are repeated in big integers, so that ties are ties in every JavaScript engine.
 */

/**
 * Bound of the relative error of a difference of two products (four roundings of 2^-53, and a margin). If the relative
 * difference is larger, its sign is exact.
 */
const DOUBT = 1e-15;

/** Whole part and remainder of `left * right / divisor`; all three are safe integers, none negative, the divisor not 0. */
export function divideProduct(left: number, right: number, divisor: number): { quotient: number; remainder: number } {
  const product = left * right;
  if (product <= Number.MAX_SAFE_INTEGER) {
    const remainder = product % divisor;
    return { quotient: (product - remainder) / divisor, remainder };
  }
  const exact = BigInt(left) * BigInt(right);
  return { quotient: Number(exact / BigInt(divisor)), remainder: Number(exact % BigInt(divisor)) };
}

/** The sign of `a1 * a2 * a3 - b1 * b2 * b3`, all of them safe integers, none negative. */
export function compareProducts(left: Factors, right: Factors): number {
  const leftProduct = left[0] * left[1] * left[2];
  const rightProduct = right[0] * right[1] * right[2];
  const difference = leftProduct - rightProduct;
  const largest = Math.max(leftProduct, rightProduct);
  if (largest <= Number.MAX_SAFE_INTEGER || Math.abs(difference) > largest * DOUBT) return Math.sign(difference);
  const exact = exactProduct(left) - exactProduct(right);
  return exact > 0n ? 1 : exact < 0n ? -1 : 0;
}

export type Factors = readonly [number, number, number];

const exactProduct = (factors: Factors): bigint => BigInt(factors[0]) * BigInt(factors[1]) * BigInt(factors[2]);
