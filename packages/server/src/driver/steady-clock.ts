/**
 * Wall time in milliseconds that never goes back: when the wall clock is set back, or a restart finds it behind the
 * journal, time goes on from the last value at the pace of the monotonic clock until the wall clock has caught up.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  wallMs(): number;
  /** Milliseconds from any origin; only differences count. */
  monotonicMs(): number;
}

export const systemClock: Clock = { wallMs: () => Date.now(), monotonicMs: () => performance.now() };

export class SteadyClock {
  readonly #clock: Clock;
  #lastMs: number;
  #lastMonotonicMs: number;

  /** `floorMs`: the newest time that was ever recorded. */
  constructor(clock: Clock, floorMs: number) {
    this.#clock = clock;
    this.#lastMs = floorMs;
    this.#lastMonotonicMs = clock.monotonicMs();
  }

  nowMs(): number {
    const monotonicMs = this.#clock.monotonicMs();
    const elapsedMs = Math.max(0, Math.floor(monotonicMs - this.#lastMonotonicMs));
    const wallMs = Math.floor(this.#clock.wallMs());
    if (wallMs > this.#lastMs) {
      this.#lastMs = wallMs;
      this.#lastMonotonicMs = monotonicMs;
    } else if (elapsedMs > 0) {
      // The fraction that was floored away stays with the next difference.
      this.#lastMs += elapsedMs;
      this.#lastMonotonicMs += elapsedMs;
    }
    return this.#lastMs;
  }
}
