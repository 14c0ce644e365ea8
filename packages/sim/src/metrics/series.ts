/**
 * The values of a quantity over time in a bounded number of buckets of equal width. When the run outgrows the buckets,
 * neighbouring buckets are merged and the width doubles, so memory does not depend on the length of the run.
 */
export interface SeriesPoint {
  /** Start of the bucket in ms since the start of the series. */
  readonly atMs: number;
  /** Time-weighted mean within the bucket. */
  readonly mean: number;
  readonly max: number;
}

/** Maximum number of buckets. After a merge, 256 to 512 buckets are in use: enough for a plot as wide as a screen. */
const bucketCountMax = 512;

export class BoundedSeries {
  #widthMs: number;
  #bucket = 0;
  #value = 0;
  #atMs = 0;
  readonly #area = new Float64Array(bucketCountMax);
  readonly #max = new Float64Array(bucketCountMax);

  constructor(widthMs = 1000) {
    this.#widthMs = widthMs;
  }

  get widthMs(): number {
    return this.#widthMs;
  }

  /** Sets the quantity from `atMs` on, until the next call. Times never decrease. */
  set(atMs: number, value: number): void {
    if (value === this.#value) return;
    if (atMs > this.#atMs) this.#accrue(atMs);
    this.#value = value;
    if (value > this.#max[this.#bucket]!) this.#max[this.#bucket] = value;
  }

  /** The buckets up to `endMs`; the last one may be shorter. */
  points(endMs: number): SeriesPoint[] {
    const copy = this.fork();
    if (endMs > copy.#atMs) copy.#accrue(endMs);
    const points: SeriesPoint[] = [];
    for (let bucket = 0; bucket * copy.#widthMs < endMs; bucket++) {
      const widthMs = Math.min(copy.#widthMs, endMs - bucket * copy.#widthMs);
      points.push({ atMs: bucket * copy.#widthMs, mean: copy.#area[bucket]! / widthMs, max: copy.#max[bucket]! });
    }
    return points;
  }

  fork(): BoundedSeries {
    const copy = new BoundedSeries(this.#widthMs);
    copy.#bucket = this.#bucket;
    copy.#value = this.#value;
    copy.#atMs = this.#atMs;
    copy.#area.set(this.#area);
    copy.#max.set(this.#max);
    return copy;
  }

  /** Accumulates the current value up to `atMs`. */
  #accrue(atMs: number): void {
    while (atMs >= this.#widthMs * bucketCountMax) this.#merge();
    while (this.#atMs < atMs) {
      const bucketEndMs = (this.#bucket + 1) * this.#widthMs;
      const untilMs = Math.min(bucketEndMs, atMs);
      this.#area[this.#bucket]! += this.#value * (untilMs - this.#atMs);
      this.#atMs = untilMs;
      if (untilMs < bucketEndMs) return;
      this.#bucket++;
      this.#max[this.#bucket] = this.#value;
    }
  }

  #merge(): void {
    const area = this.#area;
    const max = this.#max;
    for (let bucket = 0; bucket < bucketCountMax; bucket++) {
      const left = 2 * bucket;
      area[bucket] = left < bucketCountMax ? area[left]! + area[left + 1]! : 0;
      max[bucket] = left < bucketCountMax ? Math.max(max[left]!, max[left + 1]!) : 0;
    }
    this.#widthMs *= 2;
    this.#bucket >>= 1;
  }
}
