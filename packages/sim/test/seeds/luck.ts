import { draw } from "@headroom/model";

/** A stream of random draws for tests. One seed and one purpose always give the same stream. */
export class Luck {
  readonly #seed: number;
  readonly #purpose: string;
  #sequence = 0;

  constructor(seed: number, purpose: string) {
    this.#seed = seed;
    this.#purpose = purpose;
  }

  /** Number of draws so far, which is the position in the stream. */
  get drawn(): number {
    return this.#sequence;
  }

  /** An independent stream: draws from it do not advance this stream. */
  aside(purpose: string): Luck {
    return new Luck(this.#seed, `${this.#purpose}, ${purpose}`);
  }

  /** A whole number from 0 to `bound - 1`. */
  below(bound: number): number {
    return Math.floor((draw(this.#seed, this.#sequence++, this.#purpose) / 2 ** 32) * bound);
  }

  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(list: readonly T[]): T {
    const chosen = list[this.below(list.length)];
    if (chosen === undefined) throw new Error("nothing to pick from");
    return chosen;
  }
}
