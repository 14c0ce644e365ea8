import { uptime } from "node:os";

/**
 * Wall time in milliseconds that never goes back: when the wall clock is set back, or a restart finds it behind the
 * journal, time goes on from the last value at the pace of the monotonic clock until the wall clock has caught up.
 * A wall clock that jumps forward by more than `JUMP_MS_MAX` is not followed: every walltime would expire at once, and time
 * cannot be taken back once it is in the journal.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  wallMs(): number;
  /** Milliseconds from any origin; only differences count. It may stand still while the machine sleeps. */
  monotonicMs(): number;
  /** Milliseconds since the machine booted, sleep included. */
  bootMs(): number;
}

/** Further than time servers step a clock (chrony and ntpd by minutes at most), shorter than a usual walltime. */
export const JUMP_MS_MAX = 3_600_000;

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  bootMs: () => uptime() * 1000,
};

export class SteadyClock {
  readonly #clock: Clock;
  #lastMs: number;
  #lastMonotonicMs: number;
  /** Of what the machine slept, the part that `#lastMs` contains. */
  #sleptMs: number;
  #jumpMs: number | null = null;
  /** The first reading of a process is taken as it is: nothing says for how long the control plane was down. */
  #isFirst = true;

  /** `floorMs`: the newest recorded time. */
  constructor(clock: Clock, floorMs: number) {
    this.#clock = clock;
    this.#lastMs = floorMs;
    this.#lastMonotonicMs = clock.monotonicMs();
    this.#sleptMs = this.#slept();
  }

  /** By how much the wall clock is ahead of the time that has passed, where that is a jump; as of the newest `nowMs()`. */
  get jumpMs(): number | null {
    return this.#jumpMs;
  }

  nowMs(): number {
    const monotonicMs = this.#clock.monotonicMs();
    const elapsedMs = Math.max(0, Math.floor(monotonicMs - this.#lastMonotonicMs));
    const wallMs = Math.floor(this.#clock.wallMs());
    this.#jumpMs = this.#jumpTo(wallMs, elapsedMs);
    this.#isFirst = false;
    if (wallMs > this.#lastMs && this.#jumpMs === null) {
      this.#lastMs = wallMs;
      this.#lastMonotonicMs = monotonicMs;
    } else if (elapsedMs > 0) {
      // The fraction that was rounded down is added to the next difference.
      this.#lastMs += elapsedMs;
      this.#lastMonotonicMs += elapsedMs;
    }
    return this.#lastMs;
  }

  #jumpTo(wallMs: number, elapsedMs: number): number | null {
    const aheadMs = wallMs - this.#lastMs - elapsedMs;
    if (this.#isFirst || aheadMs <= JUMP_MS_MAX) return null;
    // Asked for here alone: the uptime costs a read of a file on some systems.
    const sleptMs = this.#slept();
    if (aheadMs - (sleptMs - this.#sleptMs) > JUMP_MS_MAX) return aheadMs;
    this.#sleptMs = sleptMs;
    return null;
  }

  #slept(): number {
    return this.#clock.bootMs() - this.#clock.monotonicMs();
  }
}
