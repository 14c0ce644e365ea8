/**
 * Clients that disconnect at random, in three phases: the time until the upstream notices, and the usage that is billed.
 * Clients, gateway and upstream are processes of their own and share the monotonic clock. A delay includes the time until the
 * loops of client, gateway and upstream run; the report states how late each was, and why. `--count 10000 --report-only`
 */
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { settleUsage, usageStart } from "../src/usage/reader.ts";
import {
  bar,
  FastUpstream,
  measuredBar,
  numberArgument,
  open,
  quantile,
  report,
  requestBytes,
  startProcess,
  temporaryFolder,
  type SeenRequest,
} from "./harness.ts";
import { LoopWatch, monotonicMs, overlapMs, type LateSpan, type Span } from "./loop-watch.ts";

/** Messages of the upstream's process. */
type UpstreamMessage =
  | { readonly kind: "listening"; readonly url: string }
  | { readonly kind: "arrived"; readonly id: number }
  | { readonly kind: "closed"; readonly id: number; readonly request: SeenRequest }
  | { readonly kind: "late"; readonly spans: readonly LateSpan[] };

const CONCURRENCY = 20;
const LATE_MS = 10;

async function serveUpstream(): Promise<void> {
  const send = (message: UpstreamMessage): void => void process.send?.(message);
  const upstream = new FastUpstream();
  upstream.onArrived = (id) => send({ kind: "arrived", id });
  upstream.onClosed = (id, request) => send({ kind: "closed", id, request });
  const watch = new LoopWatch();
  process.once("message", () => send({ kind: "late", spans: watch.spans() }));
  process.once("disconnect", () => process.exit());
  send({ kind: "listening", url: await upstream.start() });
}

/**
 * The client disconnects in the middle of a stream, before a stream's first token, or while it waits for an answer that
 * is not streamed.
 */
const phases = [
  (id: number) => ({ mode: "stream", tokens: 10_000, everyMs: 25, id }) as const,
  (id: number) => ({ mode: "stream", tokens: 1, everyMs: 60_000, id }) as const,
  (id: number) => ({ mode: "hang", tokens: 0, everyMs: 0, id }) as const,
];

/**
 * How long this loop was late during the late aborts, in the periods that overlap one of them, and how much of it the thread
 * waited for a processor or collected garbage.
 */
function lateness(name: string, spans: readonly LateSpan[], late: readonly Span[]): string {
  const during = spans.filter((span) => late.some((abort) => overlapMs(abort, span) > 0));
  const count = late.filter((abort) => spans.some((span) => overlapMs(abort, span) > 0)).length;
  const sum = (of: (span: LateSpan) => number): string => during.reduce((all, span) => all + of(span), 0).toFixed(0);
  return (
    `${name}: ${spans.length} periods; in ${count} of the late aborts, in ${during.length} periods of ` +
    `${sum(({ fromMs, untilMs }) => untilMs - fromMs)} ms together (${sum(({ waitedMs }) => waitedMs)} ms waiting for a processor, ` +
    `${sum(({ ranMs }) => ranMs)} ms running; ${sum(({ collectedMs }) => collectedMs)} ms collecting garbage)`
  );
}

async function main(): Promise<void> {
  const count = numberArgument("count", 10_000);
  const child = fork(import.meta.filename, ["--upstream"]);
  const arrived = new Map<number, () => void>();
  const closed = new Map<number, (request: SeenRequest) => void>();
  const watch = new LoopWatch();
  let reportLate: (spans: readonly LateSpan[]) => void = () => undefined;
  const url = await new Promise<string>((resolve) => {
    child.on("message", (message: UpstreamMessage) => {
      if (message.kind === "listening") resolve(message.url);
      else if (message.kind === "arrived") arrived.get(message.id)?.();
      else if (message.kind === "closed") closed.get(message.id)?.(message.request);
      else reportLate(message.spans);
    });
  });
  const folder = temporaryFolder();
  const gatewayLateFile = path.join(folder.path, "late.json");
  const gateway = await startProcess(
    folder.path,
    `access: open\npools: [{ name: p, engine: vllm, replicas: [${url}] }]\nmodels: [{ name: m, allowFields: [mock], pools: [p] }]\n`,
    "aborts",
    [],
    gatewayLateFile,
  );
  const seen: SeenRequest[] = [];
  const aborts: Span[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < count) {
      const id = next++;
      const socket = await open(gateway.url);
      socket.on("data", () => undefined);
      const hasArrived = new Promise<void>((resolve) => arrived.set(id, resolve));
      const hasClosed = new Promise<SeenRequest>((resolve) => closed.set(id, resolve));
      socket.write(requestBytes(phases[id % 3]!(id)));
      await hasArrived;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 150));
      const fromMs = monotonicMs();
      if (id % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
      const request = await hasClosed;
      seen.push(request);
      aborts.push({ fromMs, untilMs: request.closedAtMs! });
      arrived.delete(id);
      closed.delete(id);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, client));
  await gateway.stop();
  const upstreamLate = await new Promise<readonly LateSpan[]>((resolve) => {
    reportLate = resolve;
    child.send("end");
  });
  child.disconnect();
  const gatewayLate = JSON.parse(readFileSync(gatewayLateFile, "utf8")) as readonly LateSpan[];

  const delaysMs = aborts.map(({ fromMs, untilMs }) => untilMs - fromMs);
  const late = aborts.filter(({ fromMs, untilMs }) => untilMs - fromMs > LATE_MS);
  report(
    `${delaysMs.length} of ${count} aborts reached the upstream; client to upstream p50 ${quantile(delaysMs, 0.5).toFixed(2)} ms, p99 ${quantile(delaysMs, 0.99).toFixed(2)} ms, max ${Math.max(...delaysMs).toFixed(2)} ms; ` +
      `${late.length} later than ${LATE_MS} ms`,
  );
  const loops = { client: watch.spans(), gateway: gatewayLate, upstream: upstreamLate };
  for (const [name, spans] of Object.entries(loops)) report(`  late loop of the ${lateness(name, spans, late)}`);
  const all = Object.values(loops).flat();
  const unexplained = late.filter((abort) => all.every((span) => overlapMs(abort, span) === 0)).length;
  report(`  ${unexplained} of the late aborts while no loop was late`);
  const { records } = settleUsage(path.join(folder.path, "state", "aborts", "usage"), usageStart, { isOver: true });
  const byId = new Map(records.map((record) => [record.id, record]));
  let worst = 0;
  for (const request of seen) {
    const billed = byId.get(request.requestId)?.completionTokens ?? Number.POSITIVE_INFINITY;
    worst = Math.max(worst, Math.abs(request.sentTokens - billed));
  }
  report(
    `${records.length} usage records, ${byId.size} requests; largest difference between tokens sent and billed: ${worst}`,
  );
  folder.remove();
  bar(delaysMs.length === count, `the upstream heard of ${delaysMs.length} of ${count} aborts.`);
  measuredBar(
    late.length === 0,
    `${late.length} of ${count} aborts took more than ${LATE_MS} ms to reach the upstream.`,
  );
  bar(worst <= 1, `billed tokens differ from the tokens sent by ${worst}, more than one event.`);
  bar(byId.size === count, `${byId.size} of ${count} requests have a usage record.`);
}

await (process.argv.includes("--upstream") ? serveUpstream() : main());
