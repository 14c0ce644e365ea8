/** Ranged reads against servers that answer in unusual ways. The handler of the SDK is a fake that records what it gets. */
import { mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, it } from "vitest";
import { RangeBody, RangeHandler } from "./range-handler.ts";
import { RangeReader } from "./range-reader.ts";

type Request = Parameters<RangeHandler["handle"]>[0];

const BYTES = Buffer.alloc(5_000_000, "0123456789");
let server: Server | null = null;
let reader = new RangeReader();
let dir = "";
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "headroom-ranges-"));
  reader = new RangeReader();
});
const sockets = new Set<Socket>();
let connections = 0;
let usual = 0;
afterEach(async () => {
  await reader.close();
  rmSync(dir, { recursive: true });
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server?.close(resolve));
  [connections, usual] = [0, 0];
});

/** Answers each request by the function, which writes to the socket. */
async function serve(answer: (socket: Socket, from: number, to: number) => void): Promise<RangeHandler> {
  server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    let text = "";
    socket.on("data", (data) => {
      text += data.toString("latin1");
      for (let end = text.indexOf("\r\n\r\n"); end >= 0; end = text.indexOf("\r\n\r\n")) {
        const [, from = "0", to = "0"] = /range: bytes=(\d+)-(\d+)/i.exec(text) ?? [];
        text = text.slice(end + 4);
        answer(socket, Number(from), Number(to) + 1);
      }
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const fake = {
    handle: () => {
      usual += 1;
      return Promise.resolve({ response: { statusCode: 200, headers: {}, body: Readable.from(["usual"]) } });
    },
  };
  return new RangeHandler(fake, { connectTimeoutMs: 2_000, silenceMs: 2_000 }, reader);
}

const requestOf = (from: number, to: number): Request => {
  const { port } = (server as Server).address() as AddressInfo;
  const headers = { host: `127.0.0.1:${port}`, range: `bytes=${from}-${to - 1}` };
  return { method: "GET", protocol: "http:", hostname: "127.0.0.1", port, path: "/b/k", query: {}, headers } as Request;
};

async function read(handler: RangeHandler, from: number, to: number, signal?: AbortSignal): Promise<Buffer> {
  const { response } = await handler.handle(requestOf(from, to), { abortSignal: signal });
  const pieces: Buffer[] = [];
  const body = response.body as Readable;
  if (!(body instanceof RangeBody)) {
    for await (const piece of body) pieces.push(Buffer.from(piece as Uint8Array));
    return Buffer.concat(pieces);
  }
  const file = await open(path.join(dir, `${from}-${to}`), "w+");
  try {
    let bytes = 0;
    for await (const count of body.copyTo(file.fd, 0)) bytes += count;
    expect(bytes).toBe((await file.stat()).size);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

const headOf = (bytes: number, more = ""): string =>
  `HTTP/1.1 206 Partial Content\r\nContent-Length: ${bytes}\r\n${more}\r\n`;
const whole = (socket: Socket, from: number, to: number): void => {
  socket.write(headOf(to - from));
  socket.write(BYTES.subarray(from, to));
};

it("reads ranges over one connection, byte for byte", async () => {
  const handler = await serve(whole);
  for (const [from, to] of [
    [0, 10],
    [3, 4_999_999],
    [1_000_000, 3_000_007],
    [4_999_990, 5_000_000],
  ] as const)
    expect((await read(handler, from, to)).equals(BYTES.subarray(from, to))).toBe(true);
  expect(connections).toBe(1);
  expect(usual).toBe(0);
});

it("reads a body that drips, and one whose head comes byte by byte", async () => {
  const handler = await serve((socket, from, to) => {
    const text = headOf(to - from) + BYTES.subarray(from, to).toString("latin1");
    for (let at = 0; at < text.length; at++) setTimeout(() => socket.write(text.charAt(at), "latin1"), at);
  });
  expect((await read(handler, 0, 20)).toString()).toBe("01234567890123456789");
});

it("opens a new connection after the server closed an idle one", async () => {
  const handler = await serve((socket, from, to) => {
    whole(socket, from, to);
    setTimeout(() => socket.destroy(), 20);
  });
  await read(handler, 0, 10);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect((await read(handler, 0, 10)).toString()).toBe("0123456789");
  expect(connections).toBe(2);
});

it.each([
  ["chunks", "HTTP/1.1 206 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"],
  ["chunks beside a length", "HTTP/1.1 206 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"],
  ["two lengths", "HTTP/1.1 206 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"],
  ["no length", "HTTP/1.1 206 OK\r\n\r\nabc"],
  ["a negative length", "HTTP/1.1 206 OK\r\nContent-Length: -5\r\n\r\n"],
  ["an interim answer", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 206 OK\r\nContent-Length: 1\r\n\r\na"],
  ["a head without end", "x".repeat(40_000)],
  ["no HTTP", "hello\r\n\r\n"],
])("leaves an answer with %s to the SDK", async (_name, text) => {
  const handler = await serve((socket) => socket.write(text));
  expect((await read(handler, 0, 5)).toString()).toBe("usual");
  expect(usual).toBe(1);
});

it("does not use a connection again on which more came than the body", async () => {
  const handler = await serve((socket, from, to) => {
    whole(socket, from, to);
    socket.write("HTTP/1.1 206 OK\r\nContent-Length: 10\r\n\r\nbad bytes!");
  });
  expect((await read(handler, 0, 10)).toString()).toBe("0123456789");
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await read(handler, 0, 10)).toString()).toBe("0123456789");
  expect(connections).toBe(2);
});

it("does not take for an answer what came while the connection was idle", async () => {
  const handler = await serve((socket, from, to) => {
    whole(socket, from, to);
    setTimeout(() => socket.write(`${headOf(10)}bad bytes!`), 20);
  });
  expect((await read(handler, 0, 10)).toString()).toBe("0123456789");
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect((await read(handler, 0, 10)).toString()).toBe("0123456789");
  expect(connections).toBe(2);
});

it("leaves a server to the SDK whose answers never have a plain length", async () => {
  const handler = await serve((socket) => socket.write("HTTP/1.1 206 OK\r\n\r\nabc"));
  for (let count = 0; count < 5; count++) expect((await read(handler, 0, 5)).toString()).toBe("usual");
  expect({ usual, connections }).toEqual({ usual: 5, connections: 3 });
});

it("sends nothing after an abort during the connect", async () => {
  let isAsked = false;
  const handler = await serve(() => (isAsked = true));
  const stop = new AbortController();
  const reading = read(handler, 0, 10, stop.signal);
  stop.abort(new Error("stopped"));
  await expect(reading).rejects.toThrow("stopped");
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(isAsked).toBe(false);
});

it("fails after a cut, with the bytes before it, and at the signal", async () => {
  const handler = await serve((socket, from, to) => {
    socket.write(headOf(to - from));
    socket.write(BYTES.subarray(from, from + 1_000), () => (to < 100_000 ? socket.destroy() : undefined));
  });
  await expect(read(handler, 0, 50_000)).rejects.toThrow("ended early");
  const stop = new AbortController();
  const reading = read(handler, 0, 1_000_000, stop.signal);
  setTimeout(() => stop.abort(new Error("stopped")), 50);
  await expect(reading).rejects.toThrow("stopped");
});

it("gives errors with their text, and keeps the connection", async () => {
  const text = "<Error><Code>PreconditionFailed</Code></Error>";
  const handler = await serve((socket) =>
    socket.write(`HTTP/1.1 412 Precondition Failed\r\nContent-Length: ${text.length}\r\n\r\n${text}`),
  );
  expect((await read(handler, 0, 5)).toString()).toBe(text);
  await read(handler, 0, 5);
  expect(connections).toBe(1);
});

it("sends other requests through the handler of the SDK", async () => {
  const handler = await serve(whole);
  const request = requestOf(0, 5);
  await handler.handle({ ...request, method: "PUT" });
  await handler.handle({ ...request, headers: {} });
  await handler.handle({ ...request, path: "/a\r\nx: y" });
  await handler.handle({ ...request, headers: { ...request.headers, x: "a\nb" } });
  expect(usual).toBe(4);
  expect(connections).toBe(0);
});

it("ends an answer without end that the SDK would read into memory, and no ranged read", async () => {
  await serve((socket) => socket.write("HTTP/1.1 500 Error\r\nTransfer-Encoding: chunked\r\n\r\n"));
  let sent = 0;
  let ended = 0;
  const endless = (): Readable =>
    new Readable({
      read() {
        this.push(Buffer.alloc(1_000_000));
        sent += 1_000_000;
      },
      destroy: (_error, callback) => {
        ended += 1;
        callback(null);
      },
    });
  let statusCode = 200;
  const fake = {
    handle: () => Promise.resolve({ response: { statusCode, headers: {}, body: endless() } }),
  };
  const handler = new RangeHandler(fake, { connectTimeoutMs: 2_000, silenceMs: 2_000 }, reader);
  const list = { ...requestOf(0, 1), headers: {}, query: { "list-type": "2" } } as unknown as Request;
  const { response } = await handler.handle(list);
  await expect((response.body as Readable).toArray()).rejects.toThrow("an answer of more than 8388608 bytes");
  expect(sent).toBeLessThan(20_000_000);
  expect(ended).toBe(1);
  // Its reader bounds it by the range.
  const odd = { ...requestOf(0, 1), query: { versionId: "a b" } } as unknown as Request;
  const readSome = async (asked: Request): Promise<number> => {
    const body = (await handler.handle(asked)).response.body as Readable;
    let bytes = 0;
    for await (const data of body) if ((bytes += (data as Buffer).length) > 10_000_000) break;
    return bytes;
  };
  expect(await readSome(odd)).toBeGreaterThan(10_000_000);
  // The SDK reads the text of an error, also that of a ranged read.
  statusCode = 500;
  for (const asked of [odd, requestOf(0, 1)])
    await expect(readSome(asked)).rejects.toThrow("an answer of more than 8388608 bytes");
  expect(ended).toBe(4);
});
