/**
 * Cuts the pieces of one stream into lines. A position after a line is the byte at which its piece begins, and a number of lines from
 * there: lengths in bytes are unknown where the output is no valid UTF-8.
 */
import type { LogChunk } from "@headroom/executors";

/** Longest line in characters. A longer one is searched in parts, so that output without line ends uses no memory. */
const LINE_CHARS_MAX = 65_536;

export interface StreamPosition {
  readonly byte: number;
  readonly lines: number;
}

export const STREAM_START: StreamPosition = { byte: 0, lines: 0 };

export interface ScannedLine {
  readonly text: string;
  readonly atMs: number | null;
  /** Where reading continues after this line. */
  readonly next: StreamPosition;
}

export class LineScanner {
  #open = "";
  #openAtMs: number | null = null;
  #endByte = 0;
  readonly #from: StreamPosition;
  #skipCount: number | null = null;

  constructor(from: StreamPosition) {
    this.#from = from;
  }

  push({ fromByte, toByte, atMs, text }: LogChunk): readonly ScannedLine[] {
    // Rotation can have removed the piece in which lines were to be skipped.
    this.#skipCount ??= fromByte === this.#from.byte ? this.#from.lines : 0;
    this.#endByte = toByte;
    if (this.#open === "") this.#openAtMs = atMs;
    const parts = text.split("\n");
    const rest = parts.pop() ?? "";
    const lines = parts.map((part, index): ScannedLine => {
      const line = index === 0 ? this.#open + part : part;
      return { text: line, atMs: index === 0 ? this.#openAtMs : atMs, next: { byte: fromByte, lines: index + 1 } };
    });
    if (parts.length > 0) this.#openAtMs = atMs;
    this.#open = parts.length > 0 ? rest : this.#open + rest;
    const skipped = Math.min(this.#skipCount, lines.length);
    this.#skipCount -= skipped;
    return [...lines.slice(skipped), ...(this.#open.length > LINE_CHARS_MAX ? this.end() : [])];
  }

  /** The line without an end that the newest pieces hold. */
  end(): readonly ScannedLine[] {
    if (this.#open === "") return [];
    const line = { text: this.#open, atMs: this.#openAtMs, next: { byte: this.#endByte, lines: 0 } };
    this.#open = "";
    return [line];
  }
}
