/**
 * Correction of a replica's latency coefficients by what it measured: a Kalman filter over four multipliers (fixed step cost,
 * cost per sequence, per resident token, per prefill token) that start at 1.
 *
 * Every measured duration is a sum that is linear in the multipliers: a time to the first token is some steps at the load
 * of that time plus prefill, a decode phase is its tokens' steps plus the prefill that ran between them. The prior keeps
 * directions that traffic has not shown at the given coefficients. Process noise lets a replica that changes be followed.
 * R. E. Kalman, "A New Approach to Linear Filtering and Prediction Problems", 1960; scalar observations.
 */
import type { LatencyCoefficients } from "./contract.ts";

const SIZE = 4;
/** Standard deviation of a multiplier before any measurement. */
const PRIOR_SD = 0.5;
/** Relative standard deviation of one measured duration: queueing that the closed form does not see. */
const MEASUREMENT_SD = 0.3;
/** Growth of a multiplier's variance per measurement: 10% in 1,000 measurements. */
const PROCESS_VARIANCE = 1e-5;
const MIN_MULTIPLIER = 0.05;
const MAX_MULTIPLIER = 20;
/**
 * Maximum deviation of a measurement in standard deviations; a larger one counts as this much, because one stalled
 * request says little.
 */
const MAX_DEVIATIONS = 4;

/** Quantities on which a measured duration depends. */
export interface Exposure {
  steps: number;
  /** Sum over the steps of the number of sequences; the next field: of the resident tokens. */
  sequenceSteps: number;
  tokenSteps: number;
  prefillTokens: number;
  /** Part of the duration that the coefficients do not scale: network, adapter loading, fixed request cost. */
  fixedMs: number;
}

export class Calibration {
  #base: LatencyCoefficients;
  readonly #multipliers = new Float64Array(SIZE).fill(1);
  readonly #covariance = new Float64Array(SIZE * SIZE);
  readonly #row = new Float64Array(SIZE);
  readonly #gain = new Float64Array(SIZE);
  stepMs = 0;
  stepMsPerSequence = 0;
  stepMsPerKvToken = 0;
  prefillMsPerToken = 0;
  prefillMsPerTokenSquared = 0;
  requestMs = 0;

  constructor(base: LatencyCoefficients) {
    this.#base = base;
    for (let index = 0; index < SIZE; index += 1) this.#covariance[index * SIZE + index] = PRIOR_SD * PRIOR_SD;
    this.#publish();
  }

  /** Sets new base coefficients and drops the measurements. */
  reset(base: LatencyCoefficients): void {
    this.#base = base;
    this.#multipliers.fill(1);
    this.#covariance.fill(0);
    for (let index = 0; index < SIZE; index += 1) this.#covariance[index * SIZE + index] = PRIOR_SD * PRIOR_SD;
    this.#publish();
  }

  coefficients(): LatencyCoefficients {
    const { stepMs, stepMsPerSequence, stepMsPerKvToken, prefillMsPerToken, prefillMsPerTokenSquared, requestMs } =
      this;
    return { stepMs, stepMsPerSequence, stepMsPerKvToken, prefillMsPerToken, prefillMsPerTokenSquared, requestMs };
  }

  /** Corrects the multipliers by one measured duration. */
  measure(durationMs: number, exposure: Exposure): void {
    const base = this.#base;
    const row = this.#row;
    row[0] = exposure.steps * base.stepMs;
    row[1] = exposure.sequenceSteps * base.stepMsPerSequence;
    row[2] = exposure.tokenSteps * base.stepMsPerKvToken;
    row[3] = exposure.prefillTokens * base.prefillMsPerToken;
    const scale = row[0] + row[1] + row[2] + row[3];
    const measured = durationMs - exposure.fixedMs;
    if (!(scale > 0) || !(measured > 0)) return;
    // The row is relative to the duration, so that every duration counts the same, however long it is.
    for (let index = 0; index < SIZE; index += 1) row[index] = (row[index] as number) / scale;
    this.#update(measured / scale);
    this.#publish();
  }

  #update(observed: number): void {
    const covariance = this.#covariance;
    const gain = this.#gain;
    let predicted = 0;
    let variance = 0;
    for (let index = 0; index < SIZE; index += 1) {
      const own = covariance[index * SIZE + index] as number;
      // Without measurements in a direction, its variance must not grow beyond the prior.
      if (own < PRIOR_SD * PRIOR_SD) covariance[index * SIZE + index] = own + PROCESS_VARIANCE;
      let sum = 0;
      for (let other = 0; other < SIZE; other += 1) {
        sum += (covariance[index * SIZE + other] as number) * (this.#row[other] as number);
      }
      gain[index] = sum;
      predicted += (this.#row[index] as number) * (this.#multipliers[index] as number);
      variance += (this.#row[index] as number) * sum;
    }
    const noise = MEASUREMENT_SD * predicted;
    const total = variance + noise * noise;
    const limit = MAX_DEVIATIONS * Math.sqrt(total);
    const innovation = Math.max(-limit, Math.min(limit, observed - predicted));
    for (let index = 0; index < SIZE; index += 1) {
      const moved = (this.#multipliers[index] as number) + ((gain[index] as number) / total) * innovation;
      this.#multipliers[index] = Math.max(MIN_MULTIPLIER, Math.min(MAX_MULTIPLIER, moved));
      for (let other = 0; other < SIZE; other += 1) {
        const at = index * SIZE + other;
        covariance[at] = (covariance[at] as number) - ((gain[index] as number) * (gain[other] as number)) / total;
      }
    }
  }

  #publish(): void {
    const [step, sequence, token, prefill] = this.#multipliers as unknown as readonly [number, number, number, number];
    this.stepMs = this.#base.stepMs * step;
    this.stepMsPerSequence = this.#base.stepMsPerSequence * sequence;
    this.stepMsPerKvToken = this.#base.stepMsPerKvToken * token;
    this.prefillMsPerToken = this.#base.prefillMsPerToken * prefill;
    this.prefillMsPerTokenSquared = (this.#base.prefillMsPerTokenSquared ?? 0) * prefill;
    this.requestMs = this.#base.requestMs;
  }
}
