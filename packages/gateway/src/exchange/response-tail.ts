/**
 * The last bytes of a response that is forwarded in parts. Engines write `usage` after the choices or embeddings. Some
 * fields may follow it, and `prompt_logprobs` can be large, so the last `usage` is kept besides.
 */

/** Size of the tail. `usage` with all its details and the fields after it take a few hundred bytes. */
const TAIL_BYTES = 16_384;

const usageKey = Buffer.from('"usage"');
/** Size of `usage` with its details. */
const USAGE_BYTES = 2048;

export class ResponseTail {
  #usage: Buffer[] = [];
  #usageBytes = 0;
  /** Twice the size of the tail, so that bytes are moved only once for every `TAIL_BYTES` received. */
  readonly #held = Buffer.allocUnsafeSlow(2 * TAIL_BYTES);
  #count = 0;

  add(part: Buffer): void {
    const at = part.lastIndexOf(usageKey);
    if (at >= 0) {
      this.#usage = [];
      this.#usageBytes = 0;
      this.#keepUsage(part.subarray(at));
    } else if (this.#usage.length > 0) this.#keepUsage(part);
    const from = Math.max(0, part.length - TAIL_BYTES);
    if (this.#count + part.length - from > this.#held.length) {
      this.#held.copyWithin(0, this.#count - TAIL_BYTES, this.#count);
      this.#count = TAIL_BYTES;
    }
    this.#count += part.copy(this.#held, this.#count, from);
  }

  #keepUsage(part: Buffer): void {
    const kept = Buffer.from(part.subarray(0, USAGE_BYTES - this.#usageBytes));
    if (kept.length === 0) return;
    this.#usage.push(kept);
    this.#usageBytes += kept.length;
  }

  /** The bytes from the last `"usage"` on, which the tail may have lost. As an object, so that it can be read as one. */
  get lastUsage(): Buffer {
    return Buffer.concat([Buffer.from("{"), ...this.#usage]);
  }

  get bytes(): Buffer {
    return this.#held.subarray(0, this.#count);
  }
}
