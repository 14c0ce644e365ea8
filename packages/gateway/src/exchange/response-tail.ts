/** The last bytes of a response that is forwarded in parts. Engines write `usage` after the choices or embeddings. */

/** Size of the tail. `usage` with all its details and the fields after it take a few hundred bytes. */
const TAIL_BYTES = 16_384;

export class ResponseTail {
  /** Twice the size of the tail, so that bytes are moved only once for every `TAIL_BYTES` received. */
  readonly #held = Buffer.allocUnsafeSlow(2 * TAIL_BYTES);
  #count = 0;

  add(part: Buffer): void {
    const from = Math.max(0, part.length - TAIL_BYTES);
    if (this.#count + part.length - from > this.#held.length) {
      this.#held.copyWithin(0, this.#count - TAIL_BYTES, this.#count);
      this.#count = TAIL_BYTES;
    }
    this.#count += part.copy(this.#held, this.#count, from);
  }

  get bytes(): Buffer {
    return this.#held.subarray(0, this.#count);
  }
}
