/** One computation for several readers: it is cancelled when all of them have gone, not when the first one has. */
export class SharedAnswer<Answer> {
  readonly #answer: Promise<Answer>;
  readonly #allGone = new AbortController();
  #readerCount = 0;
  #state: "pending" | "done" | "failed" = "pending";

  /** Starts the computation at once. Its signal aborts when all readers have gone. */
  constructor(compute: (allGone: AbortSignal) => Promise<Answer>) {
    this.#answer = compute(this.#allGone.signal);
    this.#answer.then(
      () => (this.#state = "done"),
      () => (this.#state = "failed"),
    );
  }

  /** Whether the computation failed or was cancelled, so that the next reader needs another. */
  get hasFailed(): boolean {
    return this.#state === "failed" || this.#allGone.signal.aborted;
  }

  /** The answer for one more reader. A reader that has gone gets the answer too, which nobody reads. */
  async for(gone: AbortSignal): Promise<Answer> {
    this.#readerCount += 1;
    const leave = (): void => {
      this.#readerCount -= 1;
      if (this.#readerCount === 0 && this.#state === "pending") this.#allGone.abort();
    };
    if (gone.aborted) leave();
    else gone.addEventListener("abort", leave, { once: true });
    try {
      return await this.#answer;
    } finally {
      gone.removeEventListener("abort", leave);
    }
  }
}
