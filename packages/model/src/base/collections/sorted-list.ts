/**
 * A list kept in order by a total order, cut into chunks, so that insertion, removal, rank and paging stay cheap at
 * a million entries (the idea of Python's `sortedcontainers`). Appending at the end and taking from the front are the
 * common cases and touch one chunk only.
 */
const CHUNK_MAX = 512;

export class SortedList<T> {
  readonly #compare: (left: T, right: T) => number;
  #chunks: T[][] = [];
  #length = 0;

  constructor(compare: (left: T, right: T) => number) {
    this.#compare = compare;
  }

  get length(): number {
    return this.#length;
  }

  first(): T | undefined {
    return this.#chunks[0]?.[0];
  }

  /** Appends an item that is after all others. Returns false, and changes nothing, if the item is not. */
  append(item: T): boolean {
    const last = this.#chunks.at(-1);
    if (last !== undefined && this.#compare(last[last.length - 1] as T, item) >= 0) return false;
    if (last !== undefined && last.length < CHUNK_MAX) last.push(item);
    else this.#chunks.push([item]);
    this.#length++;
    return true;
  }

  /** Inserts an item that is not in the list; two items must never compare equal. */
  insert(item: T): void {
    if (this.append(item)) return;
    this.#length++;
    const chunkIndex = this.#chunkOf(item);
    const chunk = this.#chunks[chunkIndex] as T[];
    chunk.splice(this.#positionIn(chunk, item), 0, item);
    if (chunk.length > CHUNK_MAX) this.#chunks.splice(chunkIndex + 1, 0, chunk.splice(CHUNK_MAX / 2));
  }

  has(item: T): boolean {
    return this.#find(item) !== null;
  }

  /** Removes the item; returns whether it was there. */
  remove(item: T): boolean {
    const front = this.#chunks[0];
    if (front !== undefined && front[0] === item) {
      front.shift();
      if (front.length === 0) this.#chunks.shift();
      this.#length--;
      return true;
    }
    const found = this.#find(item);
    if (found === null) return false;
    const chunk = this.#chunks[found.chunkIndex] as T[];
    if (found.position === 0) chunk.shift();
    else chunk.splice(found.position, 1);
    if (chunk.length === 0) this.#chunks.splice(found.chunkIndex, 1);
    this.#length--;
    return true;
  }

  /** Number of entries before the item, whether or not it is in the list. */
  rank(item: T): number {
    if (this.#length === 0) return 0;
    const chunkIndex = this.#chunkOf(item);
    let before = 0;
    for (let index = 0; index < chunkIndex; index++) before += (this.#chunks[index] as T[]).length;
    return before + this.#positionIn(this.#chunks[chunkIndex] as T[], item);
  }

  /** The entry at a position; `undefined` beyond the end. */
  at(position: number): T | undefined {
    let skip = position;
    let index = 0;
    for (; index < this.#chunks.length; index++) {
      const { length } = this.#chunks[index] as T[];
      if (skip < length) break;
      skip -= length;
    }
    return this.#chunks[index]?.[skip];
  }

  /** Entries from an offset on, in order. */
  *from(offset: number): Generator<T> {
    let skip = offset;
    for (const chunk of this.#chunks) {
      if (skip >= chunk.length) {
        skip -= chunk.length;
        continue;
      }
      for (let position = skip; position < chunk.length; position++) yield chunk[position] as T;
      skip = 0;
    }
  }

  #find(item: T): { chunkIndex: number; position: number } | null {
    if (this.#length === 0) return null;
    const chunkIndex = this.#chunkOf(item);
    const chunk = this.#chunks[chunkIndex] as T[];
    const position = this.#positionIn(chunk, item);
    const there = chunk[position];
    return there !== undefined && this.#compare(there, item) === 0 ? { chunkIndex, position } : null;
  }

  /** The first chunk whose last entry is not before the item; the last chunk if there is none. */
  #chunkOf(item: T): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      const chunk = this.#chunks[middle] as T[];
      if (this.#compare(chunk[chunk.length - 1] as T, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #positionIn(chunk: readonly T[], item: T): number {
    let low = 0;
    let high = chunk.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(chunk[middle] as T, item) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
