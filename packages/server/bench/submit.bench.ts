/**
 * Measures durable submissions over HTTP while 50,000 workloads wait and the engine decides. In the same run, and in
 * turns, it measures the same requests with a journal that stores nothing. Options: `--seconds N` for each measurement
 * (8), `--rounds N` (3), `--durable-only`, `--json`.
 */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, statfsSync, writeSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import type { ControlPlaneFigures, ControlPlaneReady, JournalKind, LoadConfig, LoadFigures } from "./messages.ts";

const CONNECTIONS = 32;
const WAITING = 50_000;
const WARM_UP_MS = 3_000;
const targets = { perSecond: 8_000, ratio: 0.6, perSync: 16, loopDelayP99Ms: 25 };

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "8" },
    rounds: { type: "string", default: "3" },
    "durable-only": { type: "boolean", default: false },
    details: { type: "boolean", default: false },
  },
});

interface Measurement extends ControlPlaneFigures, LoadFigures {
  readonly journal: JournalKind;
  readonly perSecond: number;
  readonly perSync: number;
}

const here = (file: string): string => path.join(import.meta.dirname, file);

async function next<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, "message")) as [T];
  return message;
}

async function load(config: LoadConfig): Promise<LoadFigures> {
  const child = fork(here("load-process.ts"), [JSON.stringify(config)]);
  const figures = await next<LoadFigures>(child);
  if (child.exitCode === null) await once(child, "exit");
  return figures;
}

async function measure(journal: JournalKind): Promise<Measurement> {
  const home = mkdtempSync(path.join(tmpdir(), "headroom-bench-"));
  const config = { home, journal, waitingCount: WAITING };
  const child = fork(here("control-plane-process.ts"), [JSON.stringify(config)]);
  try {
    const { port, token } = await next<ControlPlaneReady>(child);
    const where = { port, token, connections: CONNECTIONS };
    await load({ ...where, durationMs: WARM_UP_MS });
    child.send("begin");
    const loaded = await load({ ...where, durationMs: Number(values.seconds) * 1_000 });
    child.send("end");
    const figures = await next<ControlPlaneFigures>(child);
    child.send("close");
    await once(child, "exit");
    if (figures.submittedCount !== loaded.acknowledgedCount) {
      throw new Error(`${loaded.acknowledgedCount} were acknowledged, the engine has ${figures.submittedCount}`);
    }
    return {
      journal,
      perSecond: (loaded.acknowledgedCount / loaded.elapsedMs) * 1_000,
      perSync: figures.commandCount / figures.syncCount,
      ...loaded,
      ...figures,
    };
  } finally {
    child.kill("SIGKILL");
    rmSync(home, { recursive: true, force: true });
  }
}

const median = (numbers: readonly number[]): number =>
  numbers.toSorted((left, right) => left - right)[Math.floor(numbers.length / 2)] ?? Number.NaN;
const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

function machine(): object {
  const [cpu] = cpus();
  return {
    cpu: cpu?.model ?? "unknown",
    cores: cpus().length,
    memoryGib: rounded(totalmem() / 2 ** 30, 1),
    node: process.version,
    disk: disk(),
    loadAverage: readFileSync("/proc/loadavg", "utf8").trim(),
  };
}

/** Cost of a sync on this machine. Results mean little on a disk that does not really sync. */
function disk(): object {
  const directory = mkdtempSync(path.join(tmpdir(), "headroom-bench-"));
  const descriptor = openSync(path.join(directory, "probe"), "w");
  const block = Buffer.alloc(4_096);
  const syncsMs = Array.from({ length: 200 }, () => {
    const beganMs = performance.now();
    writeSync(descriptor, block);
    fdatasyncSync(descriptor);
    return performance.now() - beganMs;
  });
  closeSync(descriptor);
  const { type } = statfsSync(directory);
  rmSync(directory, { recursive: true });
  return {
    directory: tmpdir(),
    fileSystemMagic: `0x${type.toString(16)}`,
    append4KibAndSyncMs: rounded(median(syncsMs), 3),
  };
}

function summary(measurements: readonly Measurement[]): object {
  const of = (journal: JournalKind, figure: (measurement: Measurement) => number): number =>
    median(measurements.filter((measurement) => measurement.journal === journal).map(figure));
  const durable = of("durable", ({ perSecond }) => perSecond);
  const stubbed = of("stubbed", ({ perSecond }) => perSecond);
  const figures = {
    ratio: rounded(durable / stubbed, 3),
    durablePerSecond: Math.round(durable),
    stubbedPerSecond: Math.round(stubbed),
    submissionsPerSync: rounded(
      of("durable", ({ perSync }) => perSync),
      1,
    ),
    loopDelayP99Ms: rounded(
      of("durable", ({ loopDelayP99Ms }) => loopDelayP99Ms),
      1,
    ),
    latencyP50Ms: rounded(
      of("durable", ({ latencyP50Ms }) => latencyP50Ms),
      1,
    ),
    latencyP99Ms: rounded(
      of("durable", ({ latencyP99Ms }) => latencyP99Ms),
      1,
    ),
  };
  const met = {
    ratio: figures.ratio >= targets.ratio,
    perSecond: figures.durablePerSecond >= targets.perSecond,
    perSync: figures.submissionsPerSync >= targets.perSync,
    loopDelay: figures.loopDelayP99Ms <= targets.loopDelayP99Ms,
  };
  return { ...figures, targets, met, connections: CONNECTIONS, waitingBefore: WAITING, machine: machine() };
}

const measurements: Measurement[] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  // The order of the two variants alternates, so that neither always runs on the warmer machine.
  const order: JournalKind[] =
    round % 2 === 0 || values["durable-only"] ? ["durable", "stubbed"] : ["stubbed", "durable"];
  for (const journal of values["durable-only"] ? order.slice(0, 1) : order) measurements.push(await measure(journal));
}
const result = summary(measurements);
const rows = measurements.map((measurement) => ({
  journal: measurement.journal,
  "per second": Math.round(measurement.perSecond),
  "per sync": rounded(measurement.perSync, 1),
  "loop p99 ms": rounded(measurement.loopDelayP99Ms, 1),
  "loop max ms": rounded(measurement.loopDelayMaxMs, 1),
  "answer p50 ms": rounded(measurement.latencyP50Ms, 1),
  "answer p99 ms": rounded(measurement.latencyP99Ms, 1),
  "sync p50 ms": rounded(measurement.syncP50Ms, 2),
  "gangs ended/s": Math.round((measurement.endedCount / measurement.elapsedMs) * 1_000),
  waiting: measurement.waitingAfter,
  "cpu s": rounded(measurement.cpuS, 1),
  refused: measurement.refusedCount,
  "rss MiB": measurement.rssMib,
}));
console.log(JSON.stringify({ ...result, measurements: values.details ? measurements : rows }, null, 2));
