/** Reads what Slurm's commands print, piece by piece, in the format that it finds. */
import { jsonReader } from "./json-reader.ts";
import { LineSplitter } from "./line-splitter.ts";
import type { RowSink } from "./rows.ts";
import { TextReader } from "./text-reader.ts";
import type { Zone } from "./times.ts";

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
/** Blank bytes before the first that tells the format. */
const BLANK_BYTES_MAX = 1 << 20;

/** `push` takes the input in pieces of any size; `end` reads what is left. */
export class SlurmReader {
  readonly #sink: RowSink;
  readonly #zone: Zone;
  /** Bytes before the first that is not blank. Blanks before a header belong to its first column. */
  #head = Buffer.alloc(0);
  #inner: { push(chunk: Uint8Array): void; end(): void } | null = null;

  constructor(sink: RowSink, zone: Zone) {
    this.#sink = sink;
    this.#zone = zone;
  }

  push(chunk: Uint8Array): void {
    if (this.#inner !== null) {
      this.#inner.push(chunk);
      return;
    }
    this.#head = Buffer.concat([this.#head, chunk]);
    const head = this.#head.subarray(0, 3).equals(BOM) ? this.#head.subarray(3) : this.#head;
    const first = head.find((byte) => byte !== 32 && byte !== 9 && byte !== 10 && byte !== 13);
    if (first === undefined && head.length < BLANK_BYTES_MAX) return;
    const isJson = first === 0x7b || first === 0x5b;
    this.#inner = isJson ? jsonReader(this.#sink) : new LineSplitter(new TextReader(this.#sink, this.#zone));
    this.#head = Buffer.alloc(0);
    this.#inner.push(head);
  }

  end(): void {
    this.#inner?.end();
  }
}
