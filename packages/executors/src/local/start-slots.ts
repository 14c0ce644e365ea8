/**
 * Supervisors start a few at a time: each costs tens of milliseconds of CPU, and when fifty start at once all of them are
 * late, instead of the first ones being quick.
 */
import { availableParallelism } from "node:os";

/** A start that hangs must not keep the others for ever. */
const START_TIMEOUT_MS = 10_000;

export class StartSlots {
  readonly #held = new Map<string, NodeJS.Timeout>();
  readonly #waiting: (() => void)[] = [];
  readonly #count = availableParallelism() * 2;
  #closed = false;

  /** Resolves when the attempt may start, and to false when nothing starts any more. */
  async acquire(name: string): Promise<boolean> {
    while (!this.#closed && this.#held.size >= this.#count) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#closed) return false;
    this.#held.set(name, setTimeout(() => this.release(name), START_TIMEOUT_MS).unref());
    return true;
  }

  /** The attempt has started, or failed to. May be said more than once. */
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
