/**
 * Keeps memory of large request bodies and uses it again. Node allocates buffers as external memory of V8, and a few
 * hundred MB of it per second make V8 run full garbage collections. With prompts of 32 kB, these took half of the time.
 * A slab may be given back only if nothing can read it any more. The gateway gives a slab back if the request's only
 * attempt was sent completely and answered. All other slabs are left to the garbage collector.
 */

/** Minimum size of a body for a slab, in bytes. For smaller bodies an allocation costs less than keeping a slab. */
export const SLABBED_BYTES_MIN = 16_384;
const SIZES = [65_536, 262_144, 1_048_576] as const;
/** Maximum size of all free slabs together, in bytes. */
const FREE_BYTES_MAX = 64 * 1024 * 1024;

export class BodySlabs {
  readonly #free: readonly Buffer[][] = SIZES.map(() => []);
  #freeBytes = 0;

  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** A slab of at least `bytes` bytes with undefined content. Undefined if no slab is that large. */
  take(bytes: number): Buffer | undefined {
    const index = SIZES.findIndex((each) => each >= bytes);
    const size = SIZES[index];
    if (size === undefined) return undefined;
    const known = this.#free[index]!.pop();
    if (known === undefined) return Buffer.allocUnsafeSlow(size);
    this.#freeBytes -= size;
    return known;
  }

  /** Gives a slab back. The caller must not keep a reference to any part of it. */
  give(slab: Buffer): void {
    const index = SIZES.findIndex((size) => size === slab.length);
    if (index < 0 || this.#freeBytes + slab.length > FREE_BYTES_MAX) return;
    this.#freeBytes += slab.length;
    this.#free[index]!.push(slab);
  }
}
