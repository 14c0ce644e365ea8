/**
 * Paths without links of directories that can lie on different file systems. One that does not answer, such as a shared directory whose
 * server is down, costs its first caller some time, and nobody else more.
 */
import { realpath } from "node:fs/promises";

/** Time for which an answer is awaited. */
const ANSWER_MS = 5_000;

interface RealPath {
  readonly path: string;
  /** The file system has answered. Else `path` is the answer before, or the path as it was asked for. */
  readonly isAnswered: boolean;
}

export class RealPaths {
  readonly #answerMs: number;
  /** Last answers. The callers ask for declared directories, which bounds them. */
  readonly #known = new Map<string, string>();
  /** Questions without an answer: one for each directory, since each holds a thread of the process. */
  readonly #asked = new Map<string, { readonly answer: Promise<string>; readonly late: Promise<void> }>();

  constructor(answerMs = ANSWER_MS) {
    this.#answerMs = answerMs;
  }

  /** A directory that does not exist has its own path. */
  async of(directory: string): Promise<RealPath> {
    const { answer, late } = this.#asked.get(directory) ?? this.#ask(directory);
    const answered = answer.then((found) => ({ path: found, isAnswered: true }));
    const overdue = late.then(() => ({ path: this.#known.get(directory) ?? directory, isAnswered: false }));
    return Promise.race([answered, overdue]);
  }

  /** Whether a question that was late is still without an answer. */
  isSilent(directory: string): boolean {
    return this.#asked.has(directory);
  }

  #ask(directory: string): { readonly answer: Promise<string>; readonly late: Promise<void> } {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#answerMs);
    const answer = realpath(directory)
      .catch(() => directory)
      .then((found) => {
        clearTimeout(timer);
        this.#asked.delete(directory);
        this.#known.set(directory, found);
        return found;
      });
    const asked = { answer, late };
    this.#asked.set(directory, asked);
    return asked;
  }
}
