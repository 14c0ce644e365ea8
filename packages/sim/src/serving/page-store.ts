/**
 * Prefix pages stored outside the engines. A hit counts while every page before it in the request was a hit too; then
 * all pages of the request become the most recently used ones, from first to last. Unlimited if `pageCount` is
 * infinite.
 */
export class PrefixPages {
  readonly #pageCount: number;
  /** In the order of last use: a Set keeps insertion order. */
  readonly #pages = new Set<number>();
  asked: number = 0;
  hits: number = 0;

  constructor(pageCount: number) {
    this.#pageCount = pageCount;
  }

  get size(): number {
    return this.#pages.size;
  }

  /** Number of leading pages of the request that are stored; afterwards all are. */
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
