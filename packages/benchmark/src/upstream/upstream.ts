/**
 * A mock of an OpenAI-compatible engine. It reads whole requests and answers immediately: with JSON and usage or, if
 * the request says `"stream": true`, with a stream of events at a fixed interval. Each event carries its number and its
 * sending time, so that a client can find lost and duplicate events and measure the delay. `GET /bench/stats` returns
 * its counters.
 */
import { monotonicMs, type Connection, type Handlers, type Sockets } from "../sockets/sockets.ts";

export interface UpstreamOptions {
  readonly port: number;
  /** Time before a reply, or before a stream's first event. */
  readonly delayMs: number;
  readonly eventsPerStream: number;
  readonly eventIntervalMs: number;
}

interface Stream {
  readonly connection: Connection;
  dueMs: number;
  sent: number;
}

interface Exchange {
  /** Bytes of the request's head that have arrived. Undefined while its body arrives. */
  head: Buffer | undefined;
  bodyLeft: number;
  /** The body so far, as far as needed to see whether it asks for a stream. */
  asksForStream: boolean;
  stream: Stream | undefined;
  isAnswering: boolean;
}

const END_OF_HEAD = Buffer.from("\r\n\r\n");
const STREAM_FLAGS = [Buffer.from('"stream":true'), Buffer.from('"stream": true')];
const OPTION_BYTES = 2048;
/** Maximum size of a request's head. */
const MAX_HEAD_BYTES = 65_536;

