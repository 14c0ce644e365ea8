/**
 * Measures `/healthz` beside clients that repeat requests which cost the control plane more than the client: scrapes,
 * listings, bodies of junk, and heads that never end. Prints the latency of `/healthz`, the delay of the event loop and
 * the processor time per answer. Options: `--seconds N` of each scenario (8), `--waiting N` workloads (50,000),
 * `--nodes N` (2,000), `--only TEXT`.
 */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { ControlPlaneFigures, ControlPlaneReady, RepeatedConfig, RepeatedFigures } from "./messages.ts";

const CALLERS = 16;
const SLOW_HEADS = 4_300;
const PROBE_PAUSE_MS = 10;
const targets = { healthzP99Ms: 50 };

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "8" },
    waiting: { type: "string", default: "50000" },
    nodes: { type: "string", default: "2000" },
    only: { type: "string", default: "" },
  },
});
const durationMs = Number(values.seconds) * 1_000;

async function next<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, "message")) as [T];
  return message;
}

const start = (file: string, config: object): ChildProcess =>
  fork(path.join(import.meta.dirname, file), [JSON.stringify(config)]);

const home = mkdtempSync(path.join(tmpdir(), "headroom-bench-"));
const fleet = { nodes: Number(values.nodes), runMinMs: 3_600_000 };
const waitingCount = Number(values.waiting);
const teamCount = 400;
const plane = start("control-plane-process.ts", { home, journal: "stubbed", waitingCount, teamCount, fleet });
const ready = await next<ControlPlaneReady>(plane);
const common = { ...ready, pauseMs: 0, isSlowHead: false, connections: CALLERS };
const junk = { before: "{", item: '"k#":0', count: 85_000, after: "}" };

const scenarios: Readonly<Record<string, RepeatedConfig | null>> = {
  quiet: null,
  "/metrics": { ...common, request: { method: "GET", target: "/metrics" } },
  "/v1/waste": { ...common, request: { method: "GET", target: "/v1/waste" } },
  "/v1/status": { ...common, request: { method: "GET", target: "/v1/status" } },
  "/v1/fleet": { ...common, request: { method: "GET", target: "/v1/fleet" } },
  "/v1/teams?limit=500": { ...common, request: { method: "GET", target: "/v1/teams?limit=500" } },
  "/v1/nodes?limit=500": { ...common, request: { method: "GET", target: "/v1/nodes?limit=500" } },
  "/v1/workloads?limit=500": { ...common, request: { method: "GET", target: "/v1/workloads?limit=500" } },
  "/v1/workloads?search=none": { ...common, request: { method: "GET", target: "/v1/workloads?search=none" } },
  "/v1/queue?limit=500": { ...common, request: { method: "GET", target: "/v1/queue?limit=500" } },
  "/v1/queue?search=none&holdReason": {
    ...common,
    request: { method: "GET", target: "/v1/queue?search=none&holdReason=true" },
  },
  "policy of junk keys": { ...common, request: { method: "PUT", target: "/v1/policy", body: junk } },
  "workload of junk keys": { ...common, request: { method: "POST", target: "/v1/workloads", body: junk } },
  "apply of junk keys": { ...common, request: { method: "POST", target: "/v1/apply", body: junk } },
  "apply of faulty workloads": {
    ...common,
    request: {
      method: "POST",
      target: "/v1/apply",
      body: { before: '{"workloads":[', item: "{}", count: 300_000, after: "]}" },
    },
  },
  "sizing of arrays": {
    ...common,
    request: {
      method: "POST",
      target: "/v1/sizing",
      body: { before: "[", item: "[]", count: 300_000, after: "]" },
    },
  },
  "slow heads": {
    ...common,
    connections: SLOW_HEADS,
    isSlowHead: true,
    token: null,
    request: { method: "", target: "" },
  },
};

interface Measured {
  readonly scenario: string;
  readonly healthz: RepeatedFigures;
  readonly callers: RepeatedFigures | null;
  readonly plane: ControlPlaneFigures;
}

async function measure(scenario: string, config: RepeatedConfig | null): Promise<Measured> {
  const callers = config === null ? null : start("requests-process.ts", config);
  await sleep(1_000);
  plane.send("begin");
  const request = { method: "GET", target: "/healthz" };
  const probe = start("requests-process.ts", { ...common, connections: 1, pauseMs: PROBE_PAUSE_MS, request });
  await sleep(durationMs);
  probe.send("end");
  const healthz = await next<RepeatedFigures>(probe);
  plane.send("end");
  const figures = await next<ControlPlaneFigures>(plane);
  callers?.send("end");
  const called = callers === null ? null : await next<RepeatedFigures>(callers);
  return { scenario, healthz, callers: called, plane: figures };
}

const measured: Measured[] = [];
try {
  for (const [name, config] of Object.entries(scenarios))
    if (name.includes(values.only)) measured.push(await measure(name, config));
} finally {
  plane.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
}

const rounded = (value: number | null): number | null => (value === null ? null : Number(value.toFixed(1)));
const rows = measured.map(
  ({ scenario, healthz, callers, plane: { loopDelayP99Ms, loopDelayMaxMs, cpuS, rssMib } }) => ({
    callers: scenario,
    "healthz p50 ms": rounded(healthz.p50Ms),
    "healthz p99 ms": rounded(healthz.p99Ms),
    "healthz max ms": rounded(healthz.maxMs),
    "loop p99 ms": rounded(loopDelayP99Ms),
    "loop max ms": rounded(loopDelayMaxMs),
    answers: callers?.count ?? null,
    statuses: callers === null ? "" : JSON.stringify(callers.statuses),
    "cpu ms per answer": callers === null || callers.count === 0 ? null : rounded((cpuS * 1_000) / callers.count),
    "cpu s": rounded(cpuS),
    "rss MiB": rssMib,
  }),
);
const met = measured.every(({ healthz }) => healthz.p99Ms !== null && healthz.p99Ms <= targets.healthzP99Ms);
console.log(JSON.stringify({ targets, met, measured: rows }, null, 2));
