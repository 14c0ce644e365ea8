/**
 * Shares of teams, and batches that fill what is idle, with a gateway process and a mock engine in real time.
 *
 * Shares: two teams with requests in a closed loop, one with ten times the connections and longer answers; the work that each
 * gets at weights 1:1 and 3:1, and without `fair` for comparison. Batches: the same arrivals of streams without and with a
 * batch, in turns; the batch's part of the idle slot time counts lines that ran to their end. `--seconds 20 --rounds 4
 * --slots 32 --load 0.4`
 */
import { hash } from "node:crypto";
import type { Socket } from "node:net";
import { monotonicMs } from "./loop-watch.ts";
import {
  bar,
  measuredBar,
  numberArgument,
  open,
  quantile,
  report,
  startProcess,
  temporaryFolder,
  type GatewayProcess,
} from "./harness.ts";
import { StepEngine, type StepRequest } from "./step-engine.ts";

const seconds = numberArgument("seconds", 20);
const rounds = numberArgument("rounds", 4);
const slots = numberArgument("slots", 32);
const load = numberArgument("load", 0.4);
/** A slot has a token in about this time. */
const TOKEN_MS = 24;
/** Time in which a team catches up that came later. */
const SETTLE_S = 5;
const folder = temporaryFolder();
const engine = new StepEngine(slots);
const engineUrl = await engine.start();

/** Weights of the teams `little` and `much`; `null`: the pool has no queue. */
function yamlOf(weights: readonly [number, number] | null): string {
  const [little, much] = weights ?? [1, 1];
  const fair = weights === null ? "" : `, fair: { concurrency: ${slots} }`;
  const team = (name: string, weight: number): string =>
    `  - { name: ${name}, weight: ${weight}, keys: [{ sha256: ${hash("sha256", name)} }] }\n`;
  return `teams:\n${team("little", little)}${team("much", much)}${team("nightly", 1)}pools: [{ name: p, engine: vllm, replicas: ["${engineUrl}"]${fair} }]
models: [{ name: m, allowFields: [mock], pools: [p] }]
batches: { concurrency: ${4 * slots} }
`;
}

const bodyOf = (mock: StepRequest, isStream: boolean): string =>
  JSON.stringify({
    model: "m",
    stream: isStream,
    max_tokens: mock.outputTokens,
    messages: [{ role: "user", content: "word ".repeat(mock.promptTokens) }],
    mock,
  });

const bytesOf = (mock: StepRequest, isStream: boolean): string => {
  const body = bodyOf(mock, isStream);
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\nauthorization: Bearer ${mock.team}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
};

/** Sends a request. Resolves with the time to the first token at the end of the response, or undefined if it failed. */
function send(socket: Socket, bytes: string): Promise<number | undefined> {
  const startedAtMs = monotonicMs();
  let firstAtMs: number | undefined;
  let tail = "";
  return new Promise((resolve) => {
    const finish = (isGood: boolean): void => {
      socket.off("data", onData);
      socket.off("close", onClose);
      resolve(isGood && firstAtMs !== undefined ? firstAtMs - startedAtMs : undefined);
    };
    const onClose = (): void => finish(false);
    const onData = (chunk: Buffer): void => {
      tail += chunk.toString("latin1");
      if (firstAtMs === undefined && tail.includes('"content":"t1 ')) firstAtMs = monotonicMs();
      if (tail.endsWith("\r\n0\r\n\r\n") || /^HTTP\/1\.1 [45]/.test(tail)) finish(firstAtMs !== undefined);
      tail = tail.slice(-400);
    };
    socket.on("data", onData);
    socket.on("close", onClose);
    socket.write(bytes);
  });
}

/** Numbers from 0 to 1 that repeat in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state + 0.5) / 4_294_967_296;
  };
}

/** Requests of about this size, one after the other. */
async function closedLoop(
  url: string,
  mock: StepRequest,
  { untilMs, seed }: { readonly untilMs: number; readonly seed: number },
): Promise<void> {
  const draw = seeded(seed);
  const socket = await open(url);
  while (monotonicMs() < untilMs) {
    const outputTokens = Math.ceil(mock.outputTokens * (0.5 + draw()));
    await send(socket, bytesOf({ ...mock, outputTokens }, true));
  }
  socket.destroy();
}

/** The share of the work that team `little` got. */
async function shareOfLittle(weights: readonly [number, number] | null, id: string): Promise<number> {
  const gateway = await startProcess(folder.path, yamlOf(weights), id);
  const untilMs = monotonicMs() + 1000 * (seconds + SETTLE_S);
  const little = { team: "little", isLine: false, promptTokens: 100, outputTokens: 15 };
  const much = { team: "much", isLine: false, promptTokens: 200, outputTokens: 40 };
  const loops = [
    ...Array.from({ length: 2 * slots }, (_, at) => closedLoop(gateway.url, little, { untilMs, seed: at })),
    ...Array.from({ length: 20 * slots }, (_, at) => closedLoop(gateway.url, much, { untilMs, seed: 1000 + at })),
  ];
  // Connections open and counters settle in the first seconds.
  await new Promise((resolve) => setTimeout(resolve, 1000 * SETTLE_S));
  engine.clear();
  await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  const [own = 0, other = 0] = [engine.work.get("little"), engine.work.get("much")];
  await gateway.stop();
  await Promise.all(loops);
  return own / (own + other);
}

interface Turn {
  readonly ttfts: number[];
  readonly failed: number;
  readonly filledShare: number;
  readonly lostShare: number;
  readonly linesLost: number;
}

