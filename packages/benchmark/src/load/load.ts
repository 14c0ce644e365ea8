/**
 * The load generator. In a closed loop, each connection sends its next request when the reply is complete. In an open
 * loop, requests have fixed times, and latency is measured from the time at which a request was due, so that a slow
 * server cannot slow down the measurement. With streams, each connection reads one event stream after the other.
 */
import { Buffer } from "node:buffer";
import { monotonicMs, type Connection, type Handlers, type Sockets } from "../sockets/sockets.ts";
import { Histogram } from "./histogram.ts";
import { ReplyParser } from "./reply-parser.ts";

export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  /** Length of the warm-up, which is not measured: connections are opened, and code is compiled. */
  readonly warmUpMs: number;
  /** Requests per second over all connections. Undefined for a closed loop. */
  readonly ratePerSecond?: number | undefined;
  readonly promptBytes: number;
  readonly isStreaming: boolean;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
}

export interface LoadResult {
  readonly completed: number;
  /** Number of completed requests, with those of the warm-up: the target's CPU time includes the warm-up too. */
  readonly allCompleted: number;
  readonly failed: number;
  readonly seconds: number;
  readonly requestsPerSecond: number;
  readonly latencyUs: Quantiles;
  /**
   * Streams only: the time from the sending of an event to its arrival. The next field is the time from the request to
   * the first event.
   */
  readonly eventDelayUs?: Quantiles | undefined;
  readonly firstEventUs?: Quantiles | undefined;
  readonly events: number;
  readonly lostEvents: number;
  readonly doubledEvents: number;
  /** Open loop: number of requests that were due while no connection was free, and that waited for one. */
  readonly lateRequests: number;
  /**
   * Open loop: number of requests that were due in the measured time and had no complete reply at its end. Their age at
   * the end is in `latencyUs`, as a lower bound: without them, a target that never replies would have no latency.
   */
  readonly unfinishedRequests: number;
  /** The first reply whose status was not 2xx, for the report. */
  readonly firstFailure?: string | undefined;
}

export interface Quantiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

interface Client {
  readonly parser: ReplyParser;
  connection: Connection;
  sentMs: number;
  sawFirstEvent: boolean;
}

const TICK_MS = 1;
/** Maximum number of requests that wait for a connection. It limits the memory when the target is overloaded. */
const QUEUED_MAX = 100_000;
/** Consecutive failures after which a run gives up because the target is unreachable. */
const MAX_FAILURES = 1000;

