/**
 * Decides when to close a batch. A sync costs about the same for one command as for hundreds, so under load it pays to
 * wait for the connections that were just answered; when idle nothing waits. The previous batch tells the difference.
 */

/** Maximum delay that gathering adds to an answer; few disks sync faster than this. */
const GATHER_MAX_MS = 2;
/** Waiting for the last few commands costs more than it saves. */
const EXPECTED_PART = 0.75;

export class Gathering {
  #lastCount = 0;
  #expectedCount = 0;

  /**
   * Gathering starts when this number of commands arrived during the last sync. Clients answered by that batch are
   * about to send again: without waiting for them, clients split into two halves that are synced alternately, each for
   * the price of both.
   */
  began(waitingCount: number): void {
    this.#expectedCount = Math.floor((this.#lastCount + waitingCount) * EXPECTED_PART);
  }

  /** Called when a batch of this number of commands was closed. */
  closed(commandCount: number): void {
    this.#lastCount = commandCount;
  }

  isEnough(commandCount: number, waitedMs: number): boolean {
    return commandCount >= this.#expectedCount || waitedMs >= GATHER_MAX_MS;
  }
}
