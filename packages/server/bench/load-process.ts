/**
 * Submits workloads over raw sockets, one request in flight on each connection. Raw sockets use less CPU than any HTTP
 * client, so that a machine of two cores shows the limit of the control plane and not of the client.
 */
import { connect } from "node:net";
import type { Socket } from "node:net";
import { tellParent } from "./messages.ts";
import type { LoadConfig } from "./messages.ts";

const DIGITS = 10;
const BUCKET_MS = 0.1;
const BUCKETS = 20_000;

const config = JSON.parse(process.argv[2] ?? "{}") as LoadConfig;
const latencies = new Uint32Array(BUCKETS + 1);
let nextNumber = 0;
let acknowledgedCount = 0;
let refusedCount = 0;
let latencyMaxMs = 0;
let isOver = false;

/**
 * A request with a number in the workload's name and in the idempotency key. Only the digits of this number change
 * between requests.
 */
class RequestTemplate {
  readonly #bytes: Buffer;
  readonly #places: number[] = [];

  constructor({ port, token }: LoadConfig) {
    const mark = "#".repeat(DIGITS);
    const body = JSON.stringify({
      kind: "train",
      name: `load-${mark}`,
      run: "torchrun --nnodes $NNODES --nproc-per-node $NPROC_PER_NODE train.py --config llama.yaml",
      env: { NCCL_DEBUG: "WARN", OMP_NUM_THREADS: "8" },
      gang: { workers: 1, accelerators: 8, coresMilli: 64_000, memoryMib: 262_144 },
      acceleratorTypes: ["H100"],
      walltimeMs: 3_600_000,
    });
    const head = [
      "POST /v1/workloads HTTP/1.1",
      `Host: 127.0.0.1:${port}`,
      `Authorization: Bearer ${token}`,
      "Content-Type: application/json",
      `Idempotency-Key: key-${process.pid}-${mark}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    const text = `${head.join("\r\n")}\r\n\r\n${body}`;
    this.#bytes = Buffer.from(text, "latin1");
    for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + DIGITS)) this.#places.push(at);
  }

  numbered(number: number): Buffer {
    const digits = String(number).padStart(DIGITS, "0");
    const bytes = Buffer.from(this.#bytes);
    for (const place of this.#places) bytes.write(digits, place, "latin1");
    return bytes;
  }
}

const template = new RequestTemplate(config);

function run(socket: Socket): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let sentAtMs = 0;
  let received = "";
  const send = (): void => {
    sentAtMs = performance.now();
    socket.write(template.numbered(nextNumber++));
  };
  socket.setNoDelay(true);
  socket.setEncoding("latin1");
  socket.on("data", (text) => {
    received += String(text);
    if (!isWhole(received)) return;
    record(received, performance.now() - sentAtMs);
    received = "";
    if (isOver) socket.end(resolve);
    else if (config.pauseMs === undefined) send();
    else setTimeout(send, config.pauseMs);
  });
  socket.on("error", reject);
  socket.on("connect", send);
  return promise;
}

function isWhole(text: string): boolean {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return false;
  const length = /content-length: (\d+)/i.exec(text)?.[1];
  return length !== undefined && text.length >= headEnd + 4 + Number(length);
}

function record(answer: string, latencyMs: number): void {
  if (answer.startsWith("HTTP/1.1 201")) acknowledgedCount++;
  else refusedCount++;
  const bucket = Math.min(BUCKETS, Math.floor(latencyMs / BUCKET_MS));
  latencies[bucket] = (latencies[bucket] as number) + 1;
  latencyMaxMs = Math.max(latencyMaxMs, latencyMs);
}

function percentile(share: number): number {
  const total = latencies.reduce((sum, value) => sum + value, 0);
  let below = 0;
  for (let bucket = 0; bucket <= BUCKETS; bucket++) {
    below += latencies[bucket] as number;
    if (below >= total * share) return (bucket + 1) * BUCKET_MS;
  }
  return Infinity;
}

const beganMs = performance.now();
const sockets = Array.from({ length: config.connections }, () => connect(config.port, "127.0.0.1"));
const end = setTimeout(() => {
  isOver = true;
}, config.durationMs);
process.once("message", () => {
  clearTimeout(end);
  isOver = true;
});
await Promise.all(sockets.map(run));
tellParent({
  acknowledgedCount,
  refusedCount,
  elapsedMs: performance.now() - beganMs,
  latencyP50Ms: percentile(0.5),
  latencyP99Ms: percentile(0.99),
  latencyMaxMs,
});
process.disconnect?.();
