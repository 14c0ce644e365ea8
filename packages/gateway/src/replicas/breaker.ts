/**
 * Circuit breaker of one replica. It opens after consecutive failures, admits one trial request after a wait, and
 * closes when the trial succeeds.
 */

export interface BreakerOptions {
  readonly failureCount: number;
  readonly openForMs: number;
}

/** Every failed trial doubles the wait, up to this factor. */
const BACKOFF_MAX = 32;

export class Breaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  #openUntilMs = 0;
  #backoff = 1;
  #isTrialRunning = false;
  /**
   * Time in ms between trials while a verdict on the replica's revision is due, at most; undefined: none is. An open breaker would
   * otherwise take away the requests by which the revision is judged.
   */
  trialEveryMs: number | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#openUntilMs === 0;
  }

  /**
   * Whether a request may be sent to the replica now. When the wait of an open breaker is over, it admits one trial
   * request.
   */
  admits(nowMs: number): boolean {
    if (this.#openUntilMs === 0) return true;
    return nowMs >= this.#openUntilMs && !this.#isTrialRunning;
  }

  started(): void {
    if (this.#openUntilMs !== 0) this.#isTrialRunning = true;
  }

  /** The request ended without information about the replica's health, for example because the client disconnected. */
  abandoned(): void {
    this.#isTrialRunning = false;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#openUntilMs = 0;
    this.#backoff = 1;
    this.#isTrialRunning = false;
  }

  failed(nowMs: number): void {
    const wasTrial = this.#isTrialRunning;
    this.#isTrialRunning = false;
    this.#failures++;
    if (!wasTrial && this.#failures < this.#options.failureCount) return;
    if (wasTrial) this.#backoff = Math.min(BACKOFF_MAX, this.#backoff * 2);
    const openForMs = this.#options.openForMs * this.#backoff;
    this.#openUntilMs = nowMs + Math.min(openForMs, this.trialEveryMs ?? openForMs);
  }
}
