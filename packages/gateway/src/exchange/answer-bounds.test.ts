/** Upstreams whose answers never end: the gateway holds a bounded part of one answer, and of all answers together. */
import { createServer, type ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { testGateway, type TestGateway } from "../testing/test-gateway.ts";

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const KiB = 1024;
const filler = "x".repeat(16 * KiB);
const chunk = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;

class LyingUpstream {
  sentBytes = 0;
  closedCount = 0;
  url = "";

  /** `answer` writes to each request. */
  async start(answer: (response: ServerResponse) => void): Promise<void> {
    const server = createServer((request, response) => {
      if (request.method === "GET") {
        response.end();
        return;
      }
      request.resume();
      response.on("close", () => this.closedCount++);
      request.on("end", () => answer(response));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    cleanups.push(async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    });
  }

  /** Writes `part` again and again until the gateway leaves, at most 64 MiB. */
  flood(response: ServerResponse, part: string): void {
    let goesOn = true;
    while (goesOn && !response.destroyed && this.sentBytes < 64 * KiB * KiB) {
      this.sentBytes += part.length;
      goesOn = response.write(part);
    }
    response.once("drain", () => this.flood(response, part));
  }
}

async function lying(answer: (response: ServerResponse, upstream: LyingUpstream) => void): Promise<LyingUpstream> {
  const upstream = new LyingUpstream();
  await upstream.start((response) => answer(response, upstream));
  return upstream;
}

async function start(upstream: LyingUpstream, bounds: string, engine = "headroom"): Promise<TestGateway> {
  const gateway = await testGateway(
    `access: open\nbounds: { shutdownTimeout: 2s, ${bounds} }\n` +
      `pools: [{ name: p, engine: ${engine}, resume: false, replicas: ["${upstream.url}"] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

const bodies = {
  "/v1/chat/completions": { messages: [{ role: "user", content: "hi" }] },
  "/v1/messages": { max_tokens: 9, messages: [{ role: "user", content: "hi" }] },
  "/v1/responses": { input: "hi" },
} as const;
type Path = keyof typeof bodies;
const paths = Object.keys(bodies) as Path[];

const post = (gateway: TestGateway, path: Path, more: object = {}): Promise<Response> =>
  fetch(gateway.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", ...bodies[path], ...more }),
  });

async function gaugeOf(gateway: TestGateway, name: string): Promise<number> {
  const text = await (await fetch(`${gateway.adminUrl}/metrics`)).text();
  return Number(new RegExp(`^headroom_gateway_${name} (\\d+)$`, "m").exec(text)?.[1]);
}

const heldBytes = (gateway: TestGateway): Promise<number> => gaugeOf(gateway, "answer_bytes");

const eventStream = { "content-type": "text/event-stream" };

describe("an upstream that never ends a line", () => {
  it.each(paths)("gets a 502 in the form of %s if nothing was forwarded, and is left", async (path) => {
    const upstream = await lying((response, self) => {
      response.writeHead(200, eventStream);
      response.write("data: ");
      self.flood(response, filler);
    });
    const gateway = await start(upstream, "answer: 256KiB");
    const response = await post(gateway, path, { stream: true });
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining("larger than the 262144 bytes") as string },
      ...(path === "/v1/messages" ? { type: "error" } : {}),
    });
    await expect.poll(() => upstream.closedCount).toBe(1);
    expect(upstream.sentBytes).toBeLessThan(16 * KiB * KiB);
    expect(await heldBytes(gateway)).toBe(0);
  });

  it.each(paths)("ends a stream of %s that has begun with the protocol's error event", async (path) => {
    const upstream = await lying((response, self) => {
      response.writeHead(200, eventStream);
      response.write(chunk("first"));
      setTimeout(() => {
        response.write("data: ");
        self.flood(response, filler);
      }, 50);
    });
    const gateway = await start(upstream, "answer: 256KiB");
    const text = await (await post(gateway, path, { stream: true })).text();
    expect(text).toContain("first");
    expect(text.length).toBeLessThan(8 * KiB);
    expect(text.trim().split("\n\n").at(-1)).toMatch(
      path === "/v1/chat/completions" ? /^data: \{"error":/ : /^event: error\ndata: \{"type":"error"/,
    );
    expect(text).toContain("larger than the gateway can hold");
    await expect.poll(() => upstream.closedCount).toBe(1);
    expect(await heldBytes(gateway)).toBe(0);
  });
});

describe("an answer without an end", () => {
  it.each(["/v1/messages", "/v1/responses"] as const)("is refused under translation to %s", async (path) => {
    const upstream = await lying((response, self) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"choices":[{"message":{"content":"');
      self.flood(response, filler);
    });
    const gateway = await start(upstream, "answer: 2MiB");
    const response = await post(gateway, path);
    expect(response.status).toBe(502);
    expect(await response.text()).toContain("larger than the 2097152 bytes");
    await expect.poll(() => upstream.closedCount).toBe(1);
    expect(await heldBytes(gateway)).toBe(0);
  });

  it("is refused as a stream whose last event repeats it", async () => {
    const upstream = await lying((response, self) => {
      response.writeHead(200, eventStream);
      self.flood(response, chunk(filler));
    });
    const gateway = await start(upstream, "answer: 1MiB");
    const text = await (await post(gateway, "/v1/responses", { stream: true })).text();
    expect(text.trim().split("\n\n").at(-1)).toMatch(/^event: error/);
    await expect.poll(() => upstream.closedCount).toBe(1);
    expect(await heldBytes(gateway)).toBe(0);
  });
});

describe("answers that their clients do not read", () => {
  it("count while they wait in the sockets", async () => {
    const whole = JSON.stringify({ choices: [{ message: { content: "y".repeat(24 * KiB * KiB) } }] });
    const upstream = await lying((response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(whole);
    });
    const gateway = await start(upstream, "responseBuffer: 32MiB, answer: 32MiB, answers: 40MiB");
    const body = JSON.stringify({ model: "m", ...bodies["/v1/chat/completions"] });
    const ask = (): Socket => {
      const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1").pause();
      cleanups.push(async () => void socket.destroy());
      socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      return socket;
    };
    const sockets = [ask()];
    // The request has ended, and the kernel's buffers have taken what they can.
    await expect.poll(() => upstream.closedCount, { timeout: 10_000 }).toBe(1);
    await expect.poll(() => gaugeOf(gateway, "requests_in_progress"), { timeout: 10_000 }).toBe(0);
    await expect.poll(() => heldBytes(gateway)).toBeGreaterThan(12 * KiB * KiB);
    sockets.push(ask(), ask(), ask());
    // Each answer that finds no room is forwarded as fast as its client reads.
    for (let turn = 0; turn < 20; turn++) {
      expect(await heldBytes(gateway)).toBeLessThan(44 * KiB * KiB);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    sockets.pop()!.destroy();
    const read = sockets.map(
      async (socket) =>
        new Promise<number>((resolve) => {
          let count = 0;
          socket.on("data", (chunk: Buffer) => {
            count += chunk.length;
            if (count > whole.length) resolve(count);
          });
          socket.resume();
        }),
    );
    for (const count of await Promise.all(read)) expect(count).toBeGreaterThan(whole.length);
    await expect.poll(() => heldBytes(gateway)).toBe(0);
  }, 30_000);
});

describe("all answers together", () => {
  it("are bounded: one more is refused with Retry-After, and accepted when the others have ended", async () => {
    const whole = JSON.stringify({ choices: [{ message: { content: "y".repeat(200 * KiB) }, finish_reason: "stop" }] });
    const slow: (() => void)[] = [];
    let requestCount = 0;
    const upstream = await lying((response) => {
      requestCount++;
      response.writeHead(200, { "content-type": "application/json" });
      response.write(whole.slice(0, -10));
      const finish = (): void => void response.end(whole.slice(-10));
      if (requestCount === 1) slow.push(finish);
      else finish();
    });
    const gateway = await start(upstream, "answer: 256KiB, answers: 300KiB");
    const first = post(gateway, "/v1/messages");
    await expect.poll(() => heldBytes(gateway)).toBeGreaterThan(200 * KiB - 1);
    const second = await post(gateway, "/v1/messages");
    expect([second.status, second.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await second.json()).toMatchObject({ type: "error", error: { type: "overloaded_error" } });
    // An answer that need not be held is forwarded in parts.
    expect((await post(gateway, "/v1/chat/completions")).status).toBe(200);
    for (const finish of slow) finish();
    expect((await first).status).toBe(200);
    expect((await post(gateway, "/v1/messages")).status).toBe(200);
    expect(await heldBytes(gateway)).toBe(0);
  });
});
