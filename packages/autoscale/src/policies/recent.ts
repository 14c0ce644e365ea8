/** Values of the last `spanMs`, with their sum and maximum. */
export class Recent {
  readonly #spanMs: number;
  readonly #entries: { readonly atMs: number; readonly value: number }[] = [];
  #first = 0;
  #sum = 0;

  constructor(spanMs: number) {
    this.#spanMs = spanMs;
  }

  add(atMs: number, value: number): void {
    this.#entries.push({ atMs, value });
    this.#sum += value;
    for (let oldest = this.#entries[this.#first]; oldest !== undefined; oldest = this.#entries[this.#first]) {
      if (oldest.atMs > atMs - this.#spanMs) break;
      this.#sum -= oldest.value;
      this.#first += 1;
    }
    if (this.#first > 1024 && this.#first * 2 > this.#entries.length) {
      this.#entries.splice(0, this.#first);
      this.#first = 0;
    }
  }

  get count(): number {
    return this.#entries.length - this.#first;
  }

  get sum(): number {
    return this.#sum;
  }

  get mean(): number {
    return this.count === 0 ? 0 : this.#sum / this.count;
  }

  get max(): number {
    let most = -Infinity;
    for (let index = this.#first; index < this.#entries.length; index += 1)
      most = Math.max(most, this.#entries[index]?.value ?? most);
    return most;
  }
}
