/**
 * Reads the bytes of artifacts for their digests, a few attempts at a time: each reading holds a buffer and the disk. The
 * time of a turn is limited, because a job may leave more bytes than can be read, and its end waits.
 */
export const digestTurns = { atOnceMax: 2, timeoutMs: 300_000 } as const;
/** Turns of each store. `StoreSet.uploadMemory` bounds what the uploads to all stores hold. */
const uploadTurns = { atOnceMax: 4, timeoutMs: 3_600_000 } as const;

interface TurnLimits {
  readonly atOnceMax: number;
  readonly timeoutMs: number;
}

export class DigestTurns {
  readonly #limits: TurnLimits;
  readonly #closing: AbortController;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(limits: TurnLimits, closing = new AbortController()) {
    this.#limits = limits;
    this.#closing = closing;
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

/** Uploads wait for their store, up to an hour while it does not answer, so each store has turns of its own, and those of others go on. */
export class UploadTurns {
  readonly #limits: TurnLimits;
  readonly #closing = new AbortController();
  /** Stores with uploads that run or wait. */
  readonly #ofStores = new Map<string, { readonly turns: DigestTurns; uploads: number }>();

  constructor(limits: TurnLimits = uploadTurns) {
    this.#limits = limits;
  }

  async run<Result>(store: string, send: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const of = this.#ofStores.get(store) ?? { turns: new DigestTurns(this.#limits, this.#closing), uploads: 0 };
    this.#ofStores.set(store, of);
    of.uploads += 1;
    try {
      return await of.turns.run(send);
    } finally {
      of.uploads -= 1;
      if (of.uploads === 0) this.#ofStores.delete(store);
    }
  }

  close(): void {
    this.#closing.abort();
  }
}
