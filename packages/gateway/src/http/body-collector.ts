/**
 * Assembles a request body from the parts that a connection reads. Parts are copied into blocks: a client that sends one
 * byte at a time would otherwise cost an object for each, and a part of a large read would keep the whole read.
 */
import { SLABBED_BYTES_MIN, type BodySlabs } from "./body-slabs.ts";

export interface CollectedBody {
  readonly bytes: Buffer;
  /** The slab that holds the bytes, if there is one. */
  readonly slab: Buffer | undefined;
}

/** Size of the first block, and the largest. Blocks double, so that little room stays unused. */
const BLOCK_BYTES_MIN = 1024;
const BLOCK_BYTES_MAX = 1024 * 1024;

export class BodyCollector {
  readonly #slabs: BodySlabs;
  /** Whether the parts are views of memory that the next read overwrites. */
  readonly #isShared: boolean;
  /** Full blocks, and then `#block`. */
  #full: Buffer[] = [];
  #block: Buffer | undefined;
  #blockLength = 0;
  #isSlab = false;
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
    if (this.#isSlab && length > this.#block!.length) this.#moveTo(this.#slabs.take(length));
    else if (!this.#isSlab && this.#isShared && this.#full.length === 0 && length >= SLABBED_BYTES_MIN)
      this.#moveTo(this.#slabs.take(length));
    if (this.#length === 0 && !this.#isSlab) this.#begin(part);
    else this.#append(part);
    this.#length = length;
  }

  /** Returns the body and empties the collector. */
  take(): CollectedBody {
    const body = { bytes: this.#bytes(), slab: this.#isSlab ? this.#block : undefined };
    this.#reset();
    return body;
  }

  /** Drops the bytes collected so far. */
  clear(): void {
    if (this.#isSlab) this.#slabs.give(this.#block!);
    this.#reset();
  }

  #reset(): void {
    this.#full = [];
    this.#block = undefined;
    this.#blockLength = 0;
    this.#isSlab = false;
    this.#length = 0;
  }

  /** Most bodies have one part. It is kept without a copy if it is most of the memory that it keeps. */
  #begin(part: Buffer): void {
    const isCopied = this.#isShared || 2 * part.length < part.buffer.byteLength;
    this.#block = isCopied ? Buffer.from(part) : part;
    this.#blockLength = part.length;
  }

  #append(part: Buffer): void {
    let from = 0;
    while (from < part.length) {
      const block = this.#block;
      if (block === undefined || this.#blockLength === block.length) {
        if (block !== undefined) this.#full.push(block);
        const size = Math.max(BLOCK_BYTES_MIN, Math.min(BLOCK_BYTES_MAX, this.#length + from));
        this.#block = Buffer.allocUnsafeSlow(size);
        this.#blockLength = 0;
        continue;
      }
      const count = part.copy(block, this.#blockLength, from);
      this.#blockLength += count;
      from += count;
    }
  }

  #bytes(): Buffer {
    const last = this.#block?.subarray(0, this.#blockLength) ?? Buffer.alloc(0);
    return this.#full.length === 0 ? last : Buffer.concat([...this.#full, last], this.#length);
  }

  /**
   * Moves the bytes to a larger slab. `larger` is undefined if the body exceeds every slab; it is then collected in
   * blocks.
   */
  #moveTo(larger: Buffer | undefined): void {
    const before = this.#block;
    if (larger === undefined) {
      if (before !== undefined) this.#full.push(before.subarray(0, this.#blockLength));
      this.#block = undefined;
      this.#blockLength = 0;
      this.#isSlab = false;
      return;
    }
    before?.copy(larger, 0, 0, this.#blockLength);
    if (this.#isSlab) this.#slabs.give(before!);
    this.#block = larger;
    this.#blockLength = this.#length;
    this.#isSlab = true;
  }
}