const reply = JSON.stringify({
  id: "chatcmpl-bench",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "bench",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "The quick brown fox jumps over the lazy dog. ".repeat(3).trim() },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  usage: { prompt_tokens: 100, completion_tokens: 30, total_tokens: 130 },
  system_fingerprint: "bench",
});
const jsonReply = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${reply.length}\r\n\r\n${reply}`,
);
const streamHead = Buffer.from(
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n",
);

function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

function event(number: number): string {
  return `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}],"bench":{"n":${number},"t":${monotonicMs().toFixed(3)}}}\n\n`;
}

function lastEvents(events: number): string {
  const usage = { prompt_tokens: 100, completion_tokens: events, total_tokens: 100 + events };
  const final = { id: "chatcmpl-bench", object: "chat.completion.chunk", created: 1_700_000_000, model: "bench" };
  const stop = { ...final, choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage };
  return `data: ${JSON.stringify(stop)}\n\ndata: [DONE]\n\n`;
}

export class Upstream {
  readonly #sockets: Sockets;
  readonly #options: UpstreamOptions;
  readonly #streams = new Set<Stream>();
  readonly #delayed: { connection: Connection; dueMs: number }[] = [];
  #requests = 0;
  #streamsStarted = 0;
  #streamsCompleted = 0;
  #cancelled = 0;

  constructor(sockets: Sockets, options: UpstreamOptions) {
    this.#sockets = sockets;
    this.#options = options;
  }

  listen(): Promise<number> {
    const handlers: Handlers = {
      opened: (connection) => {
        connection.state = newExchange();
      },
      received: (connection, bytes) => this.#received(connection, bytes),
      closed: (connection) => this.#closed(connection),
    };
    return this.#sockets.listen(this.#options.port, handlers);
  }

  /** Sends all events that are due. */
  tick(): void {
    const nowMs = monotonicMs();
    for (const stream of this.#streams) if (stream.dueMs <= nowMs) this.#sendEvents(stream, nowMs);
    while (this.#delayed[0] !== undefined && this.#delayed[0].dueMs <= nowMs) {
      const { connection } = this.#delayed.shift() as { connection: Connection };
      if (connection.isOpen) this.#answer(connection, connection.state as Exchange);
    }
  }

  #received(connection: Connection, bytes: Buffer): void {
    const exchange = connection.state as Exchange;
    let rest = bytes;
    while (rest.length > 0 && connection.isOpen) {
      if (exchange.bodyLeft > 0) {
        const body = rest.subarray(0, exchange.bodyLeft);
        exchange.bodyLeft -= body.length;
        rest = rest.subarray(body.length);
        exchange.asksForStream ||= asksForStream(body);
      } else {
        rest = this.#receivedHead(connection, exchange, rest);
        if (exchange.head !== undefined) return;
      }
      if (exchange.bodyLeft === 0) this.#complete(connection, exchange);
    }
  }

  /** Takes in bytes of a request's head. When the head is complete, clears `head` and returns the bytes after it. */
  #receivedHead(connection: Connection, exchange: Exchange, bytes: Buffer): Buffer {
    const before = exchange.head ?? Buffer.alloc(0);
    const head = before.length === 0 ? bytes : Buffer.concat([before, bytes]);
    const end = head.indexOf(END_OF_HEAD);
    if (end < 0) {
      if (head.length > MAX_HEAD_BYTES) connection.close();
      exchange.head = Buffer.from(head);
      return bytes.subarray(bytes.length);
    }
    const text = head.toString("latin1", 0, end);
    exchange.head = undefined;
    if (text.startsWith("GET ")) {
      this.#get(connection, text);
      exchange.head = Buffer.alloc(0);
      return head.subarray(head.length);
    }
    const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1];
    if (length === undefined) {
      connection.write(Buffer.from("HTTP/1.1 411 Length Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
      connection.close();
    }
    exchange.bodyLeft = Number(length ?? 0);
    exchange.asksForStream = false;
    return head.subarray(end + 4);
  }

  #get(connection: Connection, head: string): void {
    const body = head.startsWith("GET /bench/stats")
      ? JSON.stringify({
          requests: this.#requests,
          streamsStarted: this.#streamsStarted,
          streamsCompleted: this.#streamsCompleted,
          openStreams: this.#streams.size,
          cancelled: this.#cancelled,
        })
      : JSON.stringify({ object: "list", data: [{ id: "bench", object: "model", created: 0, owned_by: "bench" }] });
    const lines = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    connection.write(Buffer.from(lines));
  }

  #complete(connection: Connection, exchange: Exchange): void {
    this.#requests += 1;
    exchange.isAnswering = true;
    if (this.#options.delayMs === 0) this.#answer(connection, exchange);
    else this.#delayed.push({ connection, dueMs: monotonicMs() + this.#options.delayMs });
  }

  #answer(connection: Connection, exchange: Exchange): void {
    if (!exchange.asksForStream) {
      exchange.isAnswering = false;
      connection.write(jsonReply);
      return;
    }
    this.#streamsStarted += 1;
    connection.write(streamHead);
    exchange.stream = { connection, dueMs: monotonicMs(), sent: 0 };
    this.#streams.add(exchange.stream);
  }

  #sendEvents(stream: Stream, nowMs: number): void {
    const { eventsPerStream, eventIntervalMs } = this.#options;
    stream.connection.write(Buffer.from(chunk(event(stream.sent))));
    stream.sent += 1;
    stream.dueMs = Math.max(stream.dueMs + eventIntervalMs, nowMs - eventIntervalMs);
    if (stream.sent < eventsPerStream) return;
    stream.connection.write(Buffer.from(`${chunk(lastEvents(eventsPerStream))}0\r\n\r\n`));
    this.#streams.delete(stream);
    this.#streamsCompleted += 1;
    const exchange = stream.connection.state as Exchange;
    exchange.stream = undefined;
    exchange.isAnswering = false;
  }

  #closed(connection: Connection): void {
    const exchange = connection.state as Exchange;
    if (exchange.isAnswering) this.#cancelled += 1;
    if (exchange.stream !== undefined) this.#streams.delete(exchange.stream);
  }
}

/**
 * Whether the body requests a stream. Only its start and end are searched: clients put their options before or after
 * the messages.
 */
function asksForStream(body: Buffer): boolean {
  const first = body.subarray(0, OPTION_BYTES);
  const last = body.subarray(Math.max(body.length - OPTION_BYTES, 0));
  return STREAM_FLAGS.some((flag) => first.includes(flag) || last.includes(flag));
}

function newExchange(): Exchange {
  return {
    head: Buffer.alloc(0),
    bodyLeft: 0,
    asksForStream: false,
    stream: undefined,
    isAnswering: false,
  };
}
