/**
 * Streams to clients: NDJSON, or server-sent events for those that accept nothing else. A slow client slows its own source
 * down and nothing else; one that reads nothing for a minute is let go, and so is every client when the server closes.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { ProblemError, refuse } from "@headroom/protocol";
import { mapProblem } from "./problem-mapping.ts";

/** Streams open at once, over all clients: each costs a position and a few timers. */
export const STREAMS_MAX = 256;
/** Shows a client that went away without a word, and keeps proxies from closing a quiet stream. */
const HEARTBEAT_MS = 15_000;
/** A client that takes nothing for so long is gone or stuck. */
const STALLED_MS = 60_000;

type Format = "ndjson" | "sse";

/** What the stream is asked for and where it goes. */
export interface StreamTarget {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class Streams {
  readonly #open = new Set<AbortController>();

  get openCount(): number {
    return this.#open.size;
  }

  /** `source` may refuse by throwing: then nothing was written yet and the caller answers with the problem. */
  async send(
    target: StreamTarget,
    source: (signal: AbortSignal) => Promise<AsyncIterable<{ readonly sequence?: number }>>,
    begin: () => void,
  ): Promise<void> {
    const format = acceptedFormat(target.request.headers.accept);
    if (this.#open.size >= STREAMS_MAX) {
      throw refuse("tooManyStreams", `${STREAMS_MAX} streams are open. Close one, or try again in a moment.`);
    }
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    this.#open.add(controller);
    target.response.once("close", abort);
    try {
      const items = await source(controller.signal);
      begin();
      await pump(target.response, items, format, controller.signal);
    } finally {
      this.#open.delete(controller);
      target.response.off("close", abort);
    }
  }

  /** Each is told so: a stream that just ended would read as if there were nothing more to tell. */
  closeAll(): void {
    const detail = "The control plane is shutting down; go on from here when it runs again.";
    for (const controller of this.#open) controller.abort(refuse("closing", detail));
  }
}

function acceptedFormat(accept = "*/*"): Format {
  if (/application\/(?:x-ndjson|ndjson|json|\*)|\*\/\*/.test(accept)) return "ndjson";
  if (accept.includes("text/event-stream")) return "sse";
  throw refuse("notAcceptable", "Streams are application/x-ndjson or text/event-stream.");
}

async function pump(
  response: ServerResponse,
  items: AsyncIterable<{ readonly sequence?: number }>,
  format: Format,
  signal: AbortSignal,
): Promise<void> {
  response.writeHead(200, {
    "content-type": format === "ndjson" ? "application/x-ndjson; charset=utf-8" : "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    // Proxies that buffer would hold a live stream back.
    "x-accel-buffering": "no",
  });
  response.flushHeaders();
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(format === "ndjson" ? "\n" : ":\n\n");
  }, HEARTBEAT_MS);
  try {
    for await (const item of items) {
      if (signal.aborted) break;
      if (!response.write(frame(item, format))) await drained(response, signal);
    }
  } catch (error) {
    if (!signal.aborted) response.write(problemFrame(error, format));
  } finally {
    clearInterval(heartbeat);
    if (signal.reason instanceof ProblemError) response.write(problemFrame(signal.reason, format));
    response.end();
  }
}

function frame(item: { readonly sequence?: number }, format: Format): string {
  const json = JSON.stringify(item);
  if (format === "ndjson") return `${json}\n`;
  return item.sequence === undefined ? `data: ${json}\n\n` : `id: ${item.sequence}\ndata: ${json}\n\n`;
}

function problemFrame(error: unknown, format: Format): string {
  const json = JSON.stringify({ problem: mapProblem(error).problem });
  return format === "ndjson" ? `${json}\n` : `event: problem\ndata: ${json}\n\n`;
}

/** Resolves when the client has taken what was written, or is gone. */
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
