/**
 * Ingestion of exporters at full rate by a whole control plane: 2,048 nodes with eight accelerators and 40 metrics, read every
 * 15 s, and an attempt on each node that reports its progress. Measures the processor time of the process and the delay of its
 * event loop. A second part folds generated hours of some accelerators and measures processor time, bytes on disk for each
 * sample, and the time of a query over 24 hours. Options: `--seconds N` (60), `--nodes N` (2048), `--hours N` (2),
 * `--accelerators N` (64) of the second part. Long runs write the figures of each minute to standard error, as JSON lines.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createHttpClient } from "@headroom/protocol";
import type { HeadroomClient, MetricTarget } from "@headroom/protocol";
import { acceleratorSubject } from "@headroom/views";
import { TelemetryDatabase } from "../src/telemetry/telemetry-database.ts";
import { startControlPlane } from "../src/server.ts";
import { telemetryDefaults } from "../src/telemetry/telemetry.ts";
import { fillFleet } from "./fill-fleet.ts";
import { ReportingExecutor } from "./reporting-executor.ts";

const LOOP_SAMPLE_MS = 5;
const METRICS = 40;
const EVERY_S = 15;
const FLEET_ACCELERATORS = 16_384;
const TARGETS_A_PAGE = 200;
const ACCELERATORS_PER_NODE = 8;
/** Metrics that the control plane also reads as readings of accelerators. */
const vendorMetrics = [
  "DCGM_FI_DEV_GPU_UTIL",
  "DCGM_FI_DEV_FB_USED",
  "DCGM_FI_DEV_GPU_TEMP",
  "DCGM_FI_DEV_POWER_USAGE",
  "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
];
const targets = { coresMax: 1, bytesPerSampleMax: 2, loopDelayP99Ms: 25, queryP99Ms: 1_000 };
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    nodes: { type: "string", default: "2048" },
    hours: { type: "string", default: "2" },
    accelerators: { type: "string", default: "64" },
    json: { type: "boolean", default: false },
  },
});
const seconds = Number(values.seconds);
const nodeCount = Number(values.nodes);
const home = mkdtempSync(path.join(tmpdir(), "headroom-bench-"));
const metrics = Array.from({ length: METRICS }, (_, at) => `BENCH_METRIC_${at}`);
const cpuMs = (from?: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1_000;
};

try {
  const read = await readFleet();
  const folded = fold(Number(values.hours), Number(values.accelerators));
  const cores = read.cores + folded.coresForFleet;
  const result = { ...read, ...folded, coresInAll: cores, targets };
  process.stdout.write(`${JSON.stringify(result)}\n`);
} finally {
  rmSync(home, { recursive: true });
}

/** A whole control plane whose nodes are all used by one attempt each, and which reads an exporter of each node. */
async function readFleet() {
  const exporters = fork(path.join(import.meta.dirname, "exporters-process.ts"), {
    env: { ...process.env, EXPORTER_METRICS: [...vendorMetrics, ...metrics.slice(vendorMetrics.length)].join(",") },
  });
  const [{ port }] = (await once(exporters, "message")) as [{ port: number }];
  const log = { info: () => undefined, warn: console.warn, error: console.error };
  const executor = new ReportingExecutor(nodeCount, ACCELERATORS_PER_NODE);
  const plane = await startControlPlane({ home, port: 0, auth: "off", executors: [executor], log });
  const client = createHttpClient({
    baseUrl: plane.url,
    fetch: (address, request) => fetch(address, request as RequestInit),
  });
  await fillFleet(plane.driver, { attempts: nodeCount, acceleratorsEach: ACCELERATORS_PER_NODE });
  await client.declareMetricSource("fleet", {
    type: "scrape",
    settings: {
      address: `http://127.0.0.1:${port}/{node}`,
      every: `${EVERY_S}s`,
      metrics: metrics
        .slice(vendorMetrics.length)
        .map((metric, at) => ({ metric, value: `value${at}`, subject: "accelerator", combine: "last" })),
    },
  });
  executor.begin();
  // The first interval opens the connections.
  await sleep(2 * EVERY_S * 1_000);
  const delay = monitorEventLoopDelay({ resolution: LOOP_SAMPLE_MS });
  delay.enable();
  const [before, began] = [process.cpuUsage(), performance.now()];
  let lateMax = 0;
  while (performance.now() - began < seconds * 1_000) {
    lateMax = Math.max(
      lateMax,
      await minuteOf(client, Math.min(60_000, seconds * 1_000 - (performance.now() - began))),
    );
  }
  const used = cpuMs(before);
  const elapsedMs = performance.now() - began;
  delay.disable();
  const { up, late, perRound } = await targetsOf(client);
  exporters.disconnect();
  const rssMib = Math.round(process.memoryUsage.rss() / 2 ** 20);
  await plane.close();
  return {
    seconds: Math.round(elapsedMs / 1_000),
    targetsUp: up,
    targetsLate: Math.max(late, lateMax),
    samplesPerSecond: Math.round(perRound / EVERY_S),
    cores: used / elapsedMs,
    loopDelayP99Ms: delay.percentile(99) / 1e6 - LOOP_SAMPLE_MS,
    loopDelayMaxMs: delay.max / 1e6 - LOOP_SAMPLE_MS,
    rssMib,
  };
}

