import { once } from "node:events";
import { createServer, request } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ProblemError } from "@headroom/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Streams } from "./stream-reply.ts";

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

describe("clients that were never stalled for long", () => {
  it("keep their places, and a new one is refused", async () => {
    streams = new Streams({ openMax: 2, givesWayMs: 600_000 });
    for (const reader of [await openReader(), await openReader()]) reader.resume();
    for (let attempt = 0; attempt < 3; attempt++) expect((await openReader()).statusCode).toBe(429);
    expect(streams.openCount).toBe(2);
  });
});
