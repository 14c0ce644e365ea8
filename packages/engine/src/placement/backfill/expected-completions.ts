/** Expected ends of running work, the earliest first, read from the index only as far as needed. */
import type { Attempt, GangSpec } from "@headroom/model";
import type { World } from "../../cluster/world.ts";

export interface ExpectedEnd {
  readonly attempt: Attempt;
  readonly gang: GangSpec;
  /** The expected end. Overdue work may end at any moment, so its end is assumed to be 1 ms after the present. */
  readonly endMs: number;
}

export class ExpectedEnds {
  readonly #rest: ReturnType<World["completions"]["inOrder"]>;
  readonly #notBeforeMs: number;
  readonly #read: ExpectedEnd[] = [];

  constructor({ completions }: World, nowMs: number) {
    this.#rest = completions.inOrder();
    this.#notBeforeMs = nowMs + 1;
  }

  /** The expected end at a position in the order of time, or `undefined` if there are no more. */
  at(position: number): ExpectedEnd | undefined {
    while (this.#read.length <= position) {
      const next = this.#rest.next();
      if (next.done === true) return undefined;
      const { attempt, gang, endMs } = next.value;
      this.#read.push({ attempt, gang, endMs: Math.max(endMs, this.#notBeforeMs) });
    }
    return this.#read[position];
  }
}
