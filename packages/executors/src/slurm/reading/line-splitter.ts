/** Splits bytes into lines, and holds at most one line of bounded length. */

/** Far above the lines of any Slurm command: a list of all nodes and a long comment have less. */
const LINE_BYTES_MAX = 1 << 20;
const NEWLINE = 10;

export interface LineSink {
  /** `text` has one character for each byte. */
  line(number: number, text: string): void;
  /** A line above the bound: its start and its length. */
  overlong(number: number, start: string, bytes: number): void;
  end(): void;
}

export class LineSplitter {
  readonly #sink: LineSink;
  #parts: Buffer[] = [];
  #bytes = 0;
  #number = 1;

  constructor(sink: LineSink) {
    this.#sink = sink;
  }

  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let start = 0;
    for (;;) {
      const end = bytes.indexOf(NEWLINE, start);
      this.#keep(bytes.subarray(start, end < 0 ? bytes.length : end));
      if (end < 0) return;
      this.#flush();
      start = end + 1;
    }
  }

  end(): void {
    if (this.#bytes > 0) this.#flush();
    this.#sink.end();
  }

  #keep(part: Buffer): void {
    // Above the bound only the length is counted.
    if (this.#bytes <= LINE_BYTES_MAX && part.length > 0)
      this.#parts.push(Buffer.from(part.subarray(0, LINE_BYTES_MAX + 1)));
    this.#bytes += part.length;
  }

  #flush(): void {
    const text = Buffer.concat(this.#parts).toString("latin1");
    if (this.#bytes > LINE_BYTES_MAX) this.#sink.overlong(this.#number, text.slice(0, 1000), this.#bytes);
    else this.#sink.line(this.#number, text.replace(/\r+$/, ""));
    this.#parts = [];
    this.#bytes = 0;
    this.#number += 1;
  }
}
