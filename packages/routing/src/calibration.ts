/**
 * Corrects a replica's latency coefficients by measured durations. A Kalman filter estimates four multipliers that
 * start at 1: fixed cost of a step, cost per sequence, per resident token, per prefill token. Every measured duration
 * is a sum that is linear in the multipliers: a time to the first token consists of some steps at the load of that time
 * plus prefill, and a decode phase consists of the steps of its tokens plus the prefill that ran between them. The
 * prior keeps combinations of multipliers that the traffic has not measured at the given coefficients. Process noise
 * lets the estimate follow a replica that changes. R. E. Kalman, "A New Approach to Linear Filtering and Prediction
 * Problems", 1960; scalar observations.
 */
import type { LatencyCoefficients } from "./contract.ts";

const SIZE = 4;
/** Standard deviation of a multiplier before any measurement. */
const PRIOR_SD = 0.5;
/** Relative standard deviation of one measured duration. It covers queueing that the closed form does not model. */
const MEASUREMENT_SD = 0.3;
/** Growth of a multiplier's variance per measurement. It amounts to 10% in 1,000 measurements. */
const PROCESS_VARIANCE = 1e-5;
const MIN_MULTIPLIER = 0.05;
const MAX_MULTIPLIER = 20;
/**
 * Maximum deviation of a measurement, in standard deviations. A larger deviation counts as this much, because one
 * stalled request is weak evidence.
 */
const MAX_DEVIATIONS = 4;

/** Amounts on which a measured duration depends. */
export interface Exposure {
  steps: number;
  /** Sum of the number of sequences over all steps. The next field is the sum of the resident tokens over all steps. */
  sequenceSteps: number;
  tokenSteps: number;
  prefillTokens: number;
  /**
   * Part of the duration, in ms, to which the coefficients do not apply: network, adapter loading, fixed cost of a
   * request.
   */
  fixedMs: number;
}

export class Calibration {
  #base: LatencyCoefficients;
  readonly #multipliers = new Float64Array(SIZE).fill(1);
  readonly #covariance = new Float64Array(SIZE * SIZE);
  readonly #row = new Float64Array(SIZE);
  readonly #gain = new Float64Array(SIZE);
  /** Durations by which the coefficients were corrected. */
  measuredCount = 0;
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

  /** Sets new coefficients and drops the measurements. */
  reset(base: LatencyCoefficients): void {
    this.#base = base;
    this.measuredCount = 0;
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
    // Divides the row by the duration, so that every duration counts the same, however long it is.
    for (let index = 0; index < SIZE; index += 1) row[index] = (row[index] as number) / scale;
    this.measuredCount += 1;
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
      // Where nothing was measured, the variance must not grow beyond the prior.
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
