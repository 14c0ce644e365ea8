/** Requests to a real TLS server. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:https";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { acceptOf } from "./channel-socket.ts";
import { Connection } from "./connection.ts";
import type { KubernetesObject } from "./objects.ts";
import { Reflector } from "./reflector.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-connection-"));
const [key, cert] = ["key.pem", "certificate.pem"].map((name) => path.join(folder, name)) as [string, string];

beforeAll(() => {
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key];
  execFileSync("openssl", ["req", "-x509", ...curve, "-subj", "/CN=localhost", "-out", cert], { stdio: "ignore" });
});
afterAll(() => rmSync(folder, { recursive: true }));

interface TestServer {
  readonly server: Server;
  readonly connection: Connection;
  /** The times of the first three watches. */
  watches(): Promise<readonly number[]>;
  close(): void;
}

/** A server on which logs never end, lists are empty, and watches end at once. */
async function serve(): Promise<TestServer> {
  const atMs: number[] = [];
  const { promise: watched, resolve } = Promise.withResolvers<void>();
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    const { url = "" } = request;
    if (url.includes("watch=true") && atMs.push(performance.now()) === 3) resolve();
    response.writeHead(200, { "content-type": "application/json" });
    if (url.endsWith("/log")) response.write("a line\n");
    else response.end(url.includes("watch=true") ? "" : '{"metadata":{"resourceVersion":"1"},"items":[]}');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const kubeconfig = path.join(folder, `kubeconfig-${port}`);
  const cluster = { server: `https://127.0.0.1:${port}`, "insecure-skip-tls-verify": true };
  const config = {
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user: { token: "t" } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    "current-context": "x",
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
  const connection = new Connection({ kubeconfig, requestTimeoutMs: 60_000 });
  const close = (): void => {
    connection.close();
    server.closeAllConnections();
    server.close();
  };
  return { server, connection, watches: () => watched.then(() => atMs), close };
}

it("makes calls while any number of logs is followed", async () => {
  const { connection, close } = await serve();
  const stopped = new AbortController();
  const logs = Array.from({ length: 20 }, () =>
    connection.stream({ method: "GET", path: "/log" }, stopped.signal).then((log) => {
      log.on("error", () => {});
      log.resume();
    }),
  );
  await Promise.all(logs);
  expect((await connection.call({ method: "GET", path: "/pods" })).status).toBe(200);
  stopped.abort();
  close();
});

it("pauses between watches that end at once", async () => {
  const { connection, watches, close } = await serve();
  const shared = { keep: (item: KubernetesObject) => item, onChange: () => {} };
  const reflector = new Reflector({ connection, path: "/pods", watchMs: 60_000, ...shared });
  reflector.start();
  const [first = 0, , third = 0] = await watches();
  await reflector.close();
  close();
  // 250 ms and 500 ms; timers may be early by a millisecond.
  expect(third - first).toBeGreaterThan(700);
});

it.each([
  ["a frame of all lengths", [Buffer.of(0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)]],
  ["a message of empty parts", [Buffer.of(0x02, 0), ...Array.from({ length: 200 }, () => Buffer.of(0x00, 0))]],
  ["a long ping", [Buffer.of(0x89, 126, 1, 0), Buffer.alloc(256)]],
  ["a masked frame", [Buffer.of(0x82, 0x81, 0, 0, 0, 0, 1)]],
])("ends the connection of a command alone when the server sends %s", async (_, broken) => {
  const sound = [Buffer.of(0x82, 0), Buffer.of(0x82, 3, 1, 0x6f, 0x6b), Buffer.of(0x82, 1, 255), Buffer.of(0x81, 0)];
  const frames: readonly Buffer[] = [...sound, ...broken];
  const { connection, close, server } = await serve();
  server.on("upgrade", (request, socket) => {
    const accept = acceptOf(String(request.headers["sec-websocket-key"]));
    socket.on("error", () => undefined);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n` +
        "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n",
    );
    socket.write(Buffer.concat(frames));
  });
  try {
    const heard: string[] = [];
    const socket = await connection.socket("/exec", (channel, data) => heard.push(`${channel} ${data.toString()}`));
    await socket.closed;
    expect(heard).toEqual(["1 ok", "255 "]);
    await socket.send(0, Buffer.from("late"));
  } finally {
    connection.close();
    close();
  }
});
