/** One timer for the earliest instant at which the engine wants to be woken. */

/** `setTimeout` takes 31 bits; a longer sleep is slept in parts, each of which only looks again. */
const TIMER_MAX_MS = 2 ** 31 - 1;
/** An engine that asks for an instant that has passed is woken soon, but cannot keep the loop busy with nothing. */
const TIMER_MIN_MS = 1;

export class WakeTimer {
  readonly #wake: () => void;
  #atMs: number | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(wake: () => void) {
    this.#wake = wake;
  }

  /** Replaces what was set before; `null`: nothing to wait for. */
  set(atMs: number | null, nowMs: number): void {
    if (atMs === this.#atMs && this.#timer !== null) return;
    this.clear();
    if (atMs === null) return;
    this.#atMs = atMs;
    const delayMs = Math.min(Math.max(atMs - nowMs, TIMER_MIN_MS), TIMER_MAX_MS);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#wake();
    }, delayMs);
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#atMs = null;
  }
}
