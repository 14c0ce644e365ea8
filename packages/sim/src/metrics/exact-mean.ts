/**
 * Means and shares that are rounded exactly. They are computed in integers and rounded half up, so that double
 * precision does not decide the last decimal.
 */

/** `numerator / denominator` to `decimals` decimals, half up, as the nearest double. Both are non-negative safe integers or bigints. */
export function roundedQuotient(numerator: bigint, denominator: bigint, decimals: number): number {
  if (denominator === 0n) return 0;
  let scale = 1;
  for (let digit = 0; digit < decimals; digit++) scale *= 10;
  const scaled = (2n * BigInt(scale) * numerator + denominator) / (2n * denominator);
  return Number(scaled) / scale;
}

/** The mean of `count` durations that add up to `sumMs`, in seconds to one decimal. */
export function meanSeconds(sumMs: bigint, count: number): number {
  return roundedQuotient(sumMs, 1000n * BigInt(count), 1);
}

/** An exact sum of non-negative safe integers, also above 2^53, without a bigint for every term. */
export class ExactSum {
  #recent = 0;
  #settled = 0n;

  add(value: number): void {
    if (this.#recent > Number.MAX_SAFE_INTEGER - value) {
      this.#settled += BigInt(this.#recent);
      this.#recent = 0;
    }
    this.#recent += value;
  }

  addProduct(left: number, right: number): void {
    const product = left * right;
    if (product <= Number.MAX_SAFE_INTEGER) this.add(product);
    else this.#settled += BigInt(left) * BigInt(right);
  }

  get total(): bigint {
    return this.#settled + BigInt(this.#recent);
  }
}