function requestBytes(options: LoadOptions): Buffer {
  const filler = "All work and no play makes a model very dull. ";
  const shell = JSON.stringify({
    model: options.model,
    ...(options.isStreaming ? { stream: true, stream_options: { include_usage: true } } : {}),
    max_tokens: 100,
    messages: [{ role: "user", content: "" }],
  });
  const room = Math.max(options.promptBytes - shell.length, 0);
  const content = filler.repeat(Math.ceil(room / filler.length)).slice(0, room);
  const body = shell.replace('"content":""', `"content":"${content}"`);
  const headers = Object.entries(options.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(
    `POST ${options.path} HTTP/1.1\r\nHost: 127.0.0.1:${options.port}\r\nContent-Type: application/json\r\n${headers.join("")}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

export class Load {
  readonly #sockets: Sockets;
  readonly #options: LoadOptions;
  readonly #request: Buffer;
  readonly #handlers: Handlers;
  readonly #latency = new Histogram();
  readonly #eventDelay = new Histogram();
  readonly #firstEvent = new Histogram();
  readonly #idle: Client[] = [];
  /** Connections with a request that has no complete reply. */
  readonly #busy = new Set<Client>();
  #isMeasuring = false;
  #isStopping = false;
  #completed = 0;
  #allCompleted = 0;
  #failed = 0;
  #failuresInRow = 0;
  #events = 0;
  #lost = 0;
  #doubled = 0;
  #late = 0;
  #unfinished = 0;
  #due: number[] = [];
  #nextDueMs = 0;
  #firstFailure: string | undefined;

  constructor(sockets: Sockets, options: LoadOptions) {
    this.#sockets = sockets;
    this.#options = options;
    this.#request = requestBytes(options);
    this.#handlers = {
      opened: (connection) => this.#free(connection.state as Client),
      received: (connection, bytes) => this.#received(connection.state as Client, bytes),
      closed: (connection) => this.#closed(connection.state as Client),
    };
  }

  async run(): Promise<LoadResult> {
    const { connections, warmUpMs, durationMs } = this.#options;
    const startMs = monotonicMs() + warmUpMs;
    const endMs = startMs + durationMs;
    this.#nextDueMs = monotonicMs();
    for (let index = 0; index < connections; index += 1) this.#open();
    let measuredFromMs = 0;
    let measuredMs = 0;
    await this.#sockets.run(TICK_MS, () => {
      const nowMs = monotonicMs();
      if (!this.#isMeasuring && measuredFromMs === 0 && nowMs >= startMs) {
        this.#isMeasuring = true;
        measuredFromMs = nowMs;
      }
      if (this.#isMeasuring && nowMs >= endMs) {
        this.#isMeasuring = false;
        measuredMs = nowMs - measuredFromMs;
        this.#countUnfinished(measuredFromMs, nowMs);
      }
      this.#sendDue(nowMs);
      this.#isStopping = nowMs >= endMs || this.#failuresInRow >= MAX_FAILURES;
      return !this.#isStopping;
    });
    return this.#result((measuredMs || Math.max(monotonicMs() - startMs, 1)) / 1000);
  }

  #open(): void {
    const client: Client = {
      parser: new ReplyParser(this.#options.isStreaming),
      connection: undefined as unknown as Connection,
      sentMs: 0,
      sawFirstEvent: false,
    };
    client.connection = this.#sockets.connect(this.#options.port, this.#handlers);
    client.connection.state = client;
  }

  #sendDue(nowMs: number): void {
    const { ratePerSecond } = this.#options;
    if (ratePerSecond === undefined) return;
    while (this.#nextDueMs <= nowMs) {
      const client = this.#idle.pop();
      if (client !== undefined) this.#send(client, this.#nextDueMs);
      else {
        if (this.#isMeasuring) this.#late += 1;
        if (this.#due.length < QUEUED_MAX) this.#due.push(this.#nextDueMs);
        else if (this.#isMeasuring) this.#failed += 1;
      }
      this.#nextDueMs += 1000 / ratePerSecond;
    }
  }

  /** Counts the requests of an open loop that were due since `fromMs` and are not complete. */
  #countUnfinished(fromMs: number, nowMs: number): void {
    if (this.#options.ratePerSecond === undefined) return;
    const due = [...[...this.#busy].map(({ sentMs }) => sentMs), ...this.#due].filter((dueMs) => dueMs >= fromMs);
    for (const dueMs of due) this.#latency.add((nowMs - dueMs) * 1000);
    this.#unfinished = due.length;
  }

  #free(client: Client): void {
    this.#busy.delete(client);
    if (this.#isStopping) return;
    if (this.#options.ratePerSecond === undefined) {
      this.#send(client, monotonicMs());
      return;
    }
    const dueMs = this.#due.shift();
    if (dueMs === undefined) this.#idle.push(client);
    else this.#send(client, dueMs);
  }

  #send(client: Client, dueMs: number): void {
    this.#busy.add(client);
    client.sentMs = dueMs;
    client.sawFirstEvent = false;
    client.parser.begin();
    client.connection.write(this.#request);
  }

  #received(client: Client, bytes: Buffer): void {
    const { parser } = client;
    parser.feed(bytes);
    if (this.#options.isStreaming) this.#measureEvents(client);
    if (!parser.isComplete) return;
    const isGood = parser.status >= 200 && parser.status < 300;
    if (!isGood) this.#fail(`status ${parser.status}: ${parser.body.slice(0, 300)}`);
    else {
      this.#failuresInRow = 0;
      this.#allCompleted += 1;
      if (this.#isMeasuring) {
        this.#completed += 1;
        this.#latency.add((monotonicMs() - client.sentMs) * 1000);
        if (this.#options.isStreaming) this.#lost += parser.missingEvents();
      }
    }
    if (parser.mustClose) {
      this.#busy.delete(client);
      client.connection.close();
      this.#open();
    } else this.#free(client);
  }

  #measureEvents(client: Client): void {
    const { parser } = client;
    if (!this.#isMeasuring) {
      client.sawFirstEvent ||= parser.sentTimesMs.length > 0;
      parser.sentTimesMs.length = 0;
      return;
    }
    const nowMs = monotonicMs();
    for (const sentMs of parser.sentTimesMs) {
      this.#events += 1;
      this.#eventDelay.add((nowMs - sentMs) * 1000);
      if (!client.sawFirstEvent) this.#firstEvent.add((nowMs - client.sentMs) * 1000);
      client.sawFirstEvent = true;
    }
    parser.sentTimesMs.length = 0;
    this.#doubled += parser.takeDoubled();
  }

  #closed(client: Client): void {
    if (this.#busy.delete(client)) this.#fail("the connection closed before the reply was complete");
    else if (!this.#isStopping) this.#fail("the connection was closed or refused");
    if (this.#failuresInRow < MAX_FAILURES && !this.#isStopping) this.#open();
  }

  #fail(reason: string): void {
    this.#firstFailure ??= reason;
    this.#failuresInRow += 1;
    if (this.#isMeasuring) this.#failed += 1;
  }

  #result(seconds: number): LoadResult {
    const { isStreaming } = this.#options;
    return {
      completed: this.#completed,
      allCompleted: this.#allCompleted,
      failed: this.#failed,
      seconds,
      requestsPerSecond: this.#completed / seconds,
      latencyUs: quantiles(this.#latency),
      eventDelayUs: isStreaming ? quantiles(this.#eventDelay) : undefined,
      firstEventUs: isStreaming ? quantiles(this.#firstEvent) : undefined,
      events: this.#events,
      lostEvents: this.#lost,
      doubledEvents: this.#doubled,
      lateRequests: this.#late,
      unfinishedRequests: this.#unfinished,
      firstFailure: this.#firstFailure,
    };
  }
}

function quantiles(histogram: Histogram): Quantiles {
  const at = (quantile: number): number => Math.round(histogram.quantileUs(quantile) * 10) / 10;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: Math.round(histogram.maxUs) };
}
