/**
 * Shares the event loop among long jobs. Jobs run in turn, and together they take at most `TURN_MS` before sockets,
 * timers and the driver get the loop.
 */

/**
 * Maximum time in ms for long jobs in one turn of the event loop. It is far below the promised loop delay (25 ms, p99),
 * because a round of the engine and a garbage collection must fit beside it.
 */
const TURN_MS = 2;

export class LoopTurns {
  readonly #waiting: (() => void)[] = [];
  #isScheduled = false;
  #turnEndsAtMs = 0;

  /** Resolves when the caller may continue. The caller works for about a millisecond and then calls `next` again. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      setImmediate(this.#begin);
    });
  }

  readonly #begin = (): void => {
    this.#turnEndsAtMs = performance.now() + TURN_MS;
    this.#resume();
  };

  readonly #resume = (): void => {
    const resume = this.#waiting.shift();
    if (resume === undefined) {
      this.#isScheduled = false;
      return;
    }
    resume();
    // A tick queued by a microtask runs after all microtasks. By then the job has called `next` again or has ended.
    queueMicrotask(() => process.nextTick(this.#continue));
  };

  readonly #continue = (): void => {
    if (performance.now() < this.#turnEndsAtMs) this.#resume();
    else setImmediate(this.#begin);
  };
}
