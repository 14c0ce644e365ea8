/**
 * The process that stands between the control plane and one attempt's workers: started detached, with the attempt's
 * directory as its argument, it claims the attempt, runs the gang, owns its pipes, enforces grace, and writes down how it
 * ended. What it knows is in the directory (`attempt-files.ts`), and it survives the control plane.
 *
 * Once an attempt has ended and left nothing behind, it says so (one byte on its standard output) and takes the next one:
 * a line on its standard input, the attempt's directory. Without a control plane at the other end there is none, and it ends.
 * It starts often, so it imports nothing but Node and its own few files.
 */
import { existsSync, writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import path from "node:path";
import type { ExitRecord, LaunchRecord } from "./attempt-files.ts";
import {
  createRecord,
  createRecordDurably,
  environmentMarkOf,
  isMissing,
  readRecord,
  ringBell,
  workerDirOf,
} from "./attempt-files.ts";
import { PipeSource } from "./fifo.ts";
import { Gang } from "./gang.ts";
import { LogWriter } from "./log-writer.ts";
import { identityOf } from "./process-table.ts";
import { killSurvivors } from "./worker-processes.ts";

/** The bell is SIGURG, which does nothing to a process that is not ours; this is for the case that it is missed. */
const ORDER_POLL_MS = 5_000;
/** After a failed start nothing of the gang may run on; what resists this long is in the kernel's hands. */
const CLEAN_UP_TIMEOUT_MS = 5_000;
/** The end must be written down, however long the disk stays full. */
const RECORD_RETRY_MS = 1_000;

function claim(attemptDir: string): boolean {
  const supervisor = identityOf(process.pid);
  if (supervisor === null) throw new Error("/proc does not show this process");
  return createRecord(attemptDir, "claim.json", { version: 1, kind: "supervised", supervisor });
}

const pipes = new PipeSource();
/** What a bell means now. */
let obey: () => void = () => {};
/** What a signal to this process itself means now: nothing runs, nothing is lost. */
let stopAtOnce: () => void = () => process.exit(0);

interface End {
  readonly exit: ExitRecord;
  /** No process and no open pipe: nothing of this attempt can reach the next one. */
  readonly leftNothing: boolean;
}

async function supervise(attemptDir: string, launch: LaunchRecord): Promise<End> {
  const gang = new Gang(attemptDir, launch, pipes);
  // Handlers first: a stop that is written from here on is either seen below or rings.
  obey = () => {
    const stop = readRecord(attemptDir, "stop.json");
    if (stop !== null) gang.stop(stop.graceTimeoutMs);
    gang.resize();
  };
  stopAtOnce = () => gang.stop(launch.graceTimeoutMs);
  if (existsSync(path.join(attemptDir, "stop.json"))) return lost("It was stopped before it started.");
  try {
    await gang.start();
  } catch (error) {
    await killSurvivors(gang.identities, [environmentMarkOf(attemptDir)], CLEAN_UP_TIMEOUT_MS);
    if (isRefusedCommand(error)) return refused(attemptDir, launch, error);
    return lost(`Its workers could not be started: ${messageOf(error)}.`);
  }
  obey();
  // Node would write its cache on its way out: too late for the starts until then, and when the home may be gone already.
  flushCompileCache();
  const poll = setInterval(() => obey(), ORDER_POLL_MS);
  const exit = await gang.ended;
  clearInterval(poll);
  return { exit, leftNothing: gang.leftNothing };
}

/** The command or its environment is what the operating system will not take (execve(2), E2BIG): no other machine would. */
function isRefusedCommand(error: unknown): error is Error {
  return (
    error instanceof Error && "code" in error && (error.code === "E2BIG" || error.code === "ERR_INVALID_ARG_VALUE")
  );
}

/** The workload's own failure, so that its retries are counted: what a shell says of a command that it cannot execute. */
function refused(attemptDir: string, launch: LaunchRecord, error: Error): End {
  const log = new LogWriter(workerDirOf(attemptDir, 0), "stderr", launch.log);
  log.write(Buffer.from(`headroom: the command or its environment was refused: ${error.message}\n`));
  log.close();
  const exits = launch.environments.map((_, worker) => ({ kind: "exited", worker, code: 126 }) as const);
  const endedAtMs = Date.now();
  const exit = { version: 1, kind: "exited", startedAtMs: endedAtMs, endedAtMs, exits, usage: [] } as const;
  return { exit, leftNothing: false };
}

/** Whatever was in the way of a start may be in this process. */
function lost(detail: string): End {
  return { exit: { version: 1, kind: "lost", endedAtMs: Date.now(), detail }, leftNothing: false };
}

async function recordEnd(attemptDir: string, exit: ExitRecord): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      createRecordDurably(attemptDir, "exit.json", exit);
      ringBell(attemptDir);
      return;
    } catch (error) {
      // The directory was removed: nobody wants to know any more.
      if (isMissing(error)) return;
      if (tries === 0) process.stderr.write(`exit.json: ${messageOf(error)}; trying until it is written\n`);
      await new Promise((resolve) => setTimeout(resolve, RECORD_RETRY_MS));
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether this process is as good as new afterwards. */
async function serve(attemptDir: string): Promise<boolean> {
  process.chdir(attemptDir);
  const launch = readRecord(attemptDir, "launch.json");
  if (launch === null) throw new Error(`${attemptDir} holds no launch.json`);
  if (!claim(attemptDir)) return true;
  const { exit, leftNothing } = await supervise(attemptDir, launch);
  await recordEnd(attemptDir, exit);
  obey = () => {};
  stopAtOnce = () => process.exit(0);
  return leftNothing;
}

/** False when nobody listens any more. */
function reportFree(): boolean {
  try {
    return writeSync(1, ".") === 1;
  } catch {
    return false;
  }
}

/** The lines of standard input, which is not touched before the first of them is wanted. */
async function* orders(): AsyncGenerator<string> {
  let text = "";
  for await (const chunk of process.stdin) {
    text += String(chunk);
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      yield text.slice(0, end);
      text = text.slice(end + 1);
    }
  }
}

process.on("SIGURG", () => obey());
process.on("SIGHUP", () => {});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stopAtOnce());
if ((await serve(path.resolve(process.argv[2] ?? ""))) && reportFree()) {
  for await (const attemptDir of orders()) {
    if (!(await serve(attemptDir)) || !reportFree()) break;
  }
}
process.exit(0);
