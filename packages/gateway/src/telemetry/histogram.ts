/** Prometheus histograms and counters, for few sets of labels. */

export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let low = 0;
    let high = this.#bounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (value <= this.#bounds[middle]!) high = middle;
      else low = middle + 1;
    }
    this.#counts[low]! += 1;
    this.#sum += value;
    this.#count++;
  }

  /** The lines of the histogram in Prometheus text. `labels` has the form `a="b",c="d"`. */
  lines(name: string, labels: string): string {
    const prefix = labels === "" ? "" : `${labels},`;
    const own = labels === "" ? "" : `{${labels}}`;
    let cumulative = 0;
    let text = "";
    for (const [index, bound] of this.#bounds.entries()) {
      cumulative += this.#counts[index]!;
      text += `${name}_bucket{${prefix}le="${bound}"} ${cumulative}\n`;
    }
    return `${text}${name}_bucket{${prefix}le="+Inf"} ${this.#count}\n${name}_sum${own} ${this.#sum}\n${name}_count${own} ${this.#count}\n`;
  }
}
