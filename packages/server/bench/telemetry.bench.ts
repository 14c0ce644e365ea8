/**
 * Runs 10,000 attempts that report every two seconds on the real control plane. Measures the growth of the journal and
 * the delay of the event loop, and checks that every attempt has its chart. Options: `--seconds N` (3600), `--attempts
 * N` (10000), `--json`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createHttpClient } from "@headroom/protocol";
import { startControlPlane } from "../src/server.ts";
import type { Driver } from "../src/driver/driver.ts";
import { fillFleet } from "./fill-fleet.ts";
import { ReportingExecutor } from "./reporting-executor.ts";

/** Sampling interval in ms of the event-loop monitor. The samples of its histogram include this interval. */
const LOOP_SAMPLE_MS = 5;
const targets = { journalGrowthBytes: 1_000_000, loopDelayP99Ms: 25 };

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "3600" },
    attempts: { type: "string", default: "10000" },
    json: { type: "boolean", default: false },
  },
});
const attempts = Number(values.attempts);
const seconds = Number(values.seconds);

const home = mkdtempSync(path.join(tmpdir(), "headroom-bench-"));
const executor = new ReportingExecutor(attempts);
const log = { info: () => undefined, warn: console.warn, error: console.error };
const plane = await startControlPlane({ home, port: 0, auth: "off", executors: [executor], log });
try {
  await fillFleet(plane.driver, { attempts, acceleratorsEach: 1 });
  const before = { ...plane.driver.status(), events: await eventBytes(plane.driver) };
  const delay = monitorEventLoopDelay({ resolution: LOOP_SAMPLE_MS });
  const cpu = process.cpuUsage();
  delay.enable();
  executor.begin();
  await sleep(seconds * 1_000);
  delay.disable();
  executor.stop();
  const used = process.cpuUsage(cpu);
  const after = { ...plane.driver.status(), events: await eventBytes(plane.driver) };
  const charts = await chartsOf(plane.url);
  const measured = {
    attempts,
    seconds,
    reportsPerSecond: Math.round(executor.reportCount / seconds),
    journalGrowthBytes: after.journalBytes - before.journalBytes,
    eventGrowthBytes: after.events - before.events,
    events: after.sequence - before.sequence,
    loopDelayP99Ms: delay.percentile(99) / 1e6 - LOOP_SAMPLE_MS,
    loopDelayMaxMs: delay.max / 1e6 - LOOP_SAMPLE_MS,
    cpuShare: (used.user + used.system) / 1e6 / seconds,
    rssMib: Math.round(process.memoryUsage.rss() / 2 ** 20),
    ...charts,
  };
  const met =
    measured.journalGrowthBytes < targets.journalGrowthBytes &&
    measured.loopDelayP99Ms < targets.loopDelayP99Ms &&
    measured.attemptsWithChart === attempts;
  if (!values.json) console.table(measured);
  console.log(JSON.stringify(values.json ? { targets, met, measured } : { targets, met }, null, 2));
} finally {
  await plane.close();
  rmSync(home, { recursive: true, force: true });
}

/** Total length of the recorded text of all events in bytes. */
async function eventBytes(driver: Driver): Promise<number> {
  const { sequence } = driver.status();
  const abort = new AbortController();
  let bytes = 0;
  for await (const each of driver.events(1, abort.signal)) {
    bytes += JSON.stringify(each.event).length + 1;
    if (each.sequence >= sequence) break;
  }
  abort.abort();
  return bytes;
}

interface Charts {
  readonly attemptsWithChart: number;
  readonly pointsPerChartLeast: number;
  readonly pointsPerChartMost: number;
}

/** Reads the series of every attempt through the API. A chart has at least two points. */
async function chartsOf(url: string): Promise<Charts> {
  const client = createHttpClient({
    baseUrl: url,
    fetch: (address, request) => fetch(address, request as RequestInit),
  });
  const counts: number[] = [];
  for (const attempt of executor.attemptIds) {
    const { items } = await client.metrics(attempt.slice(0, attempt.indexOf(".")), { attempt });
    counts.push(items[0]?.progress.length ?? 0);
  }
  return {
    attemptsWithChart: counts.filter((count) => count >= 2).length,
    pointsPerChartLeast: counts.reduce((least, count) => Math.min(least, count), Number.MAX_SAFE_INTEGER),
    pointsPerChartMost: counts.reduce((most, count) => Math.max(most, count), 0),
  };
}
