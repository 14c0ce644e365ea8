/**
 * Shares the event loop among jobs that would otherwise hold it: each goes on in its turn, and together they take at most
 * `TURN_MS` before sockets, timers and the driver get the loop.
 */

/** Far below the promised delay of the loop (25 ms, p99): a round of the engine and a garbage collection have to fit beside it. */
const TURN_MS = 2;

export class LoopTurns {
  readonly #waiting: (() => void)[] = [];
  #isScheduled = false;
  #turnEndsAtMs = 0;

  /** Resolves when the caller may go on. The caller works for about a millisecond at most and asks again. */
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
    // A tick queued by a microtask runs when all microtasks are done: the job has worked until it asked again or ended.
    queueMicrotask(() => process.nextTick(this.#continue));
  };

  readonly #continue = (): void => {
    if (performance.now() < this.#turnEndsAtMs) this.#resume();
    else setImmediate(this.#begin);
  };
}
