/** Tracks the processes that a measurement starts, so that none outlives it. */
import type { ChildProcess } from "node:child_process";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import type { CpuAccount } from "./cpu-account.ts";

/** Time in ms after which a daemon that does not end is killed. */
const END_TIMEOUT_MS = 15_000;
const POLL_MS = 100;
/** Maximum number of characters of a log that a message quotes. */
const LOG_SHOWN_MAX = 1_000;

export interface Daemon {
  readonly name: string;
  readonly child: ChildProcess;
  readonly logFile: string;
}

export interface DaemonCommand {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
}

/** Starts a daemon. The shell joins the cgroup before it becomes the daemon, so that all its CPU time is counted. */
export function startDaemon({ name, command, env, logFile }: DaemonCommand, { procsFile }: CpuAccount): Daemon {
  const log = openSync(logFile, "a", 0o600);
  const script = procsFile === null ? 'exec "$@"' : `echo $$ > '${procsFile}'; exec "$@"`;
  const child = spawn("/bin/sh", ["-c", script, name, ...command], { env, stdio: ["ignore", log, log] });
  closeSync(log);
  return { name, child, logFile };
}

/** Stops processes one after another, in reverse order of their start. */
export async function endDaemons(daemons: readonly Daemon[]): Promise<void> {
  for (const { child } of daemons.toReversed()) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), END_TIMEOUT_MS);
    await ended;
    clearTimeout(timer);
  }
}

/** Throws an error with the end of the daemon's log if the daemon has ended. */
export function assertRunning({ name, child, logFile }: Daemon): void {
  if (child.exitCode === null && child.signalCode === null) return;
  throw new Error(`${name} has ended: ${readFileSync(logFile, "utf8").slice(-LOG_SHOWN_MAX)}`);
}

/** Polls until the condition holds; fails with its description after a timeout. */
export async function until(what: string, timeoutMs: number, isSo: () => Promise<boolean> | boolean): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${Math.round(timeoutMs / 1000)} s`);
    await delay(POLL_MS);
  }
}

const executeFile = promisify(execFile);

/** The standard output of a command that must succeed. */
export async function output(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const { stdout } = await executeFile(file, args, { env, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}
