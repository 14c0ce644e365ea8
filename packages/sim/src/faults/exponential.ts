/**
 * Random variates with the same bits in every JavaScript engine. `Math.log` differs in the last bits between engines
 * (Node 26 and Chromium 156), so the logarithm is a series of the four operations that IEEE 754 defines exactly.
 */
import { draw } from "@headroom/model";

const ln2 = 0.6931471805599453;

/**
 * Natural logarithm of a positive number, to about 1 part in 10^15. The argument is scaled to [1, 2) by exact halvings
 * or doublings; then ln(m) = 2 artanh((m - 1) / (m + 1)), whose argument is at most 1/3, so that 17 terms reach double
 * precision.
 */
export function portableLog(value: number): number {
  let mantissa = value;
  let exponent = 0;
  while (mantissa >= 2) {
    mantissa /= 2;
    exponent++;
  }
  while (mantissa < 1) {
    mantissa *= 2;
    exponent--;
  }
  const z = (mantissa - 1) / (mantissa + 1);
  const zSquared = z * z;
  let sum = 0;
  for (let term = 33; term >= 1; term -= 2) sum = sum * zSquared + 1 / term;
  return exponent * ln2 + 2 * z * sum;
}

/** Coordinates of one random draw; equal coordinates give the same number. */
export interface DrawKey {
  readonly seed: number;
  readonly sequence: number;
  readonly purpose: string;
}

/** Exponential variate with mean 1, at most 22.2 (the draw has 32 bits). */
export function drawExponential(key: DrawKey): number {
  const uniform = (draw(key.seed, key.sequence, key.purpose) + 1) / 2 ** 32;
  // Subtracting from zero instead of negating avoids negative zero in comparisons and output.
  return 0 - portableLog(uniform);
}

/** Uniform integer in [0, bound). For bounds up to 2^21 the bias of the division stays below 2^-11. */
export function drawBelow(key: DrawKey, bound: number): number {
  return Math.floor((draw(key.seed, key.sequence, key.purpose) * bound) / 2 ** 32);
}
