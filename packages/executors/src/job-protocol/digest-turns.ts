/**
 * Reads the bytes of artifacts for their digests, a few attempts at a time: each reading holds a buffer and the disk. The
 * time of a turn is limited, because a job may leave more bytes than can be read, and its end waits.
 */
export const digestTurns = { atOnceMax: 2, timeoutMs: 300_000 } as const;
/** Each store has these turns, and all stores `allAtOnceMax`. An upload in progress holds up to 64 MiB, so all hold up to 1 GiB. */
const uploadTurns = { atOnceMax: 4, allAtOnceMax: 16, timeoutMs: 3_600_000 } as const;

interface TurnLimits {
  readonly atOnceMax: number;
  readonly timeoutMs: number;
}

interface UploadLimits extends TurnLimits {
  readonly allAtOnceMax: number;
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

/**
 * Uploads wait for their store, up to an hour while it does not answer, so each store has turns of its own. Those of all stores are bounded
 * too: hundreds of stores can be declared.
 */
export class UploadTurns {
  readonly #limits: UploadLimits;
  readonly #all: DigestTurns;
  /** Stores with uploads that run or wait. */
  readonly #ofStores = new Map<string, { readonly turns: DigestTurns; uploads: number }>();

  constructor(limits: UploadLimits = uploadTurns) {
    this.#limits = limits;
    this.#all = new DigestTurns({ ...limits, atOnceMax: limits.allAtOnceMax });
  }

  async run<Result>(store: string, send: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const of = this.#ofStores.get(store) ?? { turns: new DigestTurns(this.#limits), uploads: 0 };
    this.#ofStores.set(store, of);
    of.uploads += 1;
    try {
      // The time of an upload is that of its turn among all.
      return await of.turns.run(() => this.#all.run(send));
    } finally {
      of.uploads -= 1;
      if (of.uploads === 0) this.#ofStores.delete(store);
    }
  }

  close(): void {
    this.#all.close();
  }
}
