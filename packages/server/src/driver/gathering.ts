/**
 * Decides when to close a batch. A sync costs about the same for one command as for hundreds. Under load it pays to
 * wait for the clients that were just answered; an idle driver does not wait. The size of the previous batch tells the
 * two apart.
 */

/** Maximum delay in ms that gathering adds to an answer; few disks sync faster. */
const GATHER_MAX_MS = 2;
/** A batch closes at this share of the expected commands: waiting for the last few costs more than it saves. */
const EXPECTED_PART = 0.75;

export class Gathering {
  #lastCount = 0;
  #expectedCount = 0;

  /**
   * Called when gathering starts. `waitingCount`: commands that arrived during the last sync. Clients answered by that
   * batch are about to send again: without waiting for them, clients split into two halves that are synced alternately,
   * each at the cost of a full sync.
   */
  began(waitingCount: number): void {
    this.#expectedCount = Math.floor((this.#lastCount + waitingCount) * EXPECTED_PART);
  }

  /** Called when a batch of this number of commands is closed. */
  closed(commandCount: number): void {
    this.#lastCount = commandCount;
  }

  isEnough(commandCount: number, waitedMs: number): boolean {
    return commandCount >= this.#expectedCount || waitedMs >= GATHER_MAX_MS;
  }
}
