/**
 * Limits how many supervisors start at the same time. Each start costs tens of milliseconds of CPU, so fifty starts at
 * once would delay each other.
 */
import { availableParallelism } from "node:os";

/** Time in ms after which a start that hangs releases its slot. */
const START_TIMEOUT_MS = 10_000;

export class StartSlots {
  readonly #held = new Map<string, NodeJS.Timeout>();
  readonly #waiting: (() => void)[] = [];
  readonly #count = availableParallelism() * 2;
  #closed = false;

  /** Resolves to true when the attempt can start, and to false if no attempt starts any more. */
  async acquire(name: string): Promise<boolean> {
    while (!this.#closed && this.#held.size >= this.#count) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#closed) return false;
    this.#held.set(name, setTimeout(() => this.release(name), START_TIMEOUT_MS).unref());
    return true;
  }

  /** Called when the attempt has started or failed to start; may be called more than once. */
  release(name: string): void {
    clearTimeout(this.#held.get(name));
    if (this.#held.delete(name)) this.#waiting.shift()?.();
  }

  close(): void {
    this.#closed = true;
    for (const name of this.#held.keys()) this.release(name);
    for (const proceed of this.#waiting.splice(0)) proceed();
  }
}
