/**
 * Marks the end of the list of reusable blocks, which begins with the blocks that were released first. The list uses
 * indices instead of objects, because a cache can have millions of blocks.
 */
const none = -1;

type ExtentKind = 0 | 1 | 2;
/** Blocks without a name, which no request can reuse. */
const garbage: ExtentKind = 0;
/** Blocks of one preempted sequence, which only that sequence can reuse. */
const run: ExtentKind = 1;
/** Blocks of a prefix page, which requests name. */
const page: ExtentKind = 2;

/**
 * The KV blocks of one engine. A block is free, held by sequences, or reusable: released, but readable until it is
 * allocated again. Reusable blocks are allocated in the order of their release, whether a request could still name them
 * or not (vLLM's free queue, `vllm/v1/core/kv_cache_utils.py`). The last blocks of a sequence are allocated first. Blocks that are released together form one extent, so the cost of an operation depends on the number
 * of requests and pages, not on the number of blocks.
 */
export class KvBlocks {
  readonly blockCount: number;
  readonly #isPrefixCached: boolean;
  /** Number of blocks without content. */
  #emptyCount: number;
  #reusableCount = 0;
  readonly #pages = new Map<number, number>();
  #oldest = none;
  #newest = none;
  #unusedExtent = none;
  #kinds = new Uint8Array(64);
  #blocks = new Int32Array(64);
  #references = new Int32Array(64);
  #names = new Float64Array(64);
  #before = new Int32Array(64);
  #after = new Int32Array(64);
  #extentCount = 0;

  constructor(blockCount: number, isPrefixCached: boolean) {
    this.blockCount = blockCount;
    this.#isPrefixCached = isPrefixCached;
    this.#emptyCount = blockCount;
  }

  /** Number of blocks available for allocation: empty and reusable ones. */
  get availableCount(): number {
    return this.#emptyCount + this.#reusableCount;
  }

  get heldCount(): number {
    return this.blockCount - this.#emptyCount - this.#reusableCount;
  }

  get pageCount(): number {
    return this.#pages.size;
  }

  /** Returns the extent of a cached page, or -1 if the page is not cached. */
  findPage(name: number): number {
    return this.#pages.get(name) ?? none;
  }

  /** Number of available blocks that are no longer available once the extent is held. */
  reusableBlocksOf(extent: number): number {
    return this.#references[extent] === 0 ? (this.#blocks[extent] ?? 0) : 0;
  }

  /** Holds a cached page or run. Returns the number of its blocks. */
  hold(extent: number): number {
    const blocks = this.#blocks[extent] ?? 0;
    const references = this.#references[extent] ?? 0;
    if (references === 0) this.#unlink(extent, blocks);
    this.#references[extent] = references + 1;
    return blocks;
  }

