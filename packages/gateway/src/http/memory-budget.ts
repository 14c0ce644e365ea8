/** Limits the bytes that all requests of the process hold together: bodies, answers, or records of streams. */
export class MemoryBudget {
  readonly maxBytes: number;
  #usedBytes = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.maxBytes) return false;
    this.#usedBytes += bytes;
    return true;
  }

  /** Counts bytes that exist already, even beyond the maximum. Nobody gets more until enough is given back. */
  count(bytes: number): void {
    this.#usedBytes += bytes;
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}

/** The limit that an answer exceeds: its own, or that of all answers together. */
export type AnswerLimit = "answer" | "allAnswers";

/** Bytes of one answer that the gateway holds, limited for the answer and for all answers of the process. */
export class AnswerMemory {
  readonly #all: MemoryBudget;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(all: MemoryBudget, maxBytes: number) {
    this.#all = all;
    this.#maxBytes = maxBytes;
  }

  /** States how many bytes the answer holds now. Returns the limit that does not allow them, if there is one. */
  hold(bytes: number): AnswerLimit | undefined {
    if (bytes === this.#bytes) return undefined;
    if (bytes > this.#maxBytes) return "answer";
    const more = bytes - this.#bytes;
    if (more > 0 && !this.#all.take(more)) return "allAnswers";
    if (more < 0) this.#all.give(-more);
    this.#bytes = bytes;
    return undefined;
  }
}
