/**
 * The rate of arrivals, and whether it has risen since replicas were given up, by more than the noise of independent requests.
 * Requests in progress say less: they pile up where replicas are too few, and their samples depend on each other.
 */
const AFTER_MS = 15_000;
export const BEFORE_MS = 60_000;
const RISE = 1.15;
const DEVIATIONS = 4;

export class RateRise {
  #samples: { readonly atMs: number; readonly rate: number }[] = [];
  /** Requests per second when replicas were given up last. */
  #rateAtFall = Infinity;

  add(atMs: number, rate: number): void {
    // A clock was set back.
    if ((this.#samples.at(-1)?.atMs ?? atMs) > atMs) this.#samples = [];
    this.#samples.push({ atMs, rate });
    const first = this.#samples.findIndex((each) => each.atMs > atMs - BEFORE_MS);
    if (first > 0) this.#samples.splice(0, first);
  }

  /** Replicas are given up. */
  fell(nowMs: number): void {
    this.#rateAtFall = this.mean(nowMs);
  }

  isRisen(nowMs: number): boolean {
    const now = this.mean(nowMs, AFTER_MS);
    const noise = Math.sqrt(this.#rateAtFall / (BEFORE_MS / 1000) + now / (AFTER_MS / 1000));
    return now > RISE * this.#rateAtFall && now - this.#rateAtFall > DEVIATIONS * noise;
  }

  mean(nowMs: number, spanMs: number = BEFORE_MS): number {
    const recent = this.#samples.filter(({ atMs }) => atMs > nowMs - spanMs);
    return recent.reduce((sum, { rate }) => sum + rate, 0) / Math.max(1, recent.length);
  }
}
