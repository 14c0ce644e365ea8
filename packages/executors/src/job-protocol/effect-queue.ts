/** Carries out effects: in order for one attempt, concurrently for different attempts. */
type Task = () => Promise<void>;

export class EffectQueue {
  /** For each key: tasks that wait until the running task is done. */
  readonly #byKey = new Map<string, Task[]>();
  readonly #settledWaiters = new Map<string, (() => void)[]>();
  readonly #idle: (() => void)[] = [];
  #closed = false;

  add(key: string, task: Task): void {
    if (this.#closed) return;
    const waiting = this.#byKey.get(key);
    if (waiting !== undefined) {
      waiting.push(task);
      return;
    }
    const tasks = [task];
    this.#byKey.set(key, tasks);
    void this.#drain(key, tasks);
  }

  /** Resolves when all effects of the attempt are carried out or dropped. */
  settled(key: string): Promise<void> {
    if (!this.#byKey.has(key)) return Promise.resolve();
    return new Promise((resolve) => {
      const waiters = this.#settledWaiters.get(key);
      if (waiters === undefined) this.#settledWaiters.set(key, [resolve]);
      else waiters.push(resolve);
    });
  }

  /** Drops tasks that have not begun. The engine repeats their effects after a restart. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#byKey.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #drain(key: string, tasks: Task[]): Promise<void> {
    for (let task = tasks.shift(); task !== undefined && !this.#closed; task = tasks.shift()) await task();
    this.#byKey.delete(key);
    for (const resolve of this.#settledWaiters.get(key) ?? []) resolve();
    this.#settledWaiters.delete(key);
    if (this.#byKey.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
