/**
 * A set of small integers (node positions, counts) as a two-level bit set: finding the next member costs a few words.
 */
export class NodeSet {
  /**
   * Starts short: a pool of one large node has one set for each count of its free accelerators, and most sets are
   * empty.
   */
  #words = new Int32Array(1);
  #summary = new Int32Array(1);

  add(position: number): void {
    const word = position >>> 5;
    if (word >= this.#words.length) this.#grow(word + 1);
    this.#words[word] = (this.#words[word] as number) | (1 << (position & 31));
    this.#summary[word >>> 5] = (this.#summary[word >>> 5] as number) | (1 << (word & 31));
  }

  delete(position: number): void {
    const word = position >>> 5;
    if (word >= this.#words.length) return;
    const left = (this.#words[word] as number) & ~(1 << (position & 31));
    this.#words[word] = left;
    if (left === 0) this.#summary[word >>> 5] = (this.#summary[word >>> 5] as number) & ~(1 << (word & 31));
  }

  /** The smallest member at or after `from`; -1 if there is none. */
  next(from: number): number {
    let word = from >>> 5;
    if (word >= this.#words.length) return -1;
    const rest = (this.#words[word] as number) & (-1 << (from & 31));
    if (rest !== 0) return (word << 5) + lowestBit(rest);
    word++;
    let group = word >>> 5;
    let groupRest = group < this.#summary.length ? (this.#summary[group] as number) & (-1 << (word & 31)) : 0;
    while (groupRest === 0) {
      group++;
      if (group >= this.#summary.length) return -1;
      groupRest = this.#summary[group] as number;
    }
    word = (group << 5) + lowestBit(groupRest);
    return (word << 5) + lowestBit(this.#words[word] as number);
  }

  /** The largest member at or before `from`; -1 if there is none. */
  previous(from: number): number {
    if (from < 0) return -1;
    const last = Math.min(from, this.#words.length * 32 - 1);
    let word = last >>> 5;
    const rest = (this.#words[word] as number) & (-1 >>> (31 - (last & 31)));
    if (rest !== 0) return (word << 5) + highestBit(rest);
    if (word === 0) return -1;
    word--;
    let group = word >>> 5;
    let groupRest = (this.#summary[group] as number) & (-1 >>> (31 - (word & 31)));
    while (groupRest === 0) {
      if (group === 0) return -1;
      groupRest = this.#summary[--group] as number;
    }
    word = (group << 5) + highestBit(groupRest);
    return (word << 5) + highestBit(this.#words[word] as number);
  }

  #grow(wordsNeeded: number): void {
    const length = Math.max(wordsNeeded, this.#words.length * 2);
    const words = new Int32Array(length);
    words.set(this.#words);
    this.#words = words;
    const summary = new Int32Array((length + 31) >>> 5);
    summary.set(this.#summary);
    this.#summary = summary;
  }
}

const highestBit = (word: number): number => 31 - Math.clz32(word);

export const lowestBit = (word: number): number => 31 - Math.clz32(word & -word);
