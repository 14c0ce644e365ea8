/**
 * One team's limits shared by four gateway processes. Every few seconds one of them is killed and started again, each in
 * turn, so that the limits get a new holder several times in a minute. Compares the amounts admitted in the worst minute
 * with the limit. `--seconds 75 --kills 8`
 */
import { hash } from "node:crypto";
import type { Socket } from "node:net";
import {
  ask,
  bar,
  FastUpstream,
  freePort,
  numberArgument,
  open,
  report,
  requestBytes,
  startProcess,
  temporaryFolder,
  type GatewayProcess,
} from "./harness.ts";

const seconds = numberArgument("seconds", 75);
const killCount = numberArgument("kills", 8);
const requestLimit = 6000;
const tokenLimit = 100_000;
const folder = temporaryFolder();
const upstream = new FastUpstream();
const url = await upstream.start();
const port = await freePort();
const yaml = `coordinator: 127.0.0.1:${port}
teams:
  - { name: a, keys: [{ sha256: ${hash("sha256", "a")} }], requestsPerMinute: ${requestLimit} }
  - { name: b, keys: [{ sha256: ${hash("sha256", "b")} }], tokensPerMinute: ${tokenLimit} }
pools: [{ name: p, engine: vllm, replicas: [${url}] }]
models: [{ name: m, allowFields: [mock], pools: [p] }]
`;
const start = (at: number): Promise<GatewayProcess> => startProcess(folder.path, yaml, `limits-${at}`);
const gateways = await Promise.all([0, 1, 2, 3].map(start));

interface Admitted {
  readonly atMs: number;
  readonly amount: number;
}
const admitted: Record<string, Admitted[]> = { a: [], b: [] };
const startedMs = performance.now();
const untilMs = startedMs + seconds * 1000;
let requestNumber = 0;

/**
 * More time to reach the limit, because a limit that no load reaches shows nothing. The unused leases of killed gateways
 * stay counted for a minute. A short run can admit no more than the rest before that.
 */
const LONGER_MS = 90_000;
function isOver(): boolean {
  const nowMs = performance.now();
  return nowMs >= untilMs + (admitted["a"]!.length >= requestLimit ? 0 : LONGER_MS);
}

/** A connection to a gateway, opened again after the gateway was killed. Undefined while it is not up. */
async function connected(sockets: (Socket | undefined)[], at: number): Promise<Socket | undefined> {
  const socket = sockets[at];
  if (socket !== undefined && !socket.destroyed && !socket.readableEnded) return socket;
  sockets[at] = await open(gateways[at]!.url).catch(() => undefined);
  return sockets[at];
}

/**
 * Clients move from gateway to gateway, so that a lease is always held by another gateway than the one that needs it.
 */
async function client(key: "a" | "b", at: number): Promise<void> {
  const sockets: (Socket | undefined)[] = [];
  while (!isOver()) {
    const turn = Math.floor(performance.now() / 700) % 4;
    const socket = await connected(sockets, at % 2 === 0 ? turn : at % 4);
    const id = requestNumber++;
    const bytes = requestBytes({ mode: "whole", tokens: 1 + (id % 20), everyMs: 0, id }, key);
    const answer = socket === undefined ? undefined : await ask(socket, bytes);
    // A request that reached the upstream counts, also if its gateway was killed before the client had the response.
    const seen = upstream.seen.get(id);
    if (seen !== undefined)
      admitted[key]!.push({ atMs: seen.arrivedAtMs, amount: key === "a" ? 1 : 10 + (id % 20) + 1 });
    if (answer?.status !== 200) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  for (const socket of sockets) socket?.destroy();
}

async function killInTurn(): Promise<void> {
  for (let kill = 0; kill < killCount; kill++) {
    await new Promise((resolve) => setTimeout(resolve, (seconds * 1000) / (killCount + 1)));
    const at = kill % 4;
    await gateways[at]!.kill();
    gateways[at] = await start(at);
  }
}
await Promise.all([killInTurn(), ...Array.from({ length: 18 }, (_, at) => client(at % 2 === 0 ? "a" : "b", at))]);
const tookS = Math.round((performance.now() - startedMs) / 1000);

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
  `requests a minute: worst minute ${requests} of ${requestLimit} (${((requests / requestLimit - 1) * 100).toFixed(2)}%), ${admitted["a"]!.length} admitted in ${tookS} s`,
);
report(
  `tokens a minute: worst minute ${tokens} of ${tokenLimit} (${((tokens / tokenLimit - 1) * 100).toFixed(2)}%), ${admitted["b"]!.length} requests admitted`,
);
await Promise.all(gateways.map((gateway) => gateway.stop()));
upstream.close();
folder.remove();
bar(requests <= requestLimit * 1.01, `${requests} requests in a minute are more than 1% over ${requestLimit}.`);
bar(tokens <= tokenLimit * 1.01, `${tokens} tokens in a minute are more than 1% over ${tokenLimit}.`);
bar(admitted["a"]!.length >= requestLimit, `only ${admitted["a"]!.length} requests were admitted in ${tookS} s.`);
