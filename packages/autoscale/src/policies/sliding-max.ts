/** The maximum of the last values, in constant time for each value (a queue that only keeps values that can be the maximum). */
export class SlidingMax {
  readonly #span: number;
  readonly #values: number[] = [];
  readonly #positions: number[] = [];
  #first = 0;
  #next = 0;

  /** `span`: number of values that count. */
  constructor(span: number) {
    this.#span = span;
  }

  add(value: number): number {
    while (this.#values.length > this.#first && (this.#values.at(-1) ?? 0) <= value) {
      this.#values.pop();
      this.#positions.pop();
    }
    this.#values.push(value);
    this.#positions.push(this.#next);
    this.#next += 1;
    while ((this.#positions[this.#first] ?? this.#next) <= this.#next - 1 - this.#span) this.#first += 1;
    if (this.#first > 1024 && 2 * this.#first > this.#values.length) {
      this.#values.splice(0, this.#first);
      this.#positions.splice(0, this.#first);
      this.#first = 0;
    }
    return this.#values[this.#first] ?? value;
  }
}
