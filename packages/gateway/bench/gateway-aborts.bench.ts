/**
 * Clients that disconnect at random, in three phases: the time until the upstream notices, and the usage that is
 * billed. `--count 10000`
 */
import path from "node:path";
import { settleUsage, usageStart } from "../src/usage/reader.ts";
import {
  FastUpstream,
  numberArgument,
  open,
  quantile,
  report,
  requestBytes,
  startProcess,
  temporaryFolder,
} from "./harness.ts";

const count = numberArgument("count", 10_000);
const concurrency = 20;
const folder = temporaryFolder();
const upstream = new FastUpstream();
const url = await upstream.start();
const gateway = await startProcess(
  folder.path,
  `access: open\npools: [{ name: p, engine: vllm, replicas: [${url}] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  "aborts",
);

const leftAtMs = new Map<number, number>();
const delaysMs: number[] = [];
let lateCount = 0;
const waiting = new Map<number, () => void>();
upstream.onClosed = (id, request) => {
  const leftAt = leftAtMs.get(id);
  if (leftAt !== undefined) {
    const delay = request.closedAtMs! - leftAt;
    delaysMs.push(delay);
    if (delay > 10) lateCount++;
  }
  waiting.get(id)?.();
};

/**
 * The client disconnects in the middle of a stream, before the first token of a stream, or while it waits for a whole
 * answer.
 */
const phases = [
  (id: number) => ({ mode: "stream", tokens: 10_000, everyMs: 25, id }) as const,
  (id: number) => ({ mode: "stream", tokens: 1, everyMs: 60_000, id }) as const,
  (id: number) => ({ mode: "hang", tokens: 0, everyMs: 0, id }) as const,
];

let next = 0;
async function client(): Promise<void> {
  while (next < count) {
    const id = next++;
    const socket = await open(gateway.url);
    socket.on("data", () => undefined);
    const closed = new Promise<void>((resolve) => waiting.set(id, resolve));
    socket.write(requestBytes(phases[id % 3]!(id)));
    while (!upstream.seen.has(id)) await new Promise((resolve) => setTimeout(resolve, 2));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 150));
    leftAtMs.set(id, performance.now());
    if (id % 2 === 0) socket.resetAndDestroy();
    else socket.destroy();
    await closed;
    waiting.delete(id);
  }
}
await Promise.all(Array.from({ length: concurrency }, client));
await new Promise((resolve) => setTimeout(resolve, 200));
await gateway.stop();

const { records } = settleUsage(path.join(folder.path, "state", "aborts", "usage"), usageStart, { isOver: true });
const byId = new Map(records.map((record) => [record.id, record]));
let worst = 0;
for (const request of upstream.seen.values()) {
  const billed = byId.get(request.requestId)?.completionTokens ?? Number.POSITIVE_INFINITY;
  worst = Math.max(worst, Math.abs(request.sentTokens - billed));
}
report(
  `${delaysMs.length} of ${count} aborts reached the upstream; client to upstream p50 ${quantile(delaysMs, 0.5).toFixed(2)} ms, p99 ${quantile(delaysMs, 0.99).toFixed(2)} ms, max ${Math.max(...delaysMs).toFixed(2)} ms; ${lateCount} later than 10 ms`,
);
report(
  `${records.length} usage records, ${byId.size} requests; largest difference between tokens sent and billed: ${worst}`,
);
upstream.close();
folder.remove();
if (delaysMs.length !== count || worst > 1 || byId.size !== count) process.exitCode = 1;
