/**
 * Reads the bytes of artifacts for their digests, a few attempts at a time: each reading holds a buffer and the disk. The
 * time of a turn is limited, because a job may leave more bytes than can be read, and its end waits.
 */
export const digestTurns = { atOnceMax: 2, timeoutMs: 300_000 } as const;
/** Uploads wait for stores, so they have turns of their own, and more time. */
export const uploadTurns = { atOnceMax: 8, timeoutMs: 3_600_000 } as const;

interface TurnLimits {
  readonly atOnceMax: number;
  readonly timeoutMs: number;
}

export class DigestTurns {
  readonly #limits: TurnLimits;
  readonly #closing = new AbortController();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  async run<Result>(read: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#limits.atOnceMax) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    // From the begin of the turn on: others that take long cost only time.
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(this.#limits.timeoutMs)]);
    try {
      return await read(signal);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  close(): void {
    this.#closing.abort();
  }
}
