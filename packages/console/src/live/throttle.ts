/**
 * Limits how often a screen fetches its data again. The first event causes a fetch almost at once; further events cause
 * at most one every `everyMs`. Fetching takes at most a tenth of the time, so that a fleet of 10,000 nodes is fetched
 * less often than one of 64.
 */
const SETTLE_MS = 80;
const SHARE_OF_TIME = 10;

export interface ThrottleTimers {
  nowMs(): number;
  after(delayMs: number, run: () => void): () => void;
}

export class Throttle {
  readonly #everyMs: number;
  readonly #run: () => Promise<unknown>;
  readonly #timers: ThrottleTimers;
  #lastStartMs = Number.NEGATIVE_INFINITY;
  #tookMs = 0;
  #cancel: (() => void) | null = null;
  #isRunning = false;
  #isDirty = false;
  #isClosed = false;

  constructor(everyMs: number, run: () => Promise<unknown>, timers: ThrottleTimers) {
    this.#everyMs = everyMs;
    this.#run = run;
    this.#timers = timers;
  }

  /** Reports a change. */
  touch(): void {
    this.#isDirty = true;
    this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  #schedule(): void {
    if (this.#isClosed || this.#isRunning || this.#cancel !== null) return;
    const gapMs = Math.max(this.#everyMs, this.#tookMs * SHARE_OF_TIME);
    const delayMs = Math.max(SETTLE_MS, this.#lastStartMs + gapMs - this.#timers.nowMs());
    this.#cancel = this.#timers.after(delayMs, () => {
      this.#cancel = null;
      void this.#start();
    });
  }

  async #start(): Promise<void> {
    this.#isDirty = false;
    this.#isRunning = true;
    this.#lastStartMs = this.#timers.nowMs();
    try {
      await this.#run();
    } catch {
      // The component that shows the data also shows the failure. The next change causes another fetch.
    } finally {
      this.#isRunning = false;
      this.#tookMs = this.#timers.nowMs() - this.#lastStartMs;
    }
    if (this.#isDirty) this.#schedule();
  }
}
