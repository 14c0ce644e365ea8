/**
 * The process that stands between the control plane and one attempt's workers: started detached, it reads a line from its standard
 * input, which names the attempt and carries the secret of its records (`AttemptKey`); it claims the attempt, runs the gang, owns
 * its pipes, enforces grace, and writes down how it ended. It keeps all it knows in the records (`attempt-files.ts`), and it
 * survives the control plane. The secret is in no argument and no environment, where other processes could read it.
 *
 * Once an attempt has ended and left nothing behind, it says so (one byte on its standard output) and takes the next one, another
 * line. Without a control plane at the other end there is none, and it ends.
 * It starts often, so it imports nothing but Node and its own few files.
 */
import { readSync, writeFileSync, writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import type { AttemptKey, ExitRecord, LaunchRecord } from "./attempt-files.ts";
import { AttemptFiles, isMissing, ringBell, UnreadableRecord } from "./attempt-files.ts";
import { PipeSource } from "./fifo.ts";
import { Gang } from "./gang.ts";
import { LogWriter } from "./log-writer.ts";
import { identityOf, readBootId } from "./process-table.ts";
import { killSurvivors } from "./worker-processes.ts";

/**
 * Interval for reading requests in case the notification is missed. The notification is SIGURG, which other processes
 * ignore.
 */
const ORDER_POLL_MS = 5_000;
/**
 * After a failed start no process of the gang may continue; a process that survives this long is blocked in the kernel.
 */
const CLEAN_UP_TIMEOUT_MS = 5_000;
/** The end must be recorded, however long the disk stays full. */
const RECORD_RETRY_MS = 1_000;
const STOPPED_EARLY = "It was stopped before it started.";

function claim(files: AttemptFiles): boolean {
  const supervisor = identityOf(process.pid);
  if (supervisor === null) throw new Error("/proc does not show this process");
  if (!files.create("claim.json", { kind: "supervised", bootId: readBootId(), supervisor })) return false;
  writeFileSync(files.claimMark, "", { mode: 0o600 });
  return true;
}

const pipes = new PipeSource();
/** Handler of the notification in the present phase. */
let obey: () => void = () => {};
/** Handler of a termination signal to this process in the present phase; at first nothing runs, so nothing is lost. */
let stopAtOnce: () => void = () => process.exit(0);

interface End {
  readonly exit: ExitRecord;
  /** No process and no open pipe remains, so this attempt cannot affect the next one. */
  readonly leftNothing: boolean;
}

async function supervise(files: AttemptFiles, launch: LaunchRecord): Promise<End> {
  const gang = new Gang(files, launch, pipes);
  // Handlers are installed first: a stop request that is written from here on is either read below or notified.
  obey = () => {
    const graceMs = requestedGraceMs(files, launch);
    if (graceMs !== null) gang.stop(graceMs);
    gang.resize();
  };
  stopAtOnce = () => gang.stop(launch.graceTimeoutMs);
  if (files.has("stop.json")) return lost(STOPPED_EARLY);
  try {
    await gang.start();
  } catch (error) {
    await killSurvivors(gang.identities, [files.environmentMark], CLEAN_UP_TIMEOUT_MS);
    if (gang.isStopping) return lost(STOPPED_EARLY);
    if (isRefusedCommand(error)) return refused(files, launch, error);
    return lost(`Its workers could not be started: ${messageOf(error)}.`);
  }
  obey();
  // Node would write its cache at exit, which is too late for starts until then, and the home directory may be gone by
  // then.
  flushCompileCache();
  const poll = setInterval(() => obey(), ORDER_POLL_MS);
  const exit = await gang.ended;
  clearInterval(poll);
  return { exit, leftNothing: gang.leftNothing };
}

/**
 * Grace period of the requested stop; `null`: no stop was requested. A damaged request counts as a stop with the
 * launch's grace period.
 */
function requestedGraceMs(files: AttemptFiles, launch: LaunchRecord): number | null {
  try {
    return files.read("stop.json")?.graceTimeoutMs ?? null;
  } catch (error) {
    if (error instanceof UnreadableRecord) return launch.graceTimeoutMs;
    throw error;
  }
}

/** The operating system rejects the command or its environment (execve(2), E2BIG), as every machine would. */
function isRefusedCommand(error: unknown): error is Error {
  return (
    error instanceof Error && "code" in error && (error.code === "E2BIG" || error.code === "ERR_INVALID_ARG_VALUE")
  );
}

/**
 * Ends the attempt with the exit code of a shell that cannot execute a command. It counts as the workload's own
 * failure, so that its retries are bounded.
 */
function refused(files: AttemptFiles, launch: LaunchRecord, error: Error): End {
  const log = new LogWriter(files.workerDir(0), "stderr", launch.log);
  log.write(Buffer.from(`headroom: the command or its environment was refused: ${error.message}\n`));
  log.close();
  const exits = launch.environments.map((_, worker) => ({ kind: "exited", worker, code: 126 }) as const);
  const endedAtMs = Date.now();
  const exit = { kind: "exited", startedAtMs: endedAtMs, endedAtMs, exits, usage: [] } as const;
  return { exit, leftNothing: false };
}

/** The cause of a failed start may be in this process. */
function lost(detail: string): End {
  return { exit: { kind: "lost", endedAtMs: Date.now(), detail }, leftNothing: false };
}

async function recordEnd(files: AttemptFiles, exit: ExitRecord): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      files.createDurably("exit.json", exit);
      ringBell(files);
      return;
    } catch (error) {
      // The directory was removed: the result is not needed any more.
      if (isMissing(error)) return;
      if (tries === 0) process.stderr.write(`exit.json: ${messageOf(error)}; trying until it is written\n`);
      await new Promise((resolve) => setTimeout(resolve, RECORD_RETRY_MS));
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns whether this process can take another attempt. */
async function serve(order: string): Promise<boolean> {
  const files = new AttemptFiles(JSON.parse(order) as AttemptKey);
  const launch = files.read("launch.json");
  if (launch === null) throw new Error(`${files.recordsDir} holds no launch.json`);
  if (!claim(files)) return true;
  const { exit, leftNothing } = await supervise(files, launch);
  await recordEnd(files, exit);
  obey = () => {};
  stopAtOnce = () => process.exit(0);
  return leftNothing;
}

/** False if the control plane does not listen any more. */
function reportFree(): boolean {
  try {
    return writeSync(1, ".") === 1;
  } catch {
    return false;
  }
}

const NEWLINE = 10;
/** An order is shorter: two paths and a secret. */
const ORDER_MAX_BYTES = 64 * 1024;

/**
 * The first line of standard input, read without the event loop, because most supervisors never read another. `null`:
 * there is none.
 */
function firstOrder(): string | null {
  const block = Buffer.alloc(ORDER_MAX_BYTES);
  for (let length = 0; length < ORDER_MAX_BYTES;) {
    const read = readSync(0, block, length, ORDER_MAX_BYTES - length, null);
    if (read === 0) return null;
    length += read;
    // One order at a time: the next is sent when this one is done.
    if (block[length - 1] === NEWLINE) return block.toString("utf8", 0, length - 1);
  }
  return null;
}

/** Further lines of standard input, which is not opened before they are needed. */
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
// Workers inherit this directory until they enter their own: it must not lead to the records.
process.chdir("/");
const first = firstOrder();
if (first !== null && (await serve(first)) && reportFree()) {
  for await (const order of orders()) {
    if (!(await serve(order)) || !reportFree()) break;
  }
}
process.exit(0);
