import { once } from "node:events";
import { createServer, request } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { finished } from "node:stream/promises";
import { ProblemError } from "@headroom/protocol";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Streams } from "./stream-reply.ts";
import type { StreamTarget } from "./stream-reply.ts";

const PIECE = "x".repeat(32 * 1024);
let server: Server;
let streams: Streams;
let responses: ServerResponse[];
let readers: IncomingMessage[];

/** Generates text without end, as fast as it is read. */
async function* endless(signal: AbortSignal): AsyncGenerator<string> {
  while (!signal.aborted) yield PIECE;
}

beforeEach(async () => {
  responses = [];
  readers = [];
  server = createServer((incoming, response) => {
    responses.push(response);
    streams
      .send(
        { request: incoming, response },
        ({ signal }) => Promise.resolve(endless(signal)),
        () => undefined,
      )
      .catch((error: unknown) => response.writeHead(error instanceof ProblemError ? error.problem.status : 500).end());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterEach(async () => {
  for (const reader of readers) reader.destroy();
  await once(server.close(), "close");
});

async function openReader(): Promise<IncomingMessage> {
  const outgoing = request({ port: (server.address() as AddressInfo).port, agent: false });
  outgoing.end();
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  readers.push(incoming);
  // A reader that is disconnected to admit another one sees a broken connection.
  incoming.on("error", () => undefined);
  return incoming;
}

describe("clients that do not read", () => {
  beforeEach(() => {
    streams = new Streams({ openMax: 2, givesWayMs: 100 });
  });

  it("have one piece waiting for them at most", async () => {
    await openReader();
    await expect.poll(() => responses[0]?.writableNeedDrain).toBe(true);
    // The kernel buffers some megabytes. Beyond that, data must not accumulate in this process.
    expect(responses[0]?.writableLength).toBeLessThan(4 * PIECE.length);
  });

  it("give way to a new client when all places are taken, the one that was stalled for longest first", async () => {
    const first = await openReader();
    await expect.poll(() => responses[0]?.writableNeedDrain).toBe(true);
    await openReader();
    await expect.poll(() => responses[1]?.writableNeedDrain).toBe(true);
    await expect.poll(async () => (await openReader()).statusCode).toBe(200);
    expect(streams.openCount).toBe(2);
    expect(responses[0]?.destroyed).toBe(true);
    expect(responses[1]?.destroyed).toBe(false);
    expect(first.complete).toBe(false);
  });
});

describe("32 clients that read as fast as they can", () => {
  /** Pieces of each client's stream. */
  const PIECES = 100;
  const CLIENTS = 32;

  it("leave the event loop to others after every few pieces", async () => {
    streams = new Streams();
    let nowMs = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    // The largest number of pieces between two turns of the event loop. Each piece takes 1 ms of the test's clock.
    let run = 0;
    let longest = 0;
    let isDone = false;
    const turn = (): void => {
      run = 0;
      if (!isDone) setImmediate(turn);
    };
    async function* pieces(): AsyncGenerator<string> {
      for (let sent = 0; sent < PIECES; sent++) {
        await Promise.resolve();
        nowMs += 1;
        longest = Math.max(longest, ++run);
        yield "x\n";
      }
    }
    const written: number[] = Array.from({ length: CLIENTS }, () => 0);
    const send = async (client: number): Promise<void> => {
      const response = Object.assign(new PassThrough(), { writeHead: () => undefined, flushHeaders: () => undefined });
      response.on("data", (chunk: Buffer) => {
        written[client] = (written[client] ?? 0) + chunk.length;
      });
      const target = { request: { headers: {} }, response } as unknown as StreamTarget;
      await streams.send(
        target,
        () => Promise.resolve(pieces()),
        () => undefined,
      );
      await finished(response);
    };
    setImmediate(turn);
    try {
      await Promise.all(Array.from({ length: CLIENTS }, (_, client) => send(client)));
    } finally {
      isDone = true;
      clock.mockRestore();
    }
    expect(new Set(written)).toEqual(new Set([2 * PIECES]));
    // At the start, every stream has its first piece ready. Then two milliseconds of work end the turn.
    expect(longest).toBeLessThanOrEqual(CLIENTS + 3);
  });
});

describe("clients that were never stalled for long", () => {
  it("keep their places, and a new one is refused", async () => {
    streams = new Streams({ openMax: 2, givesWayMs: 600_000 });
    for (const reader of [await openReader(), await openReader()]) reader.resume();
    for (let attempt = 0; attempt < 3; attempt++) expect((await openReader()).statusCode).toBe(429);
    expect(streams.openCount).toBe(2);
  });
});
