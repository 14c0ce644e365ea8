/**
 * Measures a live endpoint through its gateway: streams of chat completions in a closed loop, one level of concurrency after
 * the other. The endpoint's own replicas are meant, so answers of an overflow are counted apart.
 */
import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";

export interface EndpointTarget {
  /** Address of the gateway, without a path. */
  readonly url: string;
  /** Key of the gateway; empty: none. */
  readonly key: string;
  readonly model: string;
}

export interface LoadShape {
  readonly promptWords: number;
  readonly outputTokens: number;
  readonly seconds: number;
}

export interface LevelResult {
  /** Requests in progress at a time, over all replicas. */
  readonly concurrency: number;
  readonly requests: number;
  readonly failed: number;
  /** Answers of the endpoint's overflow. */
  readonly left: number;
  readonly requestsPerSecond: number;
  readonly tokensPerSecond: number;
  /** Quantiles in ms; null: no stream with enough tokens ended. */
  readonly ttftP95Ms: number | null;
  readonly tpotP95Ms: number | null;
}

interface MeasuredStream {
  readonly kind: "own" | "left" | "failed";
  readonly firstTokenMs: number;
  readonly perTokenMs: number;
  readonly tokens: number;
}

/** Time in ms after which an answer without a byte counts as failed. */
const SILENT_MS = 60_000;
/** Share of a level whose streams do not count: replicas fill their batches. */
const WARM_UP_SHARE = 0.2;

export async function measureLevel(
  target: EndpointTarget,
  {
    concurrency,
    shape,
    signal,
  }: { readonly concurrency: number; readonly shape: LoadShape; readonly signal: AbortSignal },
): Promise<LevelResult> {
  const isTls = target.url.startsWith("https:");
  const agent = new (isTls ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: concurrency });
  const startedAtMs = performance.now();
  const countedFromMs = startedAtMs + 1000 * shape.seconds * WARM_UP_SHARE;
  const endsAtMs = startedAtMs + 1000 * shape.seconds;
  const streams: MeasuredStream[] = [];
  const worker = async (index: number): Promise<void> => {
    for (let turn = 0; performance.now() < endsAtMs && !signal.aborted; turn++) {
      const sentAtMs = performance.now();
      const stream = await oneStream(target, agent, bodyOf(target, shape, `${index}.${turn}`));
      if (sentAtMs >= countedFromMs) streams.push(stream);
      if (stream.kind === "failed") await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  await Promise.all(Array.from({ length: concurrency }, (_, index) => worker(index)));
  agent.destroy();
  return resultOf(concurrency, streams, (performance.now() - countedFromMs) / 1000);
}

function resultOf(concurrency: number, streams: readonly MeasuredStream[], seconds: number): LevelResult {
  const own = streams.filter(({ kind }) => kind === "own");
  const tokens = own.reduce((sum, each) => sum + each.tokens, 0);
  return {
    concurrency,
    requests: streams.length,
    failed: streams.filter(({ kind }) => kind === "failed").length,
    left: streams.filter(({ kind }) => kind === "left").length,
    requestsPerSecond: own.length / seconds,
    tokensPerSecond: tokens / seconds,
    ttftP95Ms: quantile95(own.map(({ firstTokenMs }) => firstTokenMs)),
    tpotP95Ms: quantile95(own.flatMap(({ perTokenMs }) => (Number.isNaN(perTokenMs) ? [] : [perTokenMs]))),
  };
}

function quantile95(values: readonly number[]): number | null {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(0.95 * sorted.length))] ?? null;
}

/** Each prompt begins differently, so that no replica has it in its cache. */
function bodyOf({ model }: EndpointTarget, { promptWords, outputTokens }: LoadShape, nonce: string): string {
  const words = Array.from({ length: Math.max(1, promptWords - 1) }, (_, at) => `word${at % 97}`).join(" ");
  const messages = [{ role: "user", content: `${nonce} ${words}` }];
  return JSON.stringify({ model, messages, stream: true, max_tokens: outputTokens });
}

function oneStream({ url, key }: EndpointTarget, agent: HttpAgent, body: string): Promise<MeasuredStream> {
  const sentAtMs = performance.now();
  const failed: MeasuredStream = { kind: "failed", firstTokenMs: 0, perTokenMs: Number.NaN, tokens: 0 };
  return new Promise((resolve) => {
    const open = url.startsWith("https:") ? requestHttps : requestHttp;
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      ...(key === "" ? {} : { authorization: `Bearer ${key}` }),
    };
    const call = open(new URL("/v1/chat/completions", url), { method: "POST", agent, headers }, (response) => {
      void readStream(response, sentAtMs).then(resolve, () => resolve(failed));
    });
    call.setTimeout(SILENT_MS, () => call.destroy(new Error("silent")));
    call.once("error", () => resolve(failed));
    call.end(body);
  });
}

async function readStream(response: IncomingMessage, sentAtMs: number): Promise<MeasuredStream> {
  let tokens = 0;
  let firstAtMs = 0;
  let lastAtMs = 0;
  let rest = "";
  response.setEncoding("utf8");
  for await (const chunk of response as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    const events = lines.filter(
      (line) => line.startsWith("data: {") && /"(?:content|reasoning_content|text)":"[^"]/.test(line),
    );
    if (events.length === 0) continue;
    lastAtMs = performance.now();
    if (tokens === 0) firstAtMs = lastAtMs;
    tokens += events.length;
  }
  const isOwn = response.headers["x-headroom-overflow"] === undefined;
  return {
    kind: response.statusCode !== 200 || tokens === 0 ? "failed" : isOwn ? "own" : "left",
    firstTokenMs: firstAtMs - sentAtMs,
    perTokenMs: tokens > 1 ? (lastAtMs - firstAtMs) / (tokens - 1) : Number.NaN,
    tokens,
  };
}
