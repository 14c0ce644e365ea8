/** The last values, kept in order, for quantiles. */
export class SortedWindow {
  readonly #limit: number;
  readonly #sorted: Float64Array;
  readonly #recent: Float64Array;
  #count = 0;
  #next = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#sorted = new Float64Array(limit + 1);
    this.#recent = new Float64Array(limit);
  }

  get count(): number {
    return this.#count;
  }

  add(value: number): void {
    if (this.#count === this.#limit) {
      const at = this.#position(this.#recent[this.#next] ?? 0);
      this.#sorted.copyWithin(at, at + 1, this.#count);
      this.#count -= 1;
    }
    const at = this.#position(value);
    this.#sorted.copyWithin(at + 1, at, this.#count);
    this.#sorted[at] = value;
    this.#count += 1;
    this.#recent[this.#next] = value;
    this.#next = (this.#next + 1) % this.#limit;
  }

  /** The value below which this share of the values lies; 0 if there are none. */
  quantile(share: number): number {
    if (this.#count === 0) return 0;
    const at = Math.min(this.#count - 1, Math.max(0, Math.ceil(share * this.#count) - 1));
    return this.#sorted[at] ?? 0;
  }

  #position(value: number): number {
    let [low, high] = [0, this.#count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#sorted[middle] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
