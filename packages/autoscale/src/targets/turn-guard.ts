/**
 * Bounds the turns of an endpoint. Its number falls in steps of a quarter, and after a rise only when ten minutes have passed
 * or the rate of a minute has fallen since; it rises within ten minutes of a fall only if the rate has risen since. Both by
 * more than the noise of independent requests, so that the direction turns at most once in ten minutes at constant load. A
 * fall that made most requests late doubles the time to the next one.
 */
import { BEFORE_MS, RateRise } from "./rate-rise.ts";

const TURN_MS = 600_000;
const HOLD_MAX_MS = 8 * TURN_MS;
/** Time between two falls, and the share of the replicas that one takes. */
const STEP_MS = 60_000;
const STEP_SHARE = 0.25;
const FALL = 1.15;
/** The highest rate of some minutes exceeds their mean by noise alone, and is compared every few seconds. */
const FALL_DEVIATIONS = 5;

export class TurnGuard {
  readonly #arrivals = new RateRise();
  #direction = 0;
  #turnedAtMs = -Infinity;
  #changedAtMs = -Infinity;
  #holdMs = TURN_MS;
  /** The highest rate since the number last rose. */
  #rateAtRise = 0;

  add(atMs: number, rate: number): void {
    this.#arrivals.add(atMs, rate);
    this.#rateAtRise = Math.max(this.#rateAtRise, this.#arrivals.mean(atMs));
  }

  /** The smallest number after one fall. */
  static least(replicas: number): number {
    return replicas - Math.max(1, Math.floor(STEP_SHARE * replicas));
  }

  allows(change: number, nowMs: number): boolean {
    // A clock that was set back must not forbid changes for as long.
    this.#turnedAtMs = Math.min(this.#turnedAtMs, nowMs);
    this.#changedAtMs = Math.min(this.#changedAtMs, nowMs);
    const sinceMs = nowMs - this.#turnedAtMs;
    if (change < 0)
      return (
        nowMs - this.#changedAtMs >= STEP_MS &&
        (this.#direction <= 0 || sinceMs >= this.#holdMs || this.#isFallen(nowMs))
      );
    return change === 0 || this.#direction >= 0 || sinceMs >= TURN_MS || this.#arrivals.isRisen(nowMs);
  }

  /** `isUrgent`: most requests are late. */
  change(change: number, nowMs: number, isUrgent: boolean): void {
    if (change === 0) return;
    if (change > 0 && this.#direction < 0) this.#holdMs = isUrgent ? Math.min(HOLD_MAX_MS, 2 * this.#holdMs) : TURN_MS;
    this.#changedAtMs = nowMs;
    if (Math.sign(change) !== this.#direction) this.#turnedAtMs = nowMs;
    this.#direction = Math.sign(change);
    if (change < 0) this.#arrivals.fell(nowMs);
    else this.#rateAtRise = this.#arrivals.mean(nowMs);
  }

  #isFallen(nowMs: number): boolean {
    if (this.#holdMs > TURN_MS) return false;
    const now = this.#arrivals.mean(nowMs);
    const noise = Math.sqrt((this.#rateAtRise + now) / (BEFORE_MS / 1000));
    return FALL * now < this.#rateAtRise && this.#rateAtRise - now > FALL_DEVIATIONS * noise;
  }
}
