/**
 * Usage of requests whose clients leave while events are still on their way. Every event that the replica sent counts.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { testGateway, type TestGateway } from "../testing/test-gateway.ts";
import { settleUsage, usageStart } from "../usage/reader.ts";
import type { UsageRecord } from "../usage/record.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/** Chunks with one event each. */
function events(from: number, count: number): string {
  return Array.from({ length: count }, (_, index) => {
    const event = `data: {"choices":[{"index":0,"delta":{"content":"t${from + index} "}}]}\n\n`;
    return `${event.length.toString(16)}\r\n${event}\r\n`;
  }).join("");
}

/** A replica on bare sockets. `asked` is called for each request, `left` when the gateway closes its side. */
async function replica(asked: (socket: Socket) => void, left: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.on("end", () => left(socket));
    socket.on("data", (chunk: Buffer) => {
      if (chunk.toString("latin1", 0, 3) === "GET") socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
      else asked(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(() => resolve()));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function gatewayOver(url: string, more = "", pool = ""): Promise<TestGateway> {
  const gateway = await testGateway(
    `access: open\n${more}pools: [{ name: p, engine: vllm, replicas: ["${url}"]${pool} }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

/** A client on a bare socket that requests a stream, or a whole answer, and reads only when the test says so. */
function client(gateway: TestGateway, isStream = true): Socket {
  const { hostname, port } = new URL(gateway.url);
  const body = JSON.stringify({ model: "m", stream: isStream, messages: [{ role: "user", content: "one two three" }] });
  const socket = connect({ host: hostname, port: Number(port) });
  socket.on("error", () => undefined);
  socket.pause();
  socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  return socket;
}

function firstBytes(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("data", () => resolve());
    socket.resume();
  });
}

function records(gateway: TestGateway): readonly UsageRecord[] {
  return settleUsage(path.join(gateway.state, "gateway", "usage"), usageStart).records;
}

describe("usage of a request whose client left", () => {
  it("counts the events that the replica sends before it hears of it", async () => {
    const url = await replica(
      (socket) => socket.write(head + events(0, 2)),
      (socket) => socket.end(events(2, 7)),
    );
    const gateway = await gatewayOver(url);
    const socket = client(gateway);
    await firstBytes(socket);
    socket.resetAndDestroy();
    await expect.poll(() => records(gateway)).toMatchObject([{ outcome: "aborted", pool: "p", completionTokens: 9 }]);
  });

  it("counts events that come before the first one reached the client", async () => {
    let isAsked = false;
    const url = await replica(
      () => (isAsked = true),
      (socket) => socket.end(head + events(0, 4)),
    );
    const gateway = await gatewayOver(url);
    const socket = client(gateway);
    await expect.poll(() => isAsked).toBe(true);
    socket.destroy();
    await expect.poll(() => records(gateway)).toMatchObject([{ outcome: "aborted", pool: "p", completionTokens: 4 }]);
  });

  it("counts what waits behind a client that does not read", async () => {
    const count = 40_000;
    const url = await replica(
      (socket) => socket.write(head + events(0, count)),
      (socket) => socket.end(),
    );
    const gateway = await gatewayOver(url);
    const socket = client(gateway);
    // By then, the client's socket is full and the gateway has stopped reading.
    await new Promise((resolve) => setTimeout(resolve, 200));
    socket.destroy();
    await expect.poll(() => records(gateway)).toMatchObject([{ outcome: "aborted", completionTokens: count }]);
  });

  it("ends where the replica goes on as if nothing had happened", async () => {
    const url = await replica(
      (socket) => socket.write(head + events(0, 3)),
      () => undefined,
    );
    const gateway = await gatewayOver(url);
    const socket = client(gateway);
    await firstBytes(socket);
    socket.destroy();
    await expect.poll(() => records(gateway)).toMatchObject([{ outcome: "aborted", completionTokens: 3 }]);
  });

  it("is written when the gateway ends and cuts a stream off", async () => {
    const url = await replica(
      (socket) => socket.write(head + events(0, 5)),
      (socket) => socket.end(events(5, 1)),
    );
    const gateway = await gatewayOver(url, "bounds: { shutdownTimeout: 100ms }\n");
    await firstBytes(client(gateway));
    await gateway.close();
    expect(records(gateway)).toMatchObject([{ outcome: "aborted", completionTokens: 6 }]);
  });

  it("of an answer that is no stream is the prompt, and the output only as far as the replica reports it", async () => {
    const answer = '{"choices":[{"message":{"content":"a"}}],"usage":{"prompt_tokens":7,"completion_tokens":9}}';
    const whole = `HTTP/1.1 200 OK\r\ncontent-length: ${answer.length}\r\n\r\n${answer}`;
    for (const [rest, billed] of [
      // The replica cancels the request: nobody knows how many tokens it had produced.
      ["", { completionTokens: 0, isPromptEstimated: true, nanoUsd: expect.any(Number) as number }],
      // The answer was ready before the replica heard of it.
      [whole, { promptTokens: 7, completionTokens: 9, isPromptEstimated: false, nanoUsd: 7000 + 18_000 }],
      [whole.slice(0, -60), { completionTokens: 0, isPromptEstimated: true, nanoUsd: expect.any(Number) as number }],
    ] as const) {
      let isAsked = false;
      const url = await replica(
        () => (isAsked = true),
        (socket) => socket.end(rest),
      );
      const gateway = await gatewayOver(url, "", ", price: { input: 1, output: 2 }");
      const socket = client(gateway, false);
      await expect.poll(() => isAsked).toBe(true);
      socket.destroy();
      await expect
        .poll(() => records(gateway))
        .toMatchObject([{ outcome: "aborted", status: 499, pool: "p", ...billed }]);
      const [record] = records(gateway);
      expect(record!.promptTokens).toBeGreaterThan(0);
      expect(record!.nanoUsd).toBe(1000 * record!.promptTokens + 2000 * record!.completionTokens);
    }
  });
});
