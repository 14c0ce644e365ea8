/** Clients without a key, and clients that send more than others, do not take what others need. */
import { hash } from "node:crypto";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { tlsIn } from "../testing/certificate.ts";
import { MockUpstream } from "../testing/mock-upstream.ts";
import { chat, testGateway, type TestGateway } from "../testing/test-gateway.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function start(bounds: string, more = ""): Promise<{ gateway: TestGateway; mock: MockUpstream }> {
  const mock = new MockUpstream();
  await mock.start();
  cleanups.push(() => mock.kill());
  const gateway = await testGateway(
    `${more}bounds: { shutdownTimeout: 1s, ${bounds} }\n` +
      `teams: [{ name: a, keys: [{ sha256: ${hash("sha256", "ka")} }] }, { name: b, keys: [{ sha256: ${hash("sha256", "kb")} }] }]\n` +
      `pools: [{ name: p, engine: vllm, replicas: [${mock.url}] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
  cleanups.push(() => gateway.stop());
  return { gateway, mock };
}

/** A client on a bare socket that keeps what it gets. */
class Client {
  readonly socket: Socket;
  text = "";
  isClosed = false;

  constructor(gateway: TestGateway) {
    this.socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    this.socket.on("error", () => undefined);
    this.socket.on("data", (chunk: Buffer) => (this.text += chunk.toString("latin1")));
    this.socket.on("close", () => (this.isClosed = true));
    cleanups.push(() => this.socket.destroy());
  }

  send(text: string): this {
    this.socket.write(text);
    return this;
  }

  async answers(text: string): Promise<void> {
    await expect.poll(() => this.text, { interval: 2 }).toContain(text);
  }
}

describe("bodies without a key", () => {
  const paths = ["/health", "/health?x=1", "/v2/health/live", "/v2/health/ready"];
  const framings = ["content-length: 1", "content-length: 16000000", "transfer-encoding: chunked"];
  const methods = ["GET", "POST", "PUT", "DELETE"];
  const cases = paths.flatMap((target) =>
    framings.flatMap((framing) => methods.map((method) => `${method} ${target} HTTP/1.1\r\nhost: a\r\n${framing}`)),
  );

  it("are refused before a byte of them is read", async () => {
    const { gateway } = await start("bodies: 1MiB");
    for (const head of cases) {
      const client = new Client(gateway).send(`${head}\r\n\r\n`);
      await client.answers("HTTP/1.1 400 ");
      expect(client.text).toContain("takes no body");
      client.socket.destroy();
    }
    expect((await fetch(`${gateway.url}/health`)).status).toBe(200);
  });

  it("do not take the memory of those with one", async () => {
    const { gateway } = await start("body: 1MiB, bodies: 2MiB");
    const strangers = Array.from({ length: 64 }, () => new Client(gateway));
    for (const stranger of strangers) {
      stranger.send("POST /health HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n");
      stranger.send("x".repeat(100_000));
    }
    await Promise.all(strangers.map((stranger) => stranger.answers("HTTP/1.1 400 ")));
    expect((await chat(gateway.url, {}, "ka")).status).toBe(200);
  });
});

describe("the memory for bodies", () => {
  it("has room for a team when another one sends as much as it can", async () => {
    const { gateway } = await start("body: 1MiB, bodies: 2MiB");
    const head = (key: string): string =>
      `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\ncontent-length: 1000000\r\n\r\n`;
    const greedy = Array.from({ length: 64 }, () => new Client(gateway).send(head("ka") + "x".repeat(200_000)));
    await expect.poll(() => greedy.filter(({ text }) => text.includes(" 503 ")).length).toBeGreaterThan(50);
    for (let at = 0; at < 3; at++) {
      const content = "y ".repeat(50_000);
      expect((await chat(gateway.url, { messages: [{ role: "user", content }] }, "kb")).status).toBe(200);
    }
  });
});

describe("the table of connections", () => {
  it("gives the places of idle strangers to clients with a key", async () => {
    const { gateway } = await start("connections: 20");
    const known = new Client(gateway).send("GET /v1/models HTTP/1.1\r\nhost: a\r\nx-api-key: ka\r\n\r\n");
    await known.answers("200 OK");
    const strangers = Array.from({ length: 100 }, (_, at) => {
      const stranger = new Client(gateway);
      if (at % 3 === 1) stranger.send("GET /health HT");
      if (at % 3 === 2) stranger.send("GET /health HTTP/1.1\r\nhost: a\r\n\r\n");
      return stranger;
    });
    await expect.poll(() => strangers.filter(({ isClosed }) => isClosed).length).toBeGreaterThanOrEqual(90);
    for (let at = 0; at < 30; at++) {
      const client = new Client(gateway).send(
        "GET /v1/models HTTP/1.1\r\nhost: a\r\nx-api-key: kb\r\nconnection: close\r\n\r\n",
      );
      await client.answers("200 OK");
    }
    known.text = "";
    await known.send("GET /v1/models HTTP/1.1\r\nhost: a\r\nx-api-key: ka\r\n\r\n").answers("200 OK");
  });

  it("does the same for handshakes that are not completed", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headroom-tls-"));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const { gateway } = await start("connections: 20", tlsIn(folder));
    const strangers = Array.from({ length: 100 }, () => new Client(gateway));
    await expect.poll(() => strangers.filter(({ isClosed }) => isClosed).length).toBeGreaterThanOrEqual(90);
    const port = Number(new URL(gateway.url).port);
    for (let at = 0; at < 5; at++) {
      const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
      cleanups.push(() => socket.destroy());
      let text = "";
      socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
      socket.write("GET /v1/models HTTP/1.1\r\nhost: a\r\nx-api-key: ka\r\n\r\n");
      await expect.poll(() => text).toContain("200 OK");
    }
  });
});

describe("clients that send many requests at once", () => {
  it("wait for each other", async () => {
    const { gateway } = await start("connections: 100");
    const count = 2000;
    const greedy = Array.from({ length: 4 }, () =>
      new Client(gateway).send("GET /health HTTP/1.1\r\nhost: a\r\n\r\n".repeat(count)),
    );
    const answered = (): number => greedy.reduce((sum, { text }) => sum + text.split("HTTP/1.1 200 OK").length - 1, 0);
    const modest = new Client(gateway).send("GET /v1/models HTTP/1.1\r\nhost: a\r\nx-api-key: ka\r\n\r\n");
    await modest.answers("200 OK");
    // The other answers are not all made when the one of the modest client arrives.
    expect(answered()).toBeLessThan(4 * count);
    await expect.poll(answered).toBe(4 * count);
  });
});
