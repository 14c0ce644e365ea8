/** A progress line on stderr for work that reports its progress. */
import type { Sink } from "../terminal.ts";

const patienceMs = 1000;
const frameMs = 200;

/** Prints nothing in the first second; then a moving line on a terminal, or a single plain line elsewhere. */
export class ProgressLine {
  readonly #sink: Sink;
  #nextAtMs = performance.now() + patienceMs;
  #isShown = false;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  show(text: string): void {
    const nowMs = performance.now();
    if (nowMs < this.#nextAtMs) return;
    this.#nextAtMs = this.#sink.isTerminal ? nowMs + frameMs : Number.POSITIVE_INFINITY;
    this.#isShown = true;
    this.#sink.write(this.#sink.isTerminal ? `\r\u001b[K${text}` : `${text} …\n`);
  }

  /** Removes the moving line from the terminal. */
  clear(): void {
    if (this.#isShown && this.#sink.isTerminal) this.#sink.write("\r\u001b[K");
    this.#isShown = false;
  }
}
