/** TLS connections are bounded from the moment they are accepted, so unfinished handshakes cannot use up the process. */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tlsIn } from "../testing/certificate.ts";
import { testGateway, type TestGateway } from "../testing/test-gateway.ts";

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(`${tmpdir()}/headroom-tls-`);
  cleanups.push(() => rmSync(folder, { recursive: true }));
});

async function start(bounds: string): Promise<TestGateway> {
  const gateway = await testGateway(
    `access: open\n${tlsIn(folder)}bounds: { shutdownTimeout: 1s, ${bounds} }\n` +
      "pools: [{ name: p, replicas: ['http://127.0.0.1:9'] }]\nmodels: [{ name: m, pools: [p] }]\n",
  );
  cleanups.push(() => gateway.stop());
  return gateway;
}

const portOf = ({ url }: TestGateway): number => Number(new URL(url).port);

/** A client that connects and sends nothing. */
function silent(gateway: TestGateway): Socket {
  const socket = connect(portOf(gateway), "127.0.0.1");
  socket.on("error", () => undefined);
  cleanups.push(() => void socket.destroy());
  return socket;
}

/** Status of a request over a new TLS connection. 0 if the connection was refused. */
function healthOver(gateway: TestGateway): Promise<number> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connectTls({ port: portOf(gateway), host: "127.0.0.1", rejectUnauthorized: false }, () =>
      socket.write("GET /health HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"),
    );
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)));
  });
}

describe("TLS connections", () => {
  it("in their handshake count towards bounds.connections, and end after headTimeout", async () => {
    const gateway = await start("connections: 5, headTimeout: 5s");
    expect(await healthOver(gateway)).toBe(200);
    const sockets = Array.from({ length: 12 }, () => silent(gateway));
    const closed = (): number => sockets.filter((each) => each.destroyed || each.readableEnded).length;
    for (const each of sockets) each.resume();
    // Strangers get half of the places, and the oldest of them make room for the next one.
    await expect.poll(closed, { timeout: 4500 }).toBe(10);
    expect(await healthOver(gateway)).toBe(200);
    await expect.poll(closed).toBe(12);
    await expect.poll(() => healthOver(gateway)).toBe(200);
  });
});