  /** Allocates blocks. The caller must make sure that this number of blocks is available. */
  take(count: number): void {
    let missing = count;
    const fromEmpty = Math.min(missing, this.#emptyCount);
    this.#emptyCount -= fromEmpty;
    missing -= fromEmpty;
    while (missing > 0) missing -= this.#evict(missing);
  }

  /**
   * Turns blocks that a sequence holds into a page. Returns the extent of the page, which the sequence then holds in
   * place of the blocks. Returns -1 if the page exists already or caching is off; the sequence then keeps its own
   * blocks.
   */
  namePage(name: number, blocks: number): number {
    if (!this.#isPrefixCached || this.#pages.has(name)) return none;
    const extent = this.#newExtent(page, blocks);
    this.#references[extent] = 1;
    this.#names[extent] = name;
    this.#pages.set(name, extent);
    return extent;
  }

  releasePage(extent: number): void {
    const references = (this.#references[extent] ?? 0) - 1;
    this.#references[extent] = references;
    if (references === 0) this.#append(extent);
  }

  /** Releases blocks without a name. */
  releaseBlocks(count: number): void {
    if (count === 0) return;
    if (!this.#isPrefixCached) {
      this.#emptyCount += count;
      return;
    }
    const newest = this.#newest;
    if (newest !== none && this.#kinds[newest] === garbage) {
      this.#blocks[newest] = (this.#blocks[newest] ?? 0) + count;
      this.#reusableCount += count;
      return;
    }
    this.#append(this.#newExtent(garbage, count));
  }

  /**
   * Releases the blocks of a preempted sequence. Returns the extent with which the sequence can reuse them, or -1 if it
   * cannot.
   */
  releaseRun(count: number): number {
    if (!this.#isPrefixCached || count === 0) {
      this.releaseBlocks(count);
      return none;
    }
    const extent = this.#newExtent(run, count);
    this.#append(extent);
    return extent;
  }

  /** Number of blocks of a run that are still readable. */
  runBlocks(extent: number): number {
    return this.#blocks[extent] ?? 0;
  }

  /**
   * Reuses the first `blocks` blocks of a run. The other blocks stay reusable without a name. This is called once for
   * each run.
   */
  holdRun(extent: number, blocks: number): void {
    const left = (this.#blocks[extent] ?? 0) - blocks;
    this.#reusableCount -= blocks;
    this.#blocks[extent] = left;
    if (left > 0) {
      this.#kinds[extent] = garbage;
      return;
    }
    if (blocks > 0) this.#unlink(extent, 0);
    this.#recycle(extent);
  }

  /**
   * Allocates up to `wanted` blocks from the extent that was released first. If the extent is a page, its other blocks
   * become empty.
   */
  #evict(wanted: number): number {
    const extent = this.#oldest;
    const blocks = this.#blocks[extent] ?? 0;
    if (this.#kinds[extent] !== page && blocks > wanted) {
      this.#blocks[extent] = blocks - wanted;
      this.#reusableCount -= wanted;
      return wanted;
    }
    this.#unlink(extent, blocks);
    this.#blocks[extent] = 0;
    const taken = Math.min(wanted, blocks);
    this.#emptyCount += blocks - taken;
    if (this.#kinds[extent] === page) this.#pages.delete(this.#names[extent] ?? 0);
    // The extent of a run exists until its sequence reuses it, even if it has no blocks any more.
    if (this.#kinds[extent] !== run) this.#recycle(extent);
    return taken;
  }

  #append(extent: number): void {
    this.#before[extent] = this.#newest;
    this.#after[extent] = none;
    if (this.#newest === none) this.#oldest = extent;
    else this.#after[this.#newest] = extent;
    this.#newest = extent;
    this.#reusableCount += this.#blocks[extent] ?? 0;
  }

  #unlink(extent: number, blocks: number): void {
    const before = this.#before[extent] ?? none;
    const after = this.#after[extent] ?? none;
    if (before === none) this.#oldest = after;
    else this.#after[before] = after;
    if (after === none) this.#newest = before;
    else this.#before[after] = before;
    this.#reusableCount -= blocks;
  }

  #recycle(extent: number): void {
    this.#after[extent] = this.#unusedExtent;
    this.#unusedExtent = extent;
  }

  #newExtent(kind: ExtentKind, blocks: number): number {
    let extent = this.#unusedExtent;
    if (extent === none) {
      extent = this.#extentCount;
      this.#extentCount += 1;
      if (extent >= this.#kinds.length) this.#grow();
    } else {
      this.#unusedExtent = this.#after[extent] ?? none;
    }
    this.#kinds[extent] = kind;
    this.#blocks[extent] = blocks;
    this.#references[extent] = 0;
    return extent;
  }

  #grow(): void {
    const size = this.#kinds.length * 2;
    const kinds = new Uint8Array(size);
    kinds.set(this.#kinds);
    this.#kinds = kinds;
    this.#blocks = larger(this.#blocks, size);
    this.#references = larger(this.#references, size);
    this.#before = larger(this.#before, size);
    this.#after = larger(this.#after, size);
    const names = new Float64Array(size);
    names.set(this.#names);
    this.#names = names;
  }
}

export function larger(array: Int32Array<ArrayBuffer>, size: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(size);
  copy.set(array);
  return copy;
}
