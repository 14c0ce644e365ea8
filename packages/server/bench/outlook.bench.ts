/**
 * Asks a real control plane forecast questions over HTTP while workloads are submitted: what-ifs, changes that would
 * start waiting work, start estimates, and downloads of the state, from which browsers compute what-ifs. The fleet has
 * 1,000 nodes of eight accelerators. Half of the 1,000 workloads, gangs of two whole nodes, wait. Prints response times and
 * the control plane's event-loop delay. `npm run bench outlook`; `--seconds N` sets the time for each kind of question
 * (10).
 */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { createHttpClient } from "@headroom/protocol";
import type { HeadroomClient } from "@headroom/protocol";
import type { ControlPlaneConfig, ControlPlaneFigures, ControlPlaneReady } from "./messages.ts";

const WORKLOADS = 1000;
/** Interval in ms of submissions in the background: twenty a second. */
const SUBMISSION_INTERVAL_MS = 50;
const { values } = parseArgs({ options: { seconds: { type: "string", default: "10" } } });

async function next<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, "message")) as [T];
  return message;
}

interface Asked {
  readonly question: string;
  readonly answersMs: readonly number[];
  readonly figures: ControlPlaneFigures;
}

const part = (sorted: readonly number[], share: number): number =>
  Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN) * 10) / 10;

/** Asks one question after another for some seconds while submissions continue. */
async function during(child: ChildProcess, question: string, ask: () => Promise<unknown>): Promise<Asked> {
  await ask();
  child.send("begin");
  const untilMs = performance.now() + Number(values.seconds) * 1000;
  const answersMs: number[] = [];
  while (performance.now() < untilMs) {
    const beganMs = performance.now();
    await ask();
    answersMs.push(performance.now() - beganMs);
  }
  child.send("end");
  return { question, answersMs, figures: await next<ControlPlaneFigures>(child) };
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, SUBMISSION_INTERVAL_MS));

function submitting(client: HeadroomClient): () => Promise<void> {
  let count = 0;
  let isOver = false;
  const all = (async () => {
    while (!isOver) {
      const gang = { workers: 1, accelerators: 8 };
      await client.submitWorkload({ kind: "train", name: `new-${++count}`, run: "true", gang });
      await pause();
    }
  })();
  return async () => {
    isOver = true;
    await all;
  };
}

const home = mkdtempSync(path.join(tmpdir(), "headroom-bench-"));
const config: ControlPlaneConfig = {
  home,
  journal: "durable",
  waitingCount: WORKLOADS,
  waitingWorkers: 2,
  fleet: { nodes: 1000, runMinMs: 3_600_000 },
};
const child = fork(path.join(import.meta.dirname, "control-plane-process.ts"), [JSON.stringify(config)]);
try {
  const { port, token } = await next<ControlPlaneReady>(child);
  const client = createHttpClient({
    baseUrl: `http://127.0.0.1:${port}`,
    token,
    fetch: (url, request) => fetch(url, request as RequestInit),
  });
  const stop = submitting(client);
  const { items } = await client.listWorkloads({ phase: "pending", limit: 1 });
  const id = items[0]?.id ?? "";
  const asked = [
    // Loop delay without questions, as a baseline for a busy machine.
    await during(child, "none", pause),
    await during(child, "what if fifty nodes came", () => client.whatIf({ addNodes: [{ like: "node-1", count: 50 }] })),
    await during(child, "what if fifty nodes went", () =>
      client.whatIf({ loseNodes: Array.from({ length: 50 }, (_, index) => `node-${index}`) }),
    ),
    // Loop delay while browsers download the state twenty times a second.
    await during(child, "none, but the state is taken", () => Promise.all([client.snapshot(), pause()])),
    await during(child, "why, and what would start it", () => client.startingChanges(id)),
    await during(child, "when it starts", () => client.estimateStart(id)),
  ];
  await stop();
  for (const { question, answersMs, figures } of asked) {
    const sorted = answersMs.toSorted((left, right) => left - right);
    const answers = {
      count: sorted.length,
      min_ms: part(sorted, 0),
      p50_ms: part(sorted, 0.5),
      p90_ms: part(sorted, 0.9),
    };
    const loop = { loop_p99_ms: part([figures.loopDelayP99Ms], 0), loop_max_ms: part([figures.loopDelayMaxMs], 0) };
    const state = { submitted: figures.submittedCount, waiting: figures.waitingAfter };
    console.log(JSON.stringify({ question, ...answers, ...loop, ...state, load: loadavg()[0] }));
  }
  child.send("close");
  await once(child, "exit");
} finally {
  child.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
}
