/**
 * One team's limits shared by four gateway processes. Compares the amounts admitted in the worst minute with the limit.
 * `--seconds 75`
 */
import { hash } from "node:crypto";
import {
  ask,
  FastUpstream,
  freePort,
  numberArgument,
  open,
  report,
  requestBytes,
  startProcess,
  temporaryFolder,
} from "./harness.ts";

const seconds = numberArgument("seconds", 75);
const requestLimit = 6000;
const folder = temporaryFolder();
const upstream = new FastUpstream();
const url = await upstream.start();
const port = await freePort();
const yaml = `coordinator: 127.0.0.1:${port}
teams:
  - { name: a, keys: [{ sha256: ${hash("sha256", "a")} }], requestsPerMinute: ${requestLimit} }
  - { name: b, keys: [{ sha256: ${hash("sha256", "b")} }], tokensPerMinute: 100000 }
pools: [{ name: p, engine: vllm, replicas: [${url}] }]
models: [{ name: m, pools: [p] }]
`;
const gateways = await Promise.all([0, 1, 2, 3].map((at) => startProcess(folder.path, yaml, `limits-${at}`)));

interface Admitted {
  readonly atMs: number;
  readonly amount: number;
}
const admitted: Record<string, Admitted[]> = { a: [], b: [] };
const untilMs = performance.now() + seconds * 1000;
let requestNumber = 0;

/**
 * Clients move from gateway to gateway, so that a lease is always held by another gateway than the one that needs it.
 */
async function client(key: "a" | "b", at: number): Promise<void> {
  const sockets = await Promise.all(gateways.map((gateway) => open(gateway.url)));
  while (performance.now() < untilMs) {
    const turn = Math.floor(performance.now() / 700) % 4;
    const socket = sockets[at % 2 === 0 ? turn : at % 4]!;
    const id = requestNumber++;
    const answer = await ask(socket, requestBytes({ mode: "whole", tokens: 1 + (id % 20), everyMs: 0, id }, key));
    if (answer?.status === 200)
      admitted[key]!.push({ atMs: upstream.seen.get(id)!.arrivedAtMs, amount: key === "a" ? 1 : 10 + answer.tokens });
    else await new Promise((resolve) => setTimeout(resolve, 5));
  }
  for (const socket of sockets) socket.destroy();
}
await Promise.all(Array.from({ length: 18 }, (_, at) => client(at % 2 === 0 ? "a" : "b", at)));

function worstMinute(rows: readonly Admitted[]): number {
  const sorted = rows.toSorted((x, y) => x.atMs - y.atMs);
  let worst = 0;
  let sum = 0;
  let from = 0;
  for (const row of sorted) {
    sum += row.amount;
    while (sorted[from]!.atMs <= row.atMs - 60_000) sum -= sorted[from++]!.amount;
    worst = Math.max(worst, sum);
  }
  return worst;
}
const requests = worstMinute(admitted["a"]!);
const tokens = worstMinute(admitted["b"]!);
report(
  `requests a minute: worst minute ${requests} of ${requestLimit} (${((requests / requestLimit - 1) * 100).toFixed(2)}%), ${admitted["a"]!.length} admitted in ${seconds} s`,
);
report(
  `tokens a minute: worst minute ${tokens} of 100000 (${((tokens / 100_000 - 1) * 100).toFixed(2)}%), ${admitted["b"]!.length} requests admitted`,
);
await Promise.all(gateways.map((gateway) => gateway.stop()));
upstream.close();
folder.remove();
if (requests > requestLimit * 1.01 || tokens > 101_000) process.exitCode = 1;
