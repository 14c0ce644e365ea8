/**
 * Measures submissions beside readers of the event stream: readers that catch up on 50,000 events, readers of new
 * events, and readers that do not read. Prints the control plane's event-loop delay and the latency of a submission.
 * Options: `--seconds N` with stalled readers (15), `--json`.
 */
import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { ControlPlaneFigures, ControlPlaneReady, LoadFigures, ReadersConfig, ReadersFigures } from "./messages.ts";

const WAITING = 50_000;
const CATCHING_UP = 32;
const READERS_MAX = 256;
/**
 * Interval in ms of the submissions that measure latency: short enough to notice a pause, long enough to add no load.
 */
const PROBE_PAUSE_MS = 20;
/**
 * Duration in s of the process that measures latency. It is longer than every scenario; a scenario ends the process.
 */
const IDLE_MS = 5_000;
const targets = { loopDelayP99Ms: 25 };

const { values } = parseArgs({
  options: { seconds: { type: "string", default: "15" }, details: { type: "boolean", default: false } },
});
const stalledMs = Number(values.seconds) * 1_000;

async function next<T>(child: ChildProcess): Promise<T> {
  const [message] = (await once(child, "message")) as [T];
  return message;
}

const start = (file: string, config: object): ChildProcess =>
  fork(path.join(import.meta.dirname, file), [JSON.stringify(config)]);

interface Measured extends ControlPlaneFigures, LoadFigures {
  readonly scenario: string;
  readonly readersMs: number | null;
  readonly lineCount: number | null;
  readonly gapCount: number | null;
}

const home = mkdtempSync(path.join(tmpdir(), "headroom-bench-"));
const fleet = { nodes: 64, runMinMs: 3_600_000 };
const plane = start("control-plane-process.ts", { home, journal: "durable", waitingCount: WAITING, fleet });
const measured: Measured[] = [];

async function measure(scenario: string, during: () => Promise<ReadersFigures | null>) {
  plane.send("begin");
  const prober = start("load-process.ts", { ...ready, connections: 1, durationMs: 600_000, pauseMs: PROBE_PAUSE_MS });
  const readers = await during();
  prober.send("end");
  const probed = await next<LoadFigures>(prober);
  plane.send("end");
  const figures = await next<ControlPlaneFigures>(plane);
  const { elapsedMs: readersMs, lineCount, gapCount } = readers ?? { elapsedMs: null, lineCount: null, gapCount: null };
  measured.push({ scenario, readersMs, lineCount, gapCount, ...probed, ...figures });
}

const ready = await next<ControlPlaneReady>(plane);
try {
  const readersOf = (mode: ReadersConfig["mode"], readers: number): ChildProcess =>
    start("stream-readers-process.ts", { ...ready, readers, mode, untilSequence: WAITING } satisfies ReadersConfig);
  await measure("no reader", async () => {
    await sleep(IDLE_MS);
    return null;
  });
  await measure(`${CATCHING_UP} readers that catch up`, () => next<ReadersFigures>(readersOf("catchUp", CATCHING_UP)));
  await measure(`${READERS_MAX} readers of new events`, async () => {
    const readers = readersOf("follow", READERS_MAX);
    await sleep(stalledMs);
    readers.send("end");
    return next<ReadersFigures>(readers);
  });
  await measure(`${READERS_MAX} readers that catch up`, () => next<ReadersFigures>(readersOf("catchUp", READERS_MAX)));
  await measure(`${READERS_MAX} readers at different places`, () =>
    next<ReadersFigures>(readersOf("spread", READERS_MAX)),
  );
  await measure(`${READERS_MAX} readers that do not read`, async () => {
    const readers = readersOf("stalled", READERS_MAX);
    try {
      const figures = await Promise.race([next<ReadersFigures>(readers), sleep(stalledMs, null)]);
      await sleep(stalledMs);
      return figures;
    } finally {
      readers.kill("SIGKILL");
    }
  });
} finally {
  plane.kill("SIGKILL");
  rmSync(home, { recursive: true, force: true });
}

const rounded = (value: number): number => Number(value.toFixed(1));
const rows = measured.map((each) => ({
  readers: each.scenario,
  "loop p99 ms": rounded(each.loopDelayP99Ms),
  "loop max ms": rounded(each.loopDelayMaxMs),
  submissions: each.acknowledgedCount,
  "submission p50 ms": rounded(each.latencyP50Ms),
  "submission p99 ms": rounded(each.latencyP99Ms),
  "submission max ms": rounded(each.latencyMaxMs),
  "readers took ms": each.readersMs === null ? null : Math.round(each.readersMs),
  "lines of a reader": each.lineCount,
  gaps: each.gapCount,
  "cpu s": rounded(each.cpuS),
  "rss MiB": each.rssMib,
}));
const met = measured.every(({ loopDelayP99Ms }) => loopDelayP99Ms <= targets.loopDelayP99Ms);
console.log(JSON.stringify({ targets, met, measured: values.details ? measured : rows }, null, 2));
