/** Transfers into a cache that are in progress. Requests for the same content share one; it goes on while one of them waits. */

export interface StagedBytes {
  readonly bytes: number;
  /** `null`: the store has not answered yet. */
  readonly totalBytes: number | null;
}

export interface TransferredBytes {
  /** Bytes that the store sent and that were not reported before. */
  readonly bytes: number;
  /** Time until the content was complete and compared with its digest. */
  readonly tookMs: number;
  readonly isFailed: boolean;
  /** An earlier transfer had brought a part, so the time is not that of these bytes. */
  readonly isResumed: boolean;
}

type OnTransferred = ((moved: TransferredBytes) => void) | undefined;

interface Passenger {
  readonly signal: AbortSignal;
  readonly onStaged: (staged: StagedBytes) => void;
  readonly onTransferred: OnTransferred;
}

interface Flight {
  readonly result: Promise<string>;
  readonly stop: AbortController;
  readonly seen: Map<(staged: StagedBytes) => void, OnTransferred>;
  staged: StagedBytes;
}

export class Flights {
  readonly #flights = new Map<string, Flight>();

  get size(): number {
    return this.#flights.size;
  }

  /** Bytes that have arrived, of all together. */
  get stagedBytes(): number {
    let sum = 0;
    for (const { staged } of this.#flights.values()) sum += staged.bytes;
    return sum;
  }

  has(key: string): boolean {
    return this.#flights.has(key);
  }

  /** Waits for the transfer in progress, or for the one that `fly` begins. Rejects at the signal. */
  async join(key: string, { signal, onStaged, onTransferred }: Passenger, fly: Fly): Promise<string> {
    // A transfer that everybody has left ends first: two of them would write the same draft.
    for (let ending = this.#flights.get(key); ending?.stop.signal.aborted === true; ending = this.#flights.get(key))
      await ending.result.catch(() => {});
    signal.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#begin(key, fly);
    flight.seen.set(onStaged, onTransferred);
    const left = Promise.withResolvers<never>();
    const leave = (): void => {
      flight.seen.delete(onStaged);
      if (flight.seen.size === 0) flight.stop.abort(signal.reason);
      left.reject(signal.reason as Error);
    };
    signal.addEventListener("abort", leave, { once: true });
    try {
      onStaged(flight.staged);
      return await Promise.race([flight.result, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  tell(key: string, staged: StagedBytes): void {
    const flight = this.#flights.get(key);
    if (flight === undefined) return;
    flight.staged = staged;
    for (const tell of flight.seen.keys()) tell(staged);
  }

  /** The report of one of the requests that wait for the transfer. */
  reporterOf(key: string): OnTransferred {
    return [...(this.#flights.get(key)?.seen.values() ?? [])].find((each) => each !== undefined);
  }

  /** Stops all, and waits for their ends. */
  async stop(reason: Error): Promise<void> {
    const ending = [...this.#flights.values()];
    for (const { stop } of ending) stop.abort(reason);
    await Promise.allSettled(ending.map(({ result }) => result));
  }

  #begin(key: string, fly: Fly): Flight {
    const stop = new AbortController();
    // Also a transfer that could not begin is forgotten: the next request begins another one.
    const result = fly(stop.signal).finally(() => this.#flights.delete(key));
    // Everybody may have left before it fails.
    result.catch(() => {});
    const flight: Flight = { result, stop, seen: new Map(), staged: { bytes: 0, totalBytes: null } };
    this.#flights.set(key, flight);
    return flight;
  }
}

type Fly = (signal: AbortSignal) => Promise<string>;
