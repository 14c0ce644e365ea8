/**
 * Limits retries to a share of requests, so that retries do not multiply the load of an outage: half a retry per
 * request, and a reserve for sudden failures.
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
