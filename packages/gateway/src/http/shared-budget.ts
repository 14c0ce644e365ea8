/**
 * Memory for request bodies, shared by teams. Each owner may hold several times what is free now (dynamic thresholds:
 * Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches", 1998). One owner alone gets
 * four fifths, two get four ninths each: part of the memory is always free for the next one.
 */
import { MemoryBudget } from "./memory-budget.ts";

const SHARE_OF_FREE = 4;

export class SharedBudget {
  readonly #all: MemoryBudget;
  readonly #byOwner = new Map<string, number>();

  constructor(maxBytes: number) {
    this.#all = new MemoryBudget(maxBytes);
  }

  get maxBytes(): number {
    return this.#all.maxBytes;
  }

  get usedBytes(): number {
    return this.#all.usedBytes;
  }

  /**
   * Takes more for a body of which `heldBytes` are counted. The only body of an owner needs no more than room; those
   * beside it must fit in the owner's share.
   */
  take(owner: string, bytes: number, heldBytes: number): boolean {
    const own = this.#byOwner.get(owner) ?? 0;
    const free = this.#all.maxBytes - this.#all.usedBytes - bytes;
    if (own > heldBytes && own + bytes > SHARE_OF_FREE * free) return false;
    if (!this.#all.take(bytes)) return false;
    this.#byOwner.set(owner, own + bytes);
    return true;
  }

  give(owner: string, bytes: number): void {
    if (bytes === 0) return;
    const left = (this.#byOwner.get(owner) ?? 0) - bytes;
    if (left > 0) this.#byOwner.set(owner, left);
    else this.#byOwner.delete(owner);
    this.#all.give(bytes);
  }
}
