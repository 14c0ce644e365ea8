/**
 * The supervisor of one attempt. It claims the attempt, starts the workers and holds their pipes, enforces the grace
 * period, and writes the exit record. It runs detached and keeps its state in the records (`attempt-files.ts`), so it
 * survives a restart of the control plane. The control plane sends one line for each attempt to its standard input. The
 * line names the attempt and contains the secret of its records (`AttemptKey`): other processes could read the secret
 * in an argument or an environment. When an attempt has ended and left no process behind, the supervisor writes one
 * byte to its standard output and waits for the next line. It exits when the control plane has closed the pipe.
 * Supervisors start often, so this file imports only Node and a few small files.
 */
import { closeSync, readdirSync, readFileSync, readSync, writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import type { AttemptKey } from "../job-protocol/attempt-files.ts";
import type { ExitRecord, LaunchRecord } from "../job-protocol/attempt-records.ts";
import { AttemptFiles, UnreadableRecord } from "../job-protocol/attempt-files.ts";
import { PipeSource } from "../processes/fifo.ts";
import { Gang } from "../processes/gang.ts";
import { removeScratch } from "../processes/isolation/scratch.ts";
import { isRefusedCommand, messageOf, recordEnd, refusedExit } from "../processes/attempt-end.ts";
import { identityOf, readBootId } from "../processes/process-table.ts";
import { killSurvivors } from "../processes/worker-processes.ts";

/**
 * Interval in ms for reading requests, in case the notification is missed. The notification is SIGURG, which other
 * processes ignore.
 */
const ORDER_POLL_MS = 5_000;
/**
 * Time in ms after a failed start. No process of the gang may then continue; a process that is still there is blocked
 * in the kernel.
 */
const CLEAN_UP_TIMEOUT_MS = 5_000;
const STOPPED_EARLY = "It was stopped before it started.";

function claim(files: AttemptFiles): boolean {
  const supervisor = identityOf(process.pid);
  if (supervisor === null) throw new Error("/proc does not show this process");
  if (!files.create("claim.json", { kind: "supervised", bootId: readBootId(), supervisor })) return false;
  files.markClaimed();
  return true;
}

const pipes = new PipeSource();
/** Handler of the notification (SIGURG) in the current phase. */
let obey: () => void = () => {};
/**
 * Handler of a termination signal in the current phase. Before the first attempt nothing runs, so the process can exit.
 */
let stopAtOnce: () => void = () => process.exit(0);

interface End {
  readonly exit: ExitRecord;
  /** No process of the attempt and no open pipe remains, so this attempt cannot affect the next one. */
  readonly leftNothing: boolean;
}

async function supervise(files: AttemptFiles, launch: LaunchRecord): Promise<End> {
  const gang = new Gang(files, launch, pipes);
  // Handlers are installed first. A stop request that is written from now on is read below, or its notification
  // arrives.
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
    const groups = gang.workers.flatMap(({ group }) => group ?? []);
    const processes = { workers: gang.identities, marks: [files.environmentMark], groups };
    await killSurvivors(processes, CLEAN_UP_TIMEOUT_MS);
    for (const group of groups) group.remove();
    await removeScratch(launch);
    if (gang.isStopping) return lost(STOPPED_EARLY);
    if (isRefusedCommand(error)) return { exit: refusedExit(files, launch, error.message), leftNothing: false };
    return lost(`Its workers could not be started: ${messageOf(error)}.`);
  }
  obey();
  // Node writes its compile cache at exit. This is too late for other supervisors that start before, and the home
  // directory can be gone by then.
  flushCompileCache();
  const poll = setInterval(() => obey(), ORDER_POLL_MS);
  const exit = await gang.ended;
  clearInterval(poll);
  return { exit, leftNothing: gang.leftNothing };
}

/**
 * Grace period of the requested stop; `null`: no stop was requested. A damaged request counts as a stop with the grace
 * period of the launch.
 */
function requestedGraceMs(files: AttemptFiles, launch: LaunchRecord): number | null {
  try {
    return files.read("stop.json")?.graceTimeoutMs ?? null;
  } catch (error) {
    if (error instanceof UnreadableRecord) return launch.graceTimeoutMs;
    throw error;
  }
}

/** The start may have failed because of this process, so it takes no further attempt. */
function lost(detail: string): End {
  return { exit: { kind: "lost", endedAtMs: Date.now(), detail }, leftNothing: false };
}

/** Runs one attempt to its end. Returns whether this process can take another attempt. */
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

/** Tells the control plane that this supervisor is idle. Returns false if the control plane has closed the pipe. */
function reportFree(): boolean {
  try {
    return writeSync(1, ".") === 1;
  } catch {
    return false;
  }
}

/** Closes files that the control plane itself has inherited, for example from a shell. Workers would inherit them too. */
function closeInherited(): void {
  for (const name of readdirSync("/proc/self/fd")) {
    const descriptor = Number(name);
    if (descriptor <= 2) continue;
    try {
      const [, flags = "0"] = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, "latin1")) ?? [];
      if ((Number.parseInt(flags, 8) & O_CLOEXEC) === 0) closeSync(descriptor);
    } catch {
      // The descriptor belonged to the listing itself.
    }
  }
}

/** Flag of open(2) on Linux, the same on every architecture that Node runs on. Node opens all its files with it. */
const O_CLOEXEC = 0o2_000_000;

const NEWLINE = 10;
/** Maximum length of an order, which contains two paths and a secret. */
const ORDER_MAX_BYTES = 64 * 1024;

/**
 * The first line of standard input; `null`: end of input. It is read synchronously, because most supervisors never read
 * a second line.
 */
function firstOrder(): string | null {
  const block = Buffer.alloc(ORDER_MAX_BYTES);
  for (let length = 0; length < ORDER_MAX_BYTES;) {
    const read = readSync(0, block, length, ORDER_MAX_BYTES - length, null);
    if (read === 0) return null;
    length += read;
    // Only one order is in the pipe. The control plane sends the next one after this one is done.
    if (block[length - 1] === NEWLINE) return block.toString("utf8", 0, length - 1);
  }
  return null;
}

/** Further lines of standard input. The stream is opened only when a second line is needed. */
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

closeInherited();
process.on("SIGURG", () => obey());
process.on("SIGHUP", () => {});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stopAtOnce());
// Workers inherit this directory until they enter their own, so it must not lead to the records.
process.chdir("/");
const first = firstOrder();
if (first !== null && (await serve(first)) && reportFree()) {
  for await (const order of orders()) {
    if (!(await serve(order)) || !reportFree()) break;
  }
}
process.exit(0);
