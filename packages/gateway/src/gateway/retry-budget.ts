/**
 * Limits retries to half of the number of requests, plus a reserve for sudden failures. Retries then do not multiply
 * the load of an outage.
 */
const EARNED_PER_REQUEST = 0.5;
const RESERVE = 5000;

export class RetryAllowance {
  #left = RESERVE;

  requestStarted(): void {
    if (this.#left < RESERVE) this.#left += EARNED_PER_REQUEST;
  }

  take(): boolean {
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
