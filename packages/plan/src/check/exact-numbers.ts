/** Exact arithmetic of the checker: rational numbers on BigInt, and the normal distribution by quadrature. Shares nothing with the optimiser. */
export interface Rational {
  readonly top: bigint;
  readonly bottom: bigint;
}

/** The decimal number as written, not as the nearest double. */
export function rational(value: number): Rational {
  const [mantissa = "0", exponent = "0"] = String(value).toLowerCase().split("e");
  const [whole = "0", decimals = ""] = mantissa.split(".");
  const shift = Number(exponent) - decimals.length;
  const digits = BigInt(whole + decimals);
  return shift >= 0
    ? { top: digits * 10n ** BigInt(shift), bottom: 1n }
    : { top: digits, bottom: 10n ** BigInt(-shift) };
}

export function times(...factors: readonly (Rational | bigint)[]): Rational {
  let [top, bottom] = [1n, 1n];
  for (const factor of factors) {
    const { top: up, bottom: down } = typeof factor === "bigint" ? { top: factor, bottom: 1n } : factor;
    top *= up;
    bottom *= down;
  }
  return { top, bottom };
}

export function floored({ top, bottom }: Rational): bigint {
  return top >= 0n ? top / bottom : -((-top + bottom - 1n) / bottom);
}

/** Halves are rounded up. */
export function nearest({ top, bottom }: Rational): bigint {
  return floored({ top: 2n * top + bottom, bottom: 2n * bottom });
}

/** Money as printed, in cents. */
export function centsOf(usd: number): bigint {
  return nearest(times(rational(usd), 100n));
}

const STEPS = 4000;

/** Probability of the normal distribution below `z`, by Simpson's rule from 0. */
export function probabilityBelow(z: number): number {
  const width = z / STEPS;
  let sum = 0;
  for (let step = 0; step <= STEPS; step += 1) {
    const x = step * width;
    const weight = step === 0 || step === STEPS ? 1 : step % 2 === 1 ? 4 : 2;
    sum += weight * Math.exp((-x * x) / 2);
  }
  return 0.5 + (sum * width) / 3 / Math.sqrt(2 * Math.PI);
}

const known = new Map<number, number>();

/** The deviation below which this share lies, by Newton's method. */
export function deviationOf(share: number): number {
  const before = known.get(share);
  if (before !== undefined) return before;
  let z = 0;
  for (let step = 0; step < 60; step += 1) {
    const slope = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
    const move = (probabilityBelow(z) - share) / slope;
    z -= Math.max(-0.5, Math.min(0.5, move));
    if (Math.abs(move) < 1e-14) break;
  }
  known.set(share, z);
  return z;
}
