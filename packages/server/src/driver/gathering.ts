/**
 * When to close a batch. A sync costs about the same for one command as for hundreds, so under load it pays to let the
 * connections that were just answered come back first; when idle nothing may wait. The last batch says which it is.
 */

/** The most that gathering may add to an answer, whatever it hopes for; a disk that syncs faster than this is rare. */
const GATHER_MAX_MS = 2;
/** Waiting for the last stragglers costs more than they save. */
const EXPECTED_PART = 0.75;

export class Gathering {
  #lastCount = 0;
  #expectedCount = 0;

  /**
   * Gathering begins with so many commands that arrived while the last batch was synced. Whoever was answered with that
   * batch is about to come back: without waiting for them, clients fall into two halves that are synced in turns, each for
   * the price of both.
   */
  began(waitingCount: number): void {
    this.#expectedCount = Math.floor((this.#lastCount + waitingCount) * EXPECTED_PART);
  }

  /** A batch of so many commands was closed. */
  closed(commandCount: number): void {
    this.#lastCount = commandCount;
  }

  isEnough(commandCount: number, waitedMs: number): boolean {
    return commandCount >= this.#expectedCount || waitedMs >= GATHER_MAX_MS;
  }
}