/** Waits a minute and writes its figures. Returns the number of targets that were late at its end. */
async function minuteOf(client: HeadroomClient, durationMs: number): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: LOOP_SAMPLE_MS });
  delay.enable();
  const [before, began] = [process.cpuUsage(), performance.now()];
  await sleep(durationMs);
  delay.disable();
  const cores = cpuMs(before) / (performance.now() - began);
  const { up, late, perRound } = await targetsOf(client);
  const file = path.join(home, "telemetry.db");
  const figures = {
    at: new Date().toISOString(),
    targetsUp: up,
    targetsLate: late,
    samplesPerSecond: Math.round(perRound / EVERY_S),
    cores: Number(cores.toFixed(3)),
    loopDelayP99Ms: Number((delay.percentile(99) / 1e6 - LOOP_SAMPLE_MS).toFixed(2)),
    loopDelayMaxMs: Number((delay.max / 1e6 - LOOP_SAMPLE_MS).toFixed(1)),
    rssMib: Math.round(process.memoryUsage.rss() / 2 ** 20),
    telemetryMib: Math.round((statSync(file, { throwIfNoEntry: false })?.size ?? 0) / 2 ** 20),
  };
  if (seconds > 60) process.stderr.write(`${JSON.stringify(figures)}\n`);
  return late;
}

/** How many targets are read, how many of all are late by an interval, and how many values one round reads. */
async function targetsOf(client: HeadroomClient): Promise<{ up: number; late: number; perRound: number }> {
  const states: MetricTarget[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await client.metricTargets({ limit: TARGETS_A_PAGE, ...(cursor === undefined ? {} : { cursor }) });
    states.push(...page.items);
    cursor = page.nextCursor;
  }
  const up = states.filter(({ state }) => state === "up");
  const late = states.filter(({ readAtMs }) => (readAtMs ?? 0) < Date.now() - 2 * EVERY_S * 1_000).length;
  return { up: up.length, late, perRound: up.reduce((sum, { values }) => sum + values, 0) };
}

/** Folds generated hours of some accelerators into a store of their own, flushed like a live one. */
function fold(hours: number, accelerators: number) {
  const file = path.join(home, "folded.db");
  const database = new TelemetryDatabase({ file, rules: telemetryDefaults, isExpected: false });
  const subjects = Array.from({ length: accelerators }, (_, at) => acceleratorSubject(`node-${at >> 3}`, at & 7));
  const rounds = (hours * 3_600) / EVERY_S;
  const startMs = 1_700_000_000_000;
  let used = 0;
  for (let round = 0; round < rounds; round++) {
    const atMs = startMs + round * EVERY_S * 1_000;
    const samples = subjects.map((subject, at) => ({ subject, atMs, values: valuesAt(round, at) }));
    const before = process.cpuUsage();
    database.addSubjects(samples);
    database.flush(atMs, false);
    used += cpuMs(before);
  }
  const before = process.cpuUsage();
  database.flush(startMs, true);
  used += cpuMs(before);
  const queries = subjects.map((subject) => {
    const began = performance.now();
    database.series({ subject, points: 300, fromMs: startMs, toMs: startMs + 86_400_000 });
    return performance.now() - began;
  });
  database.close();
  const samples = rounds * accelerators * METRICS;
  const coresOfPart = used / (rounds * EVERY_S * 1_000);
  return {
    foldedHours: hours,
    foldedSamples: samples,
    bytesPerSample: statSync(file).size / samples,
    coresForFleet: coresOfPart * (FLEET_ACCELERATORS / accelerators),
    queryP99Ms: queries.toSorted((left, right) => left - right)[Math.floor(queries.length * 0.99)] ?? 0,
  };
}

/** Readings with one decimal: a third are constant, a third counts, a third moves by some percent. */
function valuesAt(round: number, at: number): Record<string, number> {
  const reading: Record<string, number> = {};
  for (let metric = 0; metric < METRICS; metric++) {
    const noise = Math.sin(round * 12.9898 + at * 78.233 + metric * 37.719) * 43_758.5453;
    const share = noise - Math.floor(noise);
    const base = 20 + metric * 17;
    const value =
      metric % 3 === 0 ? base : metric % 3 === 1 ? Math.round(base + share * 30) : base * (1 + share * 0.05);
    reading[`value${metric}`] = Math.round(value * 10) / 10;
  }
  return reading;
}
