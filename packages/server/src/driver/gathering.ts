/**
 * Decides when to close a batch. A sync costs about the same for one command as for hundreds. Under load it is worth
 * waiting for the clients that have just got an answer, because they soon send again. An idle driver must not wait. The
 * size of the previous batch shows which case applies.
 */

/** Maximum delay in ms that gathering adds to an answer. Few disks sync faster than this. */
const GATHER_MAX_MS = 2;
/** Share of the expected commands at which a batch closes. Waiting for the last few costs more than it saves. */
const EXPECTED_PART = 0.75;

export class Gathering {
  #lastCount = 0;
  #expectedCount = 0;

  /**
   * Called when gathering starts. `waitingCount`: commands that arrived during the last sync. The clients answered by
   * that batch are about to send again. Without the wait, clients would split into two halves that are synced in turns,
   * each at the cost of a full sync.
   */
  began(waitingCount: number): void {
    this.#expectedCount = Math.floor((this.#lastCount + waitingCount) * EXPECTED_PART);
  }

  /** Called when a batch with this number of commands is closed. */
  closed(commandCount: number): void {
    this.#lastCount = commandCount;
  }

  isEnough(commandCount: number, waitedMs: number): boolean {
    return commandCount >= this.#expectedCount || waitedMs >= GATHER_MAX_MS;
  }
}
