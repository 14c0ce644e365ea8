/**
 * Memory of large request bodies, used again. Every buffer that Node allocates counts as external memory of V8, which answers a
 * few hundred MB a second of it with full collections: at 32 kB prompts they took half of the time.
 *
 * A slab may be given back only if nothing can read it any more. The gateway gives back those of requests whose only attempt was
 * sent completely and answered; all others are left to the garbage collector.
 */

/** Minimum size of a body for a slab: smaller bodies are cheaper to allocate than to keep. */
export const SLABBED_BYTES_MIN = 16_384;
const SIZES = [65_536, 262_144, 1_048_576] as const;
/** Maximum size of all free slabs, in bytes. */
const FREE_BYTES_MAX = 64 * 1024 * 1024;

export class BodySlabs {
  readonly #free: readonly Buffer[][] = SIZES.map(() => []);
  #freeBytes = 0;

  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** At least `bytes` bytes with undefined content, or undefined where no slab is as large. */
  take(bytes: number): Buffer | undefined {
    const index = SIZES.findIndex((each) => each >= bytes);
    const size = SIZES[index];
    if (size === undefined) return undefined;
    const known = this.#free[index]!.pop();
    if (known === undefined) return Buffer.allocUnsafeSlow(size);
    this.#freeBytes -= size;
    return known;
  }

  /** The caller keeps no reference to any part of it. */
  give(slab: Buffer): void {
    const index = SIZES.findIndex((size) => size === slab.length);
    if (index < 0 || this.#freeBytes + slab.length > FREE_BYTES_MAX) return;
    this.#freeBytes += slab.length;
    this.#free[index]!.push(slab);
  }
}
