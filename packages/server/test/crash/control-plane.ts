/**
 * The control plane under test: the real driver on a real journal with an executor, and a pipe instead of the API. It
 * can kill itself at a named point of the driver's loop. Each reply is written with one write call, so that a trace of
 * system calls shows which commands were acknowledged at any instant.
 */
import { openSync, writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import { presets } from "@headroom/model";
import { createLocalExecutor } from "@headroom/executors";
import type { Executor } from "@headroom/executors";
import { sqliteJournal } from "@headroom/journal";
import type { Driver } from "../../src/driver/driver.ts";
import { openDriver } from "../../src/driver/open-driver.ts";
import { FileExecutor } from "../../src/driver/testing/file-executor.ts";
import { journalDirectory } from "../../src/driver/testing/bench-home.ts";
import type { FaultHook, FaultPoint } from "../../src/faults/fault-points.ts";
import type { ClientLine, ControlPlaneLine, ControlPlaneOptions } from "./messages.ts";

const options = JSON.parse(process.argv[2] ?? "") as ControlPlaneOptions;

/** The pipe is non-blocking, and the client may be busy: waits until the line is accepted, as for a socket. */
function say(line: ControlPlaneLine): void {
  const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(1, bytes, written);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
      Atomics.wait(sleeper, 0, 0, 1);
    }
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

function hook({ kill, marksPoints }: ControlPlaneOptions): FaultHook {
  const marks = marksPoints ? openSync("/dev/null", "w") : null;
  let seen = 0;
  const arrive = (point: FaultPoint): void => {
    if (marks !== null) writeSync(marks, point);
    if (kill !== null && point === kill.point && ++seen === kill.count) die();
  };
  // Answers are written in a separate turn of the event loop, so that the actions that follow come later.
  return (point) => (point === "after-reply-before-launch" ? nextTurn().then(() => arrive(point)) : arrive(point));
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function die(): void {
  const untilMs = performance.now() + (options.kill?.delayMicros ?? 0) / 1000;
  while (performance.now() < untilMs);
  say({ kind: "killing", point: options.kill?.point ?? "before-append" });
  process.kill(process.pid, "SIGKILL");
  Atomics.wait(sleeper, 0, 0);
}

function makeExecutor({ home, executor }: ControlPlaneOptions): Executor {
  if (executor === "file") return new FileExecutor({ directory: home, slots: 4, runMs: 15 });
  // Workers list their starts in a file of the home, which a sandbox hides.
  return createLocalExecutor({ homeDir: home, slotCount: 4, accelerators: "declared", isolation: "none" });
}

async function register(driver: Driver, executor: Executor): Promise<void> {
  const { sites, pools, nodes } = await executor.inventory();
  await driver.command({ kind: "apply", actor: "start", idempotencyKey: null, sites, pools, teams: [], workloads: [] });
  for (const node of nodes) await driver.observe({ kind: "nodeSeen", node });
  // With real processes, gangs can grow and shrink.
  const policy = presets.get("default");
  if (options.executor === "local" && policy !== undefined)
    await driver.command({ kind: "setPolicy", actor: "start", idempotencyKey: null, policy });
}

async function tellEnds(driver: Driver): Promise<void> {
  for await (const { sequence, event } of driver.events(options.eventsFrom, new AbortController().signal)) {
    if (event.kind === "workloadEnded") say({ kind: "ended", workloadId: event.workloadId, sequence });
  }
}

async function run(): Promise<void> {
  const executor = makeExecutor(options);
  const driver = await openDriver({
    openJournal: sqliteJournal(journalDirectory(options.home), {
      synchronous: options.synchronous,
      checkpointBytes: 64 * 1024,
    }),
    executors: [executor],
    log: {
      info: () => undefined,
      warn: (line) => process.stderr.write(`${line}\n`),
      error: (line) => process.stderr.write(`${line}\n`),
    },
    onFatal: (error) => {
      say({ kind: "fatal", message: error.message });
      process.exit(1);
    },
    onPoint: hook(options),
    // Small values, so that runs of seconds include many checkpoints, snapshots and digests.
    snapshots: { everyEvents: 150, pauseMinMs: 0 },
    digestEveryEvents: 40,
  });
  // The values are small, so that runs of seconds include many checkpoints, snapshots and digests.
  flushCompileCache();
  say({ kind: "ready", sequence: driver.status().sequence });
  await register(driver, executor);
  void tellEnds(driver);
  for await (const text of createInterface({ input: process.stdin })) {
    const line = JSON.parse(text) as ClientLine;
    if (line.kind === "close") break;
    const { id, request } = line;
    void driver.command(request).then(
      (reply) => say({ kind: "reply", id, reply }),
      () => undefined,
    );
  }
  await driver.close();
  await executor.close();
  say({ kind: "closed" });
  process.exit(0);
}

run().catch((error: unknown) => {
  say({ kind: "fatal", message: error instanceof Error ? error.message : String(error) });
  process.exit(1);
});
