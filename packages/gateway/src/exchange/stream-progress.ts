/** A stream that another attempt can continue: the output that its client has so far, and the continuation in progress. */
import type { PoolRoute } from "./model-route.ts";
import { continuationOf, isResumable, type Continuation } from "./resume.ts";
import type { ExchangeRequest, Runtime } from "./runtime.ts";
import { StreamRecord } from "./stream-record.ts";

export class StreamProgress {
  readonly #request: ExchangeRequest;
  readonly #records: Runtime["records"];
  #record: StreamRecord | undefined;
  #pool: PoolRoute["pool"] | undefined;
  continuation: Continuation | undefined;

  constructor(request: ExchangeRequest, { records }: Runtime) {
    this.#request = request;
    this.#records = records;
  }

  /** A stream begins at the pool. */
  begin(route: PoolRoute): void {
    this.#pool = route.pool;
    if (isResumable(this.#request, route)) this.#record = new StreamRecord(this.#records);
  }

  get isRecorded(): boolean {
    return this.#record !== undefined;
  }

  add(events: Buffer): void {
    this.#record?.add(events);
  }

  /** The request that continues the stream at the pool where it began. Undefined where this is not possible. */
  at(route: PoolRoute | undefined): Continuation | undefined {
    if (route === undefined || route.pool !== this.#pool || this.#record === undefined) return undefined;
    return continuationOf(this.#request, route, this.#record);
  }

  /** The events for the client. */
  rewrite(events: Buffer): Buffer {
    return this.continuation?.rewrite(events) ?? events;
  }

  /** Drops the output: the stream will not be continued. */
  release(): void {
    this.#record?.release();
    this.#record = undefined;
  }

  clear(): void {
    this.release();
    this.continuation = undefined;
  }
}
