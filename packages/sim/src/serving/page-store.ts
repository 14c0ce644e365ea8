/**
 * A store of prefix pages outside the engines. A page counts as a hit only if every page before it in the request was a
 * hit. Afterwards all pages of the request count as used most recently, from first to last. The store is unlimited if
 * `pageCount` is infinite.
 */
export class PrefixPages {
  readonly #pageCount: number;
  /** Pages in the order of last use: a Set keeps insertion order. */
  readonly #pages = new Set<number>();
  asked: number = 0;
  hits: number = 0;

  constructor(pageCount: number) {
    this.#pageCount = pageCount;
  }

  get size(): number {
    return this.#pages.size;
  }

  /** Returns the number of leading pages of the request that are stored, and stores all of its pages. */
  look(pages: readonly number[]): number {
    const missing = pages.findIndex((page) => !this.#pages.has(page));
    const found = missing === -1 ? pages.length : missing;
    for (const page of pages) {
      this.#pages.delete(page);
      this.#pages.add(page);
    }
    for (const oldest of this.#pages) {
      if (this.#pages.size <= this.#pageCount) break;
      this.#pages.delete(oldest);
    }
    this.asked += pages.length;
    this.hits += found;
    return found;
  }
}
