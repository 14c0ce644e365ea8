/**
 * Streams to clients, as NDJSON, or as server-sent events for clients that accept nothing else. A slow client pauses
 * only its own source and has one piece in its buffer. A client that reads nothing for a minute is disconnected, or
 * earlier if another client needs its place. It can resume after the last event that it received. Closing the server
 * ends every stream.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { ProblemError, refuse } from "@headroom/protocol";
import { LoopTurns } from "../driver/loop-turns.ts";
import type { EventFormat } from "@headroom/journal";
import { mapProblem } from "./problem-mapping.ts";

/** Maximum number of open streams of all clients. Each stream uses memory for its position, and a few timers. */
export const STREAMS_MAX = 256;
/**
 * Interval of heartbeats in ms. A heartbeat detects clients that are gone, and keeps proxies from closing an idle
 * stream.
 */
const HEARTBEAT_MS = 15_000;
/** Time in ms without reading after which a client is disconnected, because it is gone or stuck. */
const STALLED_MS = 60_000;
/** Time in ms without reading after which a client can lose its place to a new client, if all places are taken. */
const GIVES_WAY_MS = 5_000;

/** Request and response of the stream. */
export interface StreamTarget {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface StreamWanted {
  readonly format: EventFormat;
  /** Aborts when the client disconnects or the server closes. */
  readonly signal: AbortSignal;
}

/** Whole frames, as text or bytes. */
export type StreamPiece = string | Uint8Array;

/** Limits of streams. Tests use smaller ones. */
export interface StreamLimits {
  readonly openMax: number;
  readonly givesWayMs: number;
}

interface OpenStream {
  readonly controller: AbortController;
  readonly response: ServerResponse;
  /** Time since when the client has not read the written data; `null`: it has read all of it. */
  stalledSinceMs: number | null;
}

export class Streams {
  readonly #open = new Set<OpenStream>();
  readonly #turns = new LoopTurns();
  readonly #limits: StreamLimits;

  constructor(limits: StreamLimits = { openMax: STREAMS_MAX, givesWayMs: GIVES_WAY_MS }) {
    this.#limits = limits;
  }

  get openCount(): number {
    return this.#open.size;
  }

  /**
   * Sends a stream. `source` can refuse by throwing an error: at that point nothing has been written, and the caller
   * answers with the problem.
   */
  async send(
    target: StreamTarget,
    source: (wanted: StreamWanted) => Promise<AsyncIterable<StreamPiece>>,
    begin: () => void,
  ): Promise<void> {
    const format = acceptedFormat(target.request.headers.accept);
    const { openMax } = this.#limits;
    if (this.#open.size >= openMax && !this.#disconnectStalled()) {
      throw refuse("tooManyStreams", `${openMax} streams are open. Close one, or try again in a moment.`);
    }
    const { response } = target;
    const stream: OpenStream = { controller: new AbortController(), response, stalledSinceMs: null };
    const { signal } = stream.controller;
    const abort = (): void => stream.controller.abort();
    this.#open.add(stream);
    response.once("close", abort);
    try {
      const pieces = await source({ format, signal });
      begin();
      await this.#pump(stream, pieces, format);
    } finally {
      this.#open.delete(stream);
      response.off("close", abort);
    }
  }

  /** Ends every stream with a reason, because a stream that ends without a reason looks complete. */
  closeAll(): void {
    const detail = "The control plane is shutting down. Continue from here when it runs again.";
    for (const { controller } of this.#open) controller.abort(refuse("closing", detail));
  }

  /**
   * Disconnects the client that has read nothing for the longest time, if that time is long enough. Returns false if
   * there is no such client.
   */
  #disconnectStalled(): boolean {
    const since = (stream: OpenStream): number => stream.stalledSinceMs ?? Infinity;
    const [longest] = [...this.#open].toSorted((left, right) => since(left) - since(right));
    if (longest === undefined || performance.now() - since(longest) < this.#limits.givesWayMs) return false;
    this.#open.delete(longest);
    longest.response.destroy();
    return true;
  }

  async #pump(stream: OpenStream, pieces: AsyncIterable<StreamPiece>, format: EventFormat): Promise<void> {
    const { response, controller } = stream;
    const { signal } = controller;
    const heartbeat = beginStream(response, format);
    try {
      for await (const piece of pieces) {
        await this.#turns.next();
        if (signal.aborted) break;
        if (response.write(piece)) continue;
        stream.stalledSinceMs = performance.now();
        await drained(response, signal);
        stream.stalledSinceMs = null;
      }
    } catch (error) {
      if (!signal.aborted) response.write(problemFrame(error, format));
    } finally {
      clearInterval(heartbeat);
      if (signal.reason instanceof ProblemError) response.write(problemFrame(signal.reason, format));
      response.end();
    }
  }
}

function acceptedFormat(accept = "*/*"): EventFormat {
  if (/application\/(?:x-ndjson|ndjson|json|\*)|\*\/\*/.test(accept)) return "ndjson";
  if (accept.includes("text/event-stream")) return "sse";
  throw refuse("notAcceptable", "Streams have the type application/x-ndjson or text/event-stream.");
}

function beginStream(response: ServerResponse, format: EventFormat): NodeJS.Timeout {
  response.writeHead(200, {
    "content-type": format === "ndjson" ? "application/x-ndjson; charset=utf-8" : "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    // This header stops proxies from buffering, which would delay a live stream.
    "x-accel-buffering": "no",
  });
  response.flushHeaders();
  return setInterval(() => {
    if (!response.writableNeedDrain) response.write(format === "ndjson" ? "\n" : ":\n\n");
  }, HEARTBEAT_MS);
}

/** Writes items without a sequence, each in a frame of its own. */
export async function* framed(items: AsyncIterable<object>, format: EventFormat): AsyncGenerator<string> {
  for await (const item of items) {
    const json = JSON.stringify(item);
    yield format === "ndjson" ? `${json}\n` : `data: ${json}\n\n`;
  }
}

function problemFrame(error: unknown, format: EventFormat): string {
  const json = JSON.stringify({ problem: mapProblem(error).problem });
  return format === "ndjson" ? `${json}\n` : `event: problem\ndata: ${json}\n\n`;
}

/** Resolves when the client has read the written data, or is disconnected. */
function drained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stalled = setTimeout(() => response.destroy(), STALLED_MS);
    const done = (): void => {
      clearTimeout(stalled);
      response.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    response.once("drain", done);
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}
