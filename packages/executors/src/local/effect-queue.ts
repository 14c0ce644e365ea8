/** Runs what effects ask for: in order for one attempt, a few at a time over all, so that a burst of launches does not take the machine. */
import { availableParallelism } from "node:os";

type Task = () => Promise<void>;

export class EffectQueue {
  /** What waits behind the running task of each key. */
  readonly #byKey = new Map<string, Task[]>();
  readonly #ready: (() => void)[] = [];
  readonly #idle: (() => void)[] = [];
  #freeCount = availableParallelism() * 2;
  #closed = false;

  add(key: string, task: Task): void {
    if (this.#closed) return;
    const waiting = this.#byKey.get(key);
    if (waiting !== undefined) {
      waiting.push(task);
      return;
    }
    this.#byKey.set(key, [task]);
    void this.#drain(key);
  }

  /** Resolves when what was asked for one attempt so far is done. */
  settled(key: string): Promise<void> {
    const waiting = this.#byKey.get(key);
    if (waiting === undefined || this.#closed) return Promise.resolve();
    return new Promise((resolve) => waiting.push(async () => resolve()));
  }

  /** What has not begun is dropped: the engine asks again after a restart. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const proceed of this.#ready.splice(0)) proceed();
    if (this.#byKey.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #drain(key: string): Promise<void> {
    const tasks = this.#byKey.get(key) ?? [];
    await this.#acquire();
    for (let task = tasks.shift(); task !== undefined && !this.#closed; task = tasks.shift()) await task();
    this.#release();
    this.#byKey.delete(key);
    if (this.#byKey.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #acquire(): Promise<void> {
    if (this.#freeCount > 0) this.#freeCount -= 1;
    else await new Promise<void>((resolve) => this.#ready.push(resolve));
  }

  #release(): void {
    const next = this.#ready.shift();
    if (next === undefined) this.#freeCount += 1;
    else next();
  }
}
