/** Assembles a request body from the parts that a connection reads. */
import { SLABBED_BYTES_MIN, type BodySlabs } from "./body-slabs.ts";

export interface CollectedBody {
  readonly bytes: Buffer;
  /** The slab that holds the bytes, if there is one. */
  readonly slab: Buffer | undefined;
}

export class BodyCollector {
  readonly #slabs: BodySlabs;
  /** Whether the parts are views of memory that the next read overwrites. */
  readonly #isShared: boolean;
  #parts: Buffer[] = [];
  #slab: Buffer | undefined;
  #length = 0;

  constructor(slabs: BodySlabs, isShared: boolean) {
    this.#slabs = slabs;
    this.#isShared = isShared;
  }

  get length(): number {
    return this.#length;
  }

  add(part: Buffer): void {
    const length = this.#length + part.length;
    if (this.#slab === undefined && length >= SLABBED_BYTES_MIN && this.#isShared)
      this.#moveTo(this.#slabs.take(length));
    else if (this.#slab !== undefined && length > this.#slab.length) this.#moveTo(this.#slabs.take(length));
    if (this.#slab === undefined) this.#parts.push(this.#isShared ? Buffer.from(part) : part);
    else part.copy(this.#slab, this.#length);
    this.#length = length;
  }

  /** Returns the body and empties the collector. */
  take(): CollectedBody {
    const body = { bytes: this.#bytes(), slab: this.#slab };
    this.#slab = undefined;
    this.#parts = [];
    this.#length = 0;
    return body;
  }

  /** Drops the bytes collected so far. */
  clear(): void {
    if (this.#slab !== undefined) this.#slabs.give(this.#slab);
    this.#slab = undefined;
    this.#parts = [];
    this.#length = 0;
  }

  #bytes(): Buffer {
    if (this.#slab !== undefined) return this.#slab.subarray(0, this.#length);
    const [only] = this.#parts;
    return this.#parts.length === 1 ? only! : Buffer.concat(this.#parts, this.#length);
  }

  /**
   * Moves the bytes to a larger slab. `larger` is undefined if the body exceeds every slab; it is then collected in
   * parts.
   */
  #moveTo(larger: Buffer | undefined): void {
    const before = this.#slab;
    if (larger === undefined) {
      if (before !== undefined) this.#parts = [before.subarray(0, this.#length)];
    } else {
      let at = 0;
      if (before === undefined) for (const part of this.#parts) at += part.copy(larger, at);
      else before.copy(larger, 0, 0, this.#length);
      if (before !== undefined) this.#slabs.give(before);
      this.#parts = [];
    }
    this.#slab = larger;
  }
}
