import { uptime } from "node:os";
import { OperationalError } from "@headroom/platform";

/**
 * Wall time in milliseconds that never goes back. If the wall clock is set back, or is behind the journal at a restart,
 * time continues from the last value at the speed of the monotonic clock until the wall clock has caught up. If the
 * wall clock jumps ahead by more than `JUMP_MS_MAX`, time does not follow: every walltime would expire at once, and a
 * time in the journal cannot be taken back.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  wallMs(): number;
  /** Milliseconds from any origin; only differences count. This clock can stand still while the machine sleeps. */
  monotonicMs(): number;
  /** Milliseconds since the machine booted, sleep included. */
  bootMs(): number;
}

/**
 * Largest jump in ms that time follows: larger than the steps of time servers (chrony and ntpd step by minutes at
 * most), smaller than a usual walltime.
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
  /**
   * Time in ms that the machine had slept since it booted, as of the last time that the wall clock was followed after a
   * sleep.
   */
  #sleptMs: number;
  #jumpMs: number | null = null;
  /**
   * The first reading of a process is always accepted, because the time for which the control plane was down is
   * unknown.
   */
  #isFirst = true;

  /** `floorMs`: the newest time in the journal. */
  constructor(clock: Clock, floorMs: number) {
    this.#clock = clock;
    this.#lastMs = floorMs;
    this.#lastMonotonicMs = clock.monotonicMs();
    this.#sleptMs = this.#slept();
  }

  /**
   * Time in ms by which the wall clock is ahead of the elapsed time, at the last call of `nowMs()`; `null`: it has not
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
      // The fraction of a millisecond that is cut off here is part of the next difference.
      this.#lastMs += elapsedMs;
      this.#lastMonotonicMs += elapsedMs;
    }
    return this.#lastMs;
  }

  #jumpTo(wallMs: number, elapsedMs: number): number | null {
    const aheadMs = wallMs - this.#lastMs - elapsedMs;
    if (this.#isFirst || aheadMs <= JUMP_MS_MAX) return null;
    // The uptime is read only here, because on some systems this reads a file.
    const sleptMs = this.#slept();
    if (aheadMs - (sleptMs - this.#sleptMs) > JUMP_MS_MAX) return aheadMs;
    this.#sleptMs = sleptMs;
    return null;
  }

  #slept(): number {
    return this.#clock.bootMs() - this.#clock.monotonicMs();
  }
}

/** The error of commands while decisions are paused because of a jump. */
export function clockJumped(jumpMs: number): OperationalError {
  const hours = Math.round(jumpMs / 3_600_000).toLocaleString("en-US");
  return new OperationalError(
    "clockJumped",
    `The system clock jumped ahead by about ${hours} h. Decisions are paused, because walltimes would expire. If the new time is wrong, correct the clock, and decisions resume. If it is right, restart the control plane.`,
    { retryable: true },
  );
}
