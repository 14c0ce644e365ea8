import { uptime } from "node:os";

/**
 * Wall time in milliseconds that never goes back. If the wall clock is set back, or a restart finds it behind the
 * journal, time continues from the last value at the pace of the monotonic clock until the wall clock has caught up. A
 * wall clock that jumps forward by more than `JUMP_MS_MAX` is not followed: every walltime would expire at once, and
 * time cannot be taken back once it is in the journal.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  wallMs(): number;
  /** Milliseconds from any origin; only differences count. It may stand still while the machine sleeps. */
  monotonicMs(): number;
  /** Milliseconds since the machine booted, sleep included. */
  bootMs(): number;
}

/**
 * In ms; larger than the steps of time servers (chrony and ntpd step by minutes at most), smaller than a usual
 * walltime.
 */
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
  /** Time in ms that the machine had slept since boot when the wall clock was last followed over a sleep. */
  #sleptMs: number;
  #jumpMs: number | null = null;
  /**
   * The first reading of a process is always accepted, because the time for which the control plane was down is
   * unknown.
   */
  #isFirst = true;

  /** `floorMs`: the newest recorded time. */
  constructor(clock: Clock, floorMs: number) {
    this.#clock = clock;
    this.#lastMs = floorMs;
    this.#lastMonotonicMs = clock.monotonicMs();
    this.#sleptMs = this.#slept();
  }

  /**
   * Time in ms by which the wall clock is ahead of the elapsed time, as of the newest `nowMs()`; `null`: it has not
   * jumped.
   */
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
      // The fraction cut off here is part of the next difference.
      this.#lastMs += elapsedMs;
      this.#lastMonotonicMs += elapsedMs;
    }
    return this.#lastMs;
  }

  #jumpTo(wallMs: number, elapsedMs: number): number | null {
    const aheadMs = wallMs - this.#lastMs - elapsedMs;
    if (this.#isFirst || aheadMs <= JUMP_MS_MAX) return null;
    // Read only here: on some systems the uptime costs a read of a file.
    const sleptMs = this.#slept();
    if (aheadMs - (sleptMs - this.#sleptMs) > JUMP_MS_MAX) return aheadMs;
    this.#sleptMs = sleptMs;
    return null;
  }

  #slept(): number {
    return this.#clock.bootMs() - this.#clock.monotonicMs();
  }
}