/** Streams at random times for the given seconds, the same in every turn with this seed. */
async function streams(gateway: GatewayProcess, seed: number): Promise<Turn> {
  const draw = seeded(seed);
  engine.clear();
  const startedAtMs = monotonicMs();
  const asked: Promise<number | undefined>[] = [];
  const sockets: Socket[] = [];
  const meanOutput = 32;
  const perSecond = (load * slots * 1000) / (meanOutput * TOKEN_MS + 100);
  for (let atMs = 0; atMs < 1000 * seconds; atMs += (-1000 * Math.log(draw())) / perSecond) {
    const promptTokens = 50 + Math.floor(200 * draw());
    const outputTokens = 1 + Math.floor(2 * meanOutput * draw());
    const mock = { team: "little", isLine: false, promptTokens, outputTokens };
    const waitMs = startedAtMs + atMs - monotonicMs();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const socket = sockets.pop() ?? (await open(gateway.url));
    asked.push(
      send(socket, bytesOf(mock, true)).then((ttft) => {
        if (ttft !== undefined) sockets.push(socket);
        return ttft;
      }),
    );
  }
  const idleMs = slots * (monotonicMs() - startedAtMs) - engine.chatSlotMs;
  const { lineSlotMs, linesLost, lostSlotMs } = engine;
  const answers = await Promise.all(asked);
  for (const socket of sockets) socket.destroy();
  const ttfts = answers.filter((ttft) => ttft !== undefined);
  return {
    ttfts,
    failed: answers.length - ttfts.length,
    filledShare: lineSlotMs / idleMs,
    lostShare: lostSlotMs / idleMs,
    linesLost,
  };
}

/** Starts a batch that lasts longer than the run, and returns a function that cancels it. */
async function startBatch({ url }: GatewayProcess): Promise<() => Promise<void>> {
  const draw = seeded(7);
  const lines = Array.from({ length: 5 * slots * seconds }, (_, at) => {
    const mock: StepRequest = {
      team: "nightly",
      isLine: true,
      promptTokens: 30 + Math.floor(60 * draw()),
      outputTokens: 20 + Math.floor(80 * draw()),
    };
    const body: unknown = JSON.parse(bodyOf(mock, false));
    return JSON.stringify({ custom_id: `l${at}`, method: "POST", url: "/v1/chat/completions", body });
  });
  const headers = { authorization: "Bearer nightly" };
  const form = new FormData();
  form.append("purpose", "batch");
  form.append("file", new Blob([lines.join("\n")]), "lines.jsonl");
  const post = async (path: string, init: RequestInit): Promise<{ id: string }> => {
    const response = await fetch(url + path, { method: "POST", ...init });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as { id: string };
  };
  const file = await post("/v1/files", { headers, body: form });
  const batch = await post("/v1/batches", {
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" }),
  });
  return async () => void (await post(`/v1/batches/${batch.id}/cancel`, { headers }));
}

async function batches(): Promise<void> {
  const gateway = await startProcess(folder.path, yamlOf([1, 1]), "batches");
  await streams(gateway, 1);
  const alone: Turn[] = [];
  const beside: Turn[] = [];
  for (let round = 0; round < rounds; round++) {
    alone.push(await streams(gateway, 100 + round));
    const cancel = await startBatch(gateway);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    beside.push(await streams(gateway, 100 + round));
    await cancel();
    await new Promise((resolve) => setTimeout(resolve, 1500));
  }
  await gateway.stop();
  const at = (turns: readonly Turn[], share: number): number =>
    quantile(
      turns.flatMap(({ ttfts }) => ttfts),
      share,
    );
  const p99 = (turns: readonly Turn[]): number => at(turns, 0.99);
  const filled = beside.reduce((sum, turn) => sum + turn.filledShare, 0) / beside.length;
  const cost = p99(beside) / p99(alone) - 1;
  const failed = [...alone, ...beside].reduce((sum, turn) => sum + turn.failed, 0);
  report(
    JSON.stringify({
      case: "batch",
      streams: alone.reduce((sum, { ttfts }) => sum + ttfts.length, 0),
      failed,
      idle_filled_pct: Number((100 * filled).toFixed(1)),
      idle_lost_pct: Number(
        (beside.reduce((sum, { lostShare }) => sum + 100 * lostShare, 0) / beside.length).toFixed(1),
      ),
      lines_stopped: beside.reduce((sum, { linesLost }) => sum + linesLost, 0),
      ttft_p50_alone_ms: Number(at(alone, 0.5).toFixed(1)),
      ttft_p50_beside_ms: Number(at(beside, 0.5).toFixed(1)),
      ttft_p99_alone_ms: Number(p99(alone).toFixed(1)),
      ttft_p99_beside_ms: Number(p99(beside).toFixed(1)),
      ttft_p99_cost_pct: Number((100 * cost).toFixed(1)),
    }),
  );
  bar(failed === 0, `${failed} streams failed`);
  measuredBar(filled > 0.9, `lines took ${(100 * filled).toFixed(1)}% of the idle slot time, not over 90%`);
  measuredBar(cost <= 0.05, `the p99 of the first token rose by ${(100 * cost).toFixed(1)}%, not at most 5%`);
}

const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1] : undefined;
if (only !== "batch")
  for (const [weights, wanted] of [
    [null, undefined],
    [[1, 1], 0.5],
    [[3, 1], 0.75],
  ] as const) {
    const share = await shareOfLittle(weights, `shares-${weights?.join("-") ?? "none"}`);
    const name = weights === null ? "without fair" : weights.join(":");
    report(JSON.stringify({ case: `shares ${name}`, little_pct: Number((100 * share).toFixed(2)) }));
    if (wanted !== undefined)
      bar(Math.abs(share - wanted) <= 0.05 * wanted, `team little got ${(100 * share).toFixed(1)}% of the work`);
  }
if (only !== "shares") await batches();
engine.close();
folder.remove();
