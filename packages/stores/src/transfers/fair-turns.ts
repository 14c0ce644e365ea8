/**
 * The requests that a store serves at the same time, shared among transfers: a free one goes to the transfer that has the
 * fewest, and among equal ones to that whose last one began first. A start storm then slows every transfer alike, and none waits for
 * all parts of another.
 */
interface Waiting {
  readonly holder: object;
  readonly proceed: () => void;
}

export class FairTurns {
  readonly #capacity: number;
  readonly #held = new Map<object, number>();
  readonly #waiting: Waiting[] = [];
  /** Numbers of the last turns of holders. */
  readonly #last = new WeakMap<object, number>();
  #turns = 0;
  #used = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Whether a transfer waits for a turn. */
  get areAwaited(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resolves with the function that gives the turn back. Rejects at the signal. */
  async take(holder: object, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#used >= this.#capacity) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const waiting = { holder, proceed: resolve };
      const leave = (): void => {
        const position = this.#waiting.indexOf(waiting);
        if (position < 0) return;
        this.#waiting.splice(position, 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiting);
      await promise.finally(() => signal.removeEventListener("abort", leave));
    } else this.#grant(holder);
    let isReturned = false;
    return () => {
      if (isReturned) return;
      isReturned = true;
      this.#giveBack(holder);
    };
  }

  #grant(holder: object): void {
    this.#used += 1;
    this.#last.set(holder, ++this.#turns);
    this.#held.set(holder, (this.#held.get(holder) ?? 0) + 1);
  }

  #giveBack(holder: object): void {
    this.#used -= 1;
    const left = (this.#held.get(holder) ?? 1) - 1;
    if (left === 0) this.#held.delete(holder);
    else this.#held.set(holder, left);
    // Within a transfer the order is that of arrival.
    let next: Waiting | undefined;
    for (const each of this.#waiting) if (next === undefined || this.#isBefore(each, next)) next = each;
    if (next === undefined) return;
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    this.#grant(next.holder);
    next.proceed();
  }

  #isBefore({ holder: one }: Waiting, { holder: other }: Waiting): boolean {
    const fewer = (this.#held.get(one) ?? 0) - (this.#held.get(other) ?? 0);
    return fewer === 0 ? (this.#last.get(one) ?? 0) < (this.#last.get(other) ?? 0) : fewer < 0;
  }
}
