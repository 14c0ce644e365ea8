/** One timer for the engine's next wakeup. */

/** `setTimeout` takes 31 bits of ms, so a longer wait is divided into parts. */
const TIMER_MAX_MS = 2 ** 31 - 1;
/** Minimum delay in ms, so that an engine with a past wakeup cannot occupy the loop. */
const TIMER_MIN_MS = 1;

export class WakeTimer {
  readonly #wake: () => void;
  #atMs: number | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(wake: () => void) {
    this.#wake = wake;
  }

  /** Sets the next wakeup and drops the previous one; `null`: no wakeup. */
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
