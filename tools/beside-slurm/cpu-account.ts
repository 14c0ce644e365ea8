/**
 * The CPU time of everything that was started in an account, also of what has left its parent: a cgroup of its own, where
 * the machine lets one be made. It tells two sides apart on a machine on which others work too.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync } from "node:fs";
import path from "node:path";

/** The hierarchy of version 1 that counts CPU time, and the one hierarchy of version 2 (cgroups(7)). */
const PARENTS = ["/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup"];
const NS_PER_MS = 1e6;
const US_PER_MS = 1e3;

export interface CpuAccount {
  /** To be written with a pid, by which that process and all that it starts are counted; `null`: nothing is counted. */
  readonly procsFile: string | null;
  /** `null` where it cannot be counted. */
  usedMs(): number | null;
  /** Once every process in it has ended. */
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
