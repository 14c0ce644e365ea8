/**
 * The rate of arrivals, and whether it has risen since replicas were given up, by more than the noise of independent requests.
 * Requests in progress say less: they pile up where replicas are too few, and their samples depend on each other.
 */
/** A jump shows in the shortest span, a slow rise in the longest. */
const JUMP_MS = 15_000;
const AFTER_MS = [JUMP_MS, 60_000, 180_000] as const;
export const BEFORE_MS = 60_000;
/** A slow rise is small beside the noise of a minute, so it is compared with the mean of this time before the fall. */
const KEPT_MS = 300_000;
const RISE = 1.15;
const DEVIATIONS = 4;

interface Mean {
  /** Requests per second. */
  readonly rate: number;
  readonly spanMs: number;
}

export class RateRise {
  #samples: { readonly atMs: number; readonly rate: number }[] = [];
  /** Requests per second before replicas were given up last: of a minute, and of a longer time for the longest span. */
  #atFall: Mean = { rate: Infinity, spanMs: BEFORE_MS };
  #longAtFall: Mean = this.#atFall;
  #fellAtMs = -Infinity;

  add(atMs: number, rate: number): void {
    // A clock was set back.
    if ((this.#samples.at(-1)?.atMs ?? atMs) > atMs) this.#samples = [];
    this.#samples.push({ atMs, rate });
    const first = this.#samples.findIndex((each) => each.atMs > atMs - KEPT_MS);
    if (first > 0) this.#samples.splice(0, first);
  }

  /** Replicas are given up. */
  fell(nowMs: number): void {
    const spanMs = Math.max(BEFORE_MS, Math.min(KEPT_MS, nowMs - (this.#samples[0]?.atMs ?? nowMs)));
    this.#atFall = { rate: this.mean(nowMs), spanMs: BEFORE_MS };
    // A load that rose shortly before the fall must not look like one that rose after it.
    this.#longAtFall = { rate: Math.max(this.#atFall.rate, this.mean(nowMs, spanMs)), spanMs };
    this.#fellAtMs = nowMs;
  }

  /** The longer spans count once they lie after the fall: with samples from before it, they would show that load again. */
  isRisen(nowMs: number): boolean {
    return AFTER_MS.some((spanMs) => {
      if (spanMs > JUMP_MS && nowMs - this.#fellAtMs < spanMs) return false;
      const before = spanMs > BEFORE_MS ? this.#longAtFall : this.#atFall;
      const now = this.mean(nowMs, spanMs);
      const noise = Math.sqrt(before.rate / (before.spanMs / 1000) + now / (spanMs / 1000));
      return now > RISE * before.rate && now - before.rate > DEVIATIONS * noise;
    });
  }

  mean(nowMs: number, spanMs: number = BEFORE_MS): number {
    const recent = this.#samples.filter(({ atMs }) => atMs > nowMs - spanMs);
    return recent.reduce((sum, { rate }) => sum + rate, 0) / Math.max(1, recent.length);
  }
}
