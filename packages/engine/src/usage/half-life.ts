/** Powers of one half from a table. They have the same bits everywhere, which `Math.pow` does not guarantee. */

/** The factor 1. Factors are multiples of 2^-26, so that the product of two of them is exact in a double. */
export const FACTOR_ONE = 67_108_864;

/** 2^(-1/2), 2^(-1/4), 2^(-1/8)… in units of 2^-26, rounded. */
const ROOTS: readonly number[] = [
  47_453_133, 56_431_603, 61_539_100, 64_263_668, 65_670_859, 66_385_968, 66_746_437, 66_927_405, 67_018_073,
  67_063_453, 67_086_155, 67_097_508, 67_103_186, 67_106_025, 67_107_444, 67_108_154, 67_108_509, 67_108_687,
  67_108_775, 67_108_820, 67_108_842, 67_108_853,
];

/**
 * A half-life and the length of its steps. The number of steps is a power of two and at least 16, so that a step
 * changes an average by at most a 23rd. A step is at most five minutes, so that the usage of a large fleet times ms
 * stays a safe integer.
 */
export interface HalfLife {
  readonly stepMs: number;
  /** Number of steps in the half-life, a power of two. */
  readonly steps: number;
}

const STEPS_MIN = 16;
const STEPS_MAX = 4_194_304;
const STEP_MS_MAX = 300_000;

export function halfLifeOf(halfLifeMs: number): HalfLife {
  let steps = STEPS_MIN;
  while (steps < STEPS_MAX && halfLifeMs / steps > STEP_MS_MAX) steps *= 2;
  return { steps, stepMs: Math.max(1, Math.floor(halfLifeMs / steps)) };
}

/** Factor that remains of an amount after this number of steps, in multiples of 2^-26. */
export function factorAfter({ steps: perHalf }: HalfLife, steps: number): number {
  let factor = FACTOR_ONE;
  let rest = steps % perHalf;
  for (let part = perHalf / 2, at = 0; part >= 1; part /= 2, at++) {
    if (rest < part) continue;
    rest -= part;
    factor = Math.floor((factor * (ROOTS[at] as number)) / FACTOR_ONE);
  }
  for (let halves = Math.floor(steps / perHalf); halves > 0 && factor > 0; halves--) factor = Math.floor(factor / 2);
  return factor;
}
