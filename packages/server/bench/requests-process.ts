/**
 * Repeats one HTTP request over raw sockets, one in flight on each connection, or opens connections whose head never
 * ends. A connection that the control plane closes is opened again.
 */
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { tellParent } from "./messages.ts";
import type { RepeatedConfig } from "./messages.ts";

const config = JSON.parse(process.argv[2] ?? "{}") as RepeatedConfig;
const latenciesMs: number[] = [];
const statuses: Record<string, number> = {};
let isOver = false;

function requestBytes({ port, token, request }: RepeatedConfig): Buffer {
  const { method, target, body = { before: "", item: "", count: 0, after: "" } } = request;
  const items = Array.from({ length: body.count }, (_, index) => body.item.replace("#", String(index)));
  const text = body.before + items.join(",") + body.after;
  const head = [
    `${method} ${target} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    ...(token === null ? [] : [`Authorization: Bearer ${token}`]),
    ...(text === "" ? [] : ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(text)}`]),
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${text}`);
}

const bytes = requestBytes(config);

/** One connection. Resolves when it is closed. */
function run(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = connect(config.port, "127.0.0.1");
  let sentAtMs = 0;
  let received = "";
  const send = (): void => {
    if (isOver) return void socket.destroy();
    sentAtMs = performance.now();
    socket.write(bytes);
  };
  socket.setNoDelay(true);
  socket.setEncoding("latin1");
  socket.on("data", (text) => {
    received += String(text);
    if (!isWhole(received)) return;
    const status = received.slice(9, 12);
    statuses[status] = (statuses[status] ?? 0) + 1;
    latenciesMs.push(performance.now() - sentAtMs);
    received = "";
    if (config.pauseMs === 0) send();
    else setTimeout(send, config.pauseMs);
  });
  socket.on("error", () => socket.destroy());
  socket.on("close", () => resolve());
  socket.on("connect", send);
  return promise;
}

/** A connection that sends its head byte by byte and never ends it. */
function drip(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const socket = connect(config.port, "127.0.0.1", () => socket.write("GET /healthz HTTP/1.1\r\nX: "));
  const timer = setInterval(() => {
    if (isOver) socket.destroy();
    else if (!socket.destroyed) socket.write("x");
  }, 1_000);
  socket.on("error", () => socket.destroy());
  socket.on("close", () => {
    clearInterval(timer);
    resolve();
  });
  return promise;
}

function isWhole(text: string): boolean {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return false;
  const length = /content-length: (\d+)/i.exec(text)?.[1];
  return length !== undefined && text.length >= headEnd + 4 + Number(length);
}

async function lane(): Promise<void> {
  while (!isOver) {
    await (config.isSlowHead ? drip() : run());
    await sleep(10);
  }
}

process.once("message", () => {
  isOver = true;
});
await Promise.all(Array.from({ length: config.connections }, lane));
const sorted = latenciesMs.toSorted((left, right) => left - right);
const at = (share: number): number | null =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
tellParent({ statuses, count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: sorted.at(-1) ?? null });
process.disconnect?.();
