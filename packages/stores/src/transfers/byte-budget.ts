/**
 * The memory that all uploads together use for parts: a free piece goes to the store that holds the fewest bytes, and within a store in the
 * order of arrival. A store that takes its parts slowly leaves room to others.
 */
interface WaitingPart {
  readonly holder: object;
  readonly bytes: number;
  readonly proceed: () => void;
}

export class ByteBudget {
  readonly #bytesMax: number;
  readonly #held = new Map<object, number>();
  readonly #waiting: WaitingPart[] = [];
  #used = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Resolves with the function that gives the bytes back, which is called once. More than the whole budget is given alone. */
  async take(bytes: number, holder: object, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { holder, bytes, proceed: resolve };
    const leave = (): void => {
      const position = this.#waiting.indexOf(waiting);
      if (position < 0) return;
      this.#waiting.splice(position, 1);
      reject(signal.reason as Error);
      this.#grantNext();
    };
    signal.addEventListener("abort", leave, { once: true });
    this.#waiting.push(waiting);
    this.#grantNext();
    await promise.finally(() => signal.removeEventListener("abort", leave));
    return () => {
      this.#hold(holder, -bytes);
      this.#grantNext();
    };
  }

  /** One that does not fit waits, and so do all after it: small parts do not overtake it forever. */
  #grantNext(): void {
    for (;;) {
      let next: WaitingPart | undefined;
      for (const each of this.#waiting) if (next === undefined || this.#heldBy(each) < this.#heldBy(next)) next = each;
      if (next === undefined || (this.#used > 0 && this.#used + next.bytes > this.#bytesMax)) return;
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      this.#hold(next.holder, next.bytes);
      next.proceed();
    }
  }

  #hold(holder: object, bytes: number): void {
    this.#used += bytes;
    const held = (this.#held.get(holder) ?? 0) + bytes;
    if (held === 0) this.#held.delete(holder);
    else this.#held.set(holder, held);
  }

  #heldBy({ holder }: WaitingPart): number {
    return this.#held.get(holder) ?? 0;
  }
}
