/** Retries as a share of requests, so that an outage is not multiplied: half a retry per request, a reserve for sudden failures. */
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
