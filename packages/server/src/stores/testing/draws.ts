/** Random choices of a world, by its seed. */
import { draw } from "@headroom/model";

export class Draws {
  #count = 0;
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  below(limit: number): number {
    return Math.floor((draw(this.#seed, this.#count++, "rule worlds") / 2 ** 32) * limit);
  }

  of<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  some<T>(values: readonly T[]): readonly T[] {
    return values.filter(() => this.below(2) === 0);
  }

  isOneOf(count: number): boolean {
    return this.below(count) === 0;
  }
}
