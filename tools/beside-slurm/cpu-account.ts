/**
 * CPU time of a process tree, including processes that left their parent. It uses a cgroup if the machine allows one,
 * so that other work on the machine is not counted.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync } from "node:fs";
import path from "node:path";

/** The cgroup v1 hierarchy that counts CPU time, and the single hierarchy of cgroup v2 (cgroups(7)). */
const PARENTS = ["/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"];
const NS_PER_MS = 1e6;
const US_PER_MS = 1e3;

export interface CpuAccount {
  /** File to which a pid is written, so that the process and its children are counted; `null`: not available. */
  readonly procsFile: string | null;
  /** CPU time in ms; `null` if it cannot be counted. */
  usedMs(): number | null;
  /** Removes the cgroup, once all its processes have ended. */
  close(): void;
}

export function openCpuAccount(name: string): CpuAccount {
  for (const parent of PARENTS) {
    const directory = path.join(parent, `${name}-${process.pid}`);
    try {
      mkdirSync(directory);
    } catch {
      continue;
    }
    if (existsSync(path.join(directory, "cgroup.procs")) && readUsedMs(directory) !== null) {
      return {
        procsFile: path.join(directory, "cgroup.procs"),
        usedMs: () => readUsedMs(directory),
        close: () => rmdirSync(directory),
      };
    }
    rmdirSync(directory);
  }
  return { procsFile: null, usedMs: () => null, close: () => undefined };
}

function readUsedMs(directory: string): number | null {
  const nanoseconds = textOf(path.join(directory, "cpuacct.usage"));
  if (nanoseconds !== null) return Number(nanoseconds) / NS_PER_MS;
  const microseconds = /^usage_usec (\d+)$/m.exec(textOf(path.join(directory, "cpu.stat")) ?? "")?.[1];
  return microseconds === undefined ? null : Number(microseconds) / US_PER_MS;
}

function textOf(file: string): string | null {
  return existsSync(file) ? readFileSync(file, "utf8") : null;
}
