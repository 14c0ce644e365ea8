import { spawn, type ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";

/**
 * CPU cores: one for the target, one for load generator and upstream. Undefined if processes cannot be pinned on this
 * machine.
 */
export interface Cores {
  readonly target: number;
  readonly load: number;
}

/** Clock ticks of /proc/PID/stat: 100 a second on every Linux that Node supports (USER_HZ). */
const TICKS_PER_SECOND = 100;
const KILL_AFTER_MS = 3000;

/** Whether a program can be started. */
export function isInstalled(program: string): boolean {
  const folders = [...(process.env["PATH"] ?? "").split(path.delimiter), "/usr/sbin", "/usr/local/sbin"];
  return folders.some((folder) => {
    try {
      return readdirSync(folder).includes(program);
    } catch {
      return false;
    }
  });
}

export function chooseCores(): Cores | undefined {
  return process.platform === "linux" && availableParallelism() >= 2 && isInstalled("taskset")
    ? { target: 0, load: 1 }
    : undefined;
}

/** Starts a program. If `core` is given, it is pinned to that core. */
export function startPinned(
  command: readonly string[],
  core: number | undefined,
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  const pinned = core === undefined ? command : ["taskset", "-c", String(core), ...command];
  const [program, ...args] = pinned as [string, ...string[]];
  const paths = `${process.env["PATH"] ?? ""}${path.delimiter}/usr/sbin`;
  return spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, PATH: paths, NODE_NO_WARNINGS: "1", ...env },
  });
}

/** Standard output of the program. Throws with its stderr if the program fails. */
export async function outputOf(child: ChildProcess, signal: AbortSignal): Promise<string> {
  const stop = (): boolean => child.kill("SIGKILL");
  signal.addEventListener("abort", stop, { once: true });
  let output = "";
  let errors = "";
  child.stdout?.on("data", (bytes: Buffer) => (output += bytes.toString("utf8")));
  child.stderr?.on("data", (bytes: Buffer) => (errors += bytes.toString("utf8")));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  signal.removeEventListener("abort", stop);
  if (code !== 0) throw new Error(`a process of the benchmark ended with code ${code}: ${errors.slice(-2000)}`);
  return output;
}

/** Ends a process: SIGTERM, then SIGKILL. */
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS);
  await ended;
  clearTimeout(timer);
}

/** CPU seconds that a process and its descendants have used. Undefined if there is no /proc. */
export function cpuSeconds(pid: number): number | undefined {
  const own = ticksOf(pid);
  return own === undefined
    ? undefined
    : descendants(pid).reduce((sum, child) => sum + (ticksOf(child) ?? 0), own) / TICKS_PER_SECOND;
}

/** Resident memory in MiB of a process and its descendants. */
export function residentMib(pid: number): number | undefined {
  let kib = 0;
  for (const each of [pid, ...descendants(pid)]) {
    const line = /VmRSS:\s+(\d+)/.exec(readProc(each, "status") ?? "");
    kib += Number(line?.[1] ?? 0);
  }
  return kib === 0 ? undefined : Math.round(kib / 1024);
}

function ticksOf(pid: number): number | undefined {
  const stat = readProc(pid, "stat");
  if (stat === undefined) return undefined;
  // The name in parentheses may hold spaces; utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

function descendants(pid: number): number[] {
  const children = (readProc(pid, `task/${pid}/children`) ?? "").split(" ").filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return undefined;
  }
}
