/** A histogram of durations in microseconds with 1% resolution, from 1 µs to a minute, in constant memory. */
const GROWTH = 1.01;
const BUCKETS = 1900;
const LOG_GROWTH = Math.log(GROWTH);

export class Histogram {
  readonly #counts: Float64Array;
  #count = 0;
  #max = 0;

  constructor(counts: readonly number[] = []) {
    this.#counts = new Float64Array(BUCKETS);
    for (const [index, count] of counts.entries()) {
      this.#counts[index] = count;
      this.#count += count;
      if (count > 0) this.#max = GROWTH ** index;
    }
  }

  add(us: number): void {
    const bucket = Math.min(BUCKETS - 1, Math.max(0, Math.ceil(Math.log(Math.max(us, 1)) / LOG_GROWTH)));
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#count += 1;
    if (us > this.#max) this.#max = us;
  }

  get count(): number {
    return this.#count;
  }

  get maxUs(): number {
    return this.#max;
  }

  /** The duration in microseconds that a share `quantile` of all durations does not exceed. 0 if there are none. */
  quantileUs(quantile: number): number {
    let left = quantile * this.#count;
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      left -= this.#counts[bucket] as number;
      if (left <= 0 && this.#count > 0) return GROWTH ** bucket;
    }
    return 0;
  }
}
