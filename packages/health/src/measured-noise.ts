/**
 * Noise of real runs, for tests that plant slow nodes. The deviations are those of the matrix product of the small qualification suite in 50 runs on one
 * machine, by processor time: other programs took most of the machine meanwhile, and nodes of a fleet do not share their processors.
 * Measured by `npm run bench suite-noise`.
 */
import { uniformDraws } from "./spares/uniform-draws.ts";

/** Natural logarithms of the figures relative to their median, in thousandths. Coefficient of variation: 1.7%. */
const MEASURED_DEVIATIONS_MILLI: readonly number[] = [
  0, -6, -12, -12, -18, 12, 6, -18, 6, 6, 12, 0, 29, 0, 6, -6, 18, 0, 12, -12, 24, 18, 29, 24, 24, 12, 0, 0, 0, -18, 0,
  -12, -24, 12, 12, -18, 6, -18, 12, -6, 0, 6, -18, -36, -36, -36, -43, -24, -12, 0,
];

/** Figures are rounded to hundredths, so a drawn deviation is spread over the width of a step. */
const STEP_MILLI = 6;

/** Draws factors around 1 with the noise of the measured runs; the same seed gives the same factors. */
export function measuredNoise(seed: number): () => number {
  const draw = uniformDraws(seed);
  return () => {
    const deviation = MEASURED_DEVIATIONS_MILLI[Math.floor(draw() * MEASURED_DEVIATIONS_MILLI.length)] ?? 0;
    return Math.exp((deviation + STEP_MILLI * (draw() - 0.5)) / 1000);
  };
}
