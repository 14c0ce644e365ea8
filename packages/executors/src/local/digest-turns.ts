/**
 * Reads the bytes of artifacts for their digests, a few attempts at a time: each reading holds a buffer and the disk. The
 * time is limited from the end of the attempt on, because a job may leave more bytes than can be read, and its end waits.
 */
const AT_ONCE_MAX = 2;
const DIGEST_TIMEOUT_MS = 300_000;

export class DigestTurns {
  readonly #closing = new AbortController();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  async run<Result>(read: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(DIGEST_TIMEOUT_MS)]);
    if (this.#running >= AT_ONCE_MAX) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
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
