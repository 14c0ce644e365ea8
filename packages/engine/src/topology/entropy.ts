/**
 * Shannon entropy, in bits, of the amounts as parts of their sum. More even amounts have a larger entropy. The
 * logarithm uses only additions and multiplications, because the last bits of `Math.log2` differ between JavaScript
 * engines. The amounts are sorted first, so their order does not change the result.
 */
export function entropyOf(amounts: readonly number[]): number {
  const positive = amounts.filter((amount) => amount > 0).toSorted((left, right) => left - right);
  const sum = positive.reduce((total, amount) => total + amount, 0);
  return positive.reduce((entropy, amount) => entropy - (amount / sum) * binaryLogarithm(amount / sum), 0);
}

const LOG2_E = 1.4426950408889634;

/**
 * Number of terms of the series below. For arguments up to 1/3, the 17th term is already smaller than the last bit of
 * the sum.
 */
const TERM_COUNT = 18;

/** log2(x) for 0 < x: x = m * 2^e with 1 <= m < 2, and ln m = 2 artanh((m - 1) / (m + 1)), Abramowitz & Stegun 4.1.27. */
function binaryLogarithm(x: number): number {
  let mantissa = x;
  let exponent = 0;
  for (; mantissa < 1; exponent--) mantissa *= 2;
  for (; mantissa >= 2; exponent++) mantissa /= 2;
  const ratio = (mantissa - 1) / (mantissa + 1);
  const square = ratio * ratio;
  let sum = 0;
  let power = ratio;
  for (let term = 0; term < TERM_COUNT; term++) {
    sum += power / (2 * term + 1);
    power *= square;
  }
  return exponent + 2 * sum * LOG2_E;
}
