/**
 * Joins the mixed chunks of several workers' streams to log lines. The newest `LINES_MAX` lines are kept, so that a
 * user can watch a run with much output for days.
 */
import type { LogChunk } from "@headroom/protocol";
import { afterCarriageReturns, plainText } from "./ansi.ts";

export interface LogLine {
  /** Number of lines so far, including those that were dropped. */
  readonly number: number;
  readonly worker: number;
  readonly stream: "stdout" | "stderr";
  readonly attemptId: string;
  /** The line including escape sequences. */
  readonly raw: string;
}

/** Maximum number of lines kept. A browser searches 20,000 lines without a pause, and they take a few MiB. */
export const LINES_MAX = 20_000;
/** Maximum number of characters of a line; a longer line, such as a printed tensor, is cut. */
export const LINE_CHARS_MAX = 4_000;

export class LogBuffer {
  #lines: LogLine[] = [];
  readonly #partial = new Map<string, string>();
  #count = 0;
  #longestChars = 0;

  /** The lines kept, oldest first. Every `add` that completes a line makes a new array. */
  get lines(): readonly LogLine[] {
    return this.#lines;
  }

  get droppedCount(): number {
    return this.#count - this.#lines.length;
  }

  get longestChars(): number {
    return this.#longestChars;
  }

  add(chunks: readonly LogChunk[]): void {
    const added: LogLine[] = [];
    for (const chunk of chunks) this.#split(chunk, added);
    if (added.length > 0) this.#lines = [...this.#lines, ...added].slice(-LINES_MAX);
  }

  /** Ends an incomplete line, such as a prompt. */
  finish(): void {
    const added: LogLine[] = [];
    for (const [key, text] of this.#partial) {
      const [attemptId = "", worker = "0", stream = "stdout"] = key.split(" ");
      if (text !== "")
        added.push(this.#line({ attemptId, worker: Number(worker), stream: stream as LogChunk["stream"] }, text));
    }
    this.#partial.clear();
    if (added.length > 0) this.#lines = [...this.#lines, ...added].slice(-LINES_MAX);
  }

  #split(chunk: LogChunk, into: LogLine[]): void {
    const key = `${chunk.attemptId} ${chunk.worker} ${chunk.stream}`;
    const pieces = ((this.#partial.get(key) ?? "") + chunk.text).split("\n");
    const rest = pieces.pop() ?? "";
    for (const piece of pieces) into.push(this.#line(chunk, piece));
    // Limits the length of a line, for a stream without line ends.
    if (rest.length > LINE_CHARS_MAX) into.push(this.#line(chunk, rest));
    this.#partial.set(key, rest.length > LINE_CHARS_MAX ? "" : rest);
  }

  #line({ attemptId, worker, stream }: Pick<LogChunk, "attemptId" | "worker" | "stream">, text: string): LogLine {
    const whole = afterCarriageReturns(text);
    const raw = whole.length > LINE_CHARS_MAX ? `${whole.slice(0, LINE_CHARS_MAX)} …` : whole;
    this.#longestChars = Math.max(this.#longestChars, raw.length);
    return { number: ++this.#count, worker, stream, attemptId, raw };
  }
}

/** Indices in `lines` of the lines that contain the text, case ignored. */
export function searchLines(lines: readonly LogLine[], text: string): readonly number[] {
  if (text === "") return [];
  const wanted = text.toLowerCase();
  return lines.flatMap(({ raw }, index) => (plainText(raw).toLowerCase().includes(wanted) ? [index] : []));
}
