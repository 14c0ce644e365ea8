/**
 * The process that stands between the control plane and one attempt's workers: started detached, with the attempt's
 * directory as its argument, it claims the attempt, runs the gang, owns its pipes, enforces grace, and writes down how it
 * ended. It talks to nobody: what it knows is in the directory (`attempt-files.ts`), and it survives the control plane.
 * It starts for every attempt, so it imports nothing but Node and its own few files.
 */
import { existsSync } from "node:fs";
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
import { Gang } from "./gang.ts";
import { LogWriter } from "./log-writer.ts";
import { identityOf } from "./process-table.ts";
import { killSurvivors } from "./worker-processes.ts";

/** The bell for a stop is SIGURG, which does nothing to a process that is not ours; this is for the case that it is missed. */
const STOP_POLL_MS = 5_000;
/** After a failed start nothing of the gang may run on; what resists this long is in the kernel's hands. */
const CLEAN_UP_TIMEOUT_MS = 5_000;
/** The end must be written down, however long the disk stays full. */
const RECORD_RETRY_MS = 1_000;

function claim(attemptDir: string): boolean {
  const supervisor = identityOf(process.pid);
  if (supervisor === null) throw new Error("/proc does not show this process");
  return createRecord(attemptDir, "claim.json", { version: 1, kind: "supervised", supervisor });
}

async function supervise(attemptDir: string, launch: LaunchRecord): Promise<ExitRecord> {
  const gang = new Gang(attemptDir, launch);
  const obeyStop = (): void => {
    const stop = readRecord(attemptDir, "stop.json");
    if (stop !== null) gang.stop(stop.graceTimeoutMs);
  };
  // Handlers first: a stop that is written from here on is either seen below or rings.
  process.on("SIGURG", obeyStop);
  process.on("SIGHUP", () => {});
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => gang.stop(launch.graceTimeoutMs));
  if (existsSync(path.join(attemptDir, "stop.json"))) return lost("It was stopped before it started.");
  try {
    await gang.start();
  } catch (error) {
    await killSurvivors(gang.identities, environmentMarkOf(attemptDir), CLEAN_UP_TIMEOUT_MS);
    if (isRefusedCommand(error)) return refused(attemptDir, launch, error);
    return lost(`Its workers could not be started: ${messageOf(error)}.`);
  }
  obeyStop();
  // Node would write its cache on its way out: too late for the starts until then, and when the home may be gone already.
  flushCompileCache();
  const poll = setInterval(obeyStop, STOP_POLL_MS);
  const exit = await gang.ended;
  clearInterval(poll);
  return exit;
}

/** The command or its environment is what the operating system will not take (execve(2), E2BIG): no other machine would. */
function isRefusedCommand(error: unknown): error is Error {
  return (
    error instanceof Error && "code" in error && (error.code === "E2BIG" || error.code === "ERR_INVALID_ARG_VALUE")
  );
}

/** The workload's own failure, so that its retries are counted: what a shell says of a command that it cannot execute. */
function refused(attemptDir: string, launch: LaunchRecord, error: Error): ExitRecord {
  const log = new LogWriter(workerDirOf(attemptDir, 0), "stderr", launch.log);
  log.write(Buffer.from(`headroom: the command or its environment was refused: ${error.message}\n`));
  log.close();
  const exits = launch.environments.map((_, worker) => ({ kind: "exited", worker, code: 126 }) as const);
  return { version: 1, kind: "exited", startedAtMs: Date.now(), endedAtMs: Date.now(), exits, usage: [] };
}

function lost(detail: string): ExitRecord {
  return { version: 1, kind: "lost", endedAtMs: Date.now(), detail };
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

const attemptDir = path.resolve(process.argv[2] ?? "");
const launch = readRecord(attemptDir, "launch.json");
if (launch === null) throw new Error(`${attemptDir} holds no launch.json`);
if (claim(attemptDir)) {
  const exit = await supervise(attemptDir, launch);
  await recordEnd(attemptDir, exit);
  process.exit(0);
}
