// Adam (Kingma and Ba, 2015) with gradient clipping and a learning-rate schedule.

/**
 * One optimizer step in place. State: weights, mean, mean square. `step` counts from 1. A gradient with a norm above 1
 * is scaled to norm 1.
 */
export function adam(state, gradient, step, rate) {
  const size = state.length / 3;
  const [weights, mean, square] = [0, 1, 2].map((part) => state.subarray(part * size, (part + 1) * size));
  const [meanShare, squareShare] = [1 - 0.9 ** step, 1 - 0.99 ** step];
  let length = 0;
  for (let i = 0; i < size; i++) length += gradient[i] * gradient[i];
  const shorten = 1 / Math.max(1, Math.sqrt(length));
  for (let i = 0; i < size; i++) {
    const slope = gradient[i] * shorten;
    mean[i] += 0.1 * (slope - mean[i]);
    square[i] += 0.01 * (slope * slope - square[i]);
    weights[i] -= (rate * mean[i]) / meanShare / (Math.sqrt(square[i] / squareShare) + 1e-8);
  }
}

/** Learning-rate factor of a step: linear warm-up over the first 50, then a cosine decay to 1/40. */
export function warmAndCool(step, steps) {
  return Math.min(1, (step + 1) / 50) * (0.5125 + 0.4875 * Math.cos((Math.PI * step) / steps));
}
