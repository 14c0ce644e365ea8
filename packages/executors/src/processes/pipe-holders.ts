/**
 * Finds processes that can still write to the pipes of a worker that has ended. A process that has left its session, its
 * group and its environment is found by nothing else.
 */
import { fstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { killProcess } from "./worker-processes.ts";
import { runningProcesses } from "./process-table.ts";

/** Identifies an open pipe: two descriptors of the same pipe have the same device and inode. */
export interface PipeIdentity {
  readonly device: bigint;
  readonly inode: bigint;
}

export function pipeIdentity(descriptor: number): PipeIdentity {
  const { dev: device, ino: inode } = fstatSync(descriptor, { bigint: true });
  return { device, inode };
}

/** Kills every process except this one that has one of the pipes open for writing. A reader is left alone. */
export function killWritersOf(pipes: readonly PipeIdentity[]): void {
  for (const { pid } of runningProcesses())
    if (pid !== process.pid && descriptorsOf(pid).some((descriptor) => writesTo(pid, descriptor, pipes)))
      killProcess(pid);
}

function descriptorsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    // The process has ended, or belongs to another user.
    return [];
  }
}

function writesTo(pid: number, descriptor: string, pipes: readonly PipeIdentity[]): boolean {
  try {
    const stat = statSync(`/proc/${pid}/fd/${descriptor}`, { bigint: true });
    if (!stat.isFIFO() || !pipes.some(({ device, inode }) => stat.dev === device && stat.ino === inode)) return false;
    // The last octal digit of the flags is the access mode (open(2)): 1 and 2 allow writing.
    const [, flags = "0"] =
      /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, "latin1")) ?? [];
    return (Number.parseInt(flags, 8) & 3) !== 0;
  } catch {
    return false;
  }
}
