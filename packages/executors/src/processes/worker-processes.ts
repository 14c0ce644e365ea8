/**
 * The processes of a gang's workers in the operating system. A worker leads a session and a process group, both named
 * by its pid. Its processes are found by session, by group, or, if a process has left both, by an inherited environment
 * variable: the path of the attempt's progress file, which no other attempt on the machine has.
 */
import type { ProcessIdentity, ProcessStat } from "./process-table.ts";
import { environmentValue, readStat, runningProcesses, wasStartedWith } from "./process-table.ts";

/** Signals every process of a worker's group; does nothing if the group is empty. */
export function signalGroup(leaderPid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leaderPid, signal);
  } catch {
    // ESRCH: the group is empty. EPERM: the only processes of the group have changed their user, so they cannot be
    // signalled.
  }
}

/**
 * Whether any process of the group runs. Zombies do not count: without a parent that waits for them, they stay in the
 * group forever.
 */
export function groupRuns(leaderPid: number): boolean {
  try {
    process.kill(-leaderPid, 0);
  } catch {
    return false;
  }
  return runningProcesses().some((stat) => stat.group === leaderPid);
}

/**
 * Running processes of an attempt or of one worker. They are found by session and group, and by having all these
 * assignments in their environment.
 */
export function findSurvivors(workers: readonly ProcessIdentity[], environmentMarks: readonly string[]): ProcessStat[] {
  const own = new Set<number>();
  // If no worker has started, the age of the attempt's processes is unknown.
  let oldestTicks = workers.length === 0 ? 0 : Infinity;
  for (const worker of workers) {
    oldestTicks = Math.min(oldestTicks, worker.startTicks);
    // The kernel does not reuse the number of an existing group or session. So another process with this pid means that
    // both are gone.
    const holder = readStat(worker.pid);
    if (holder === null || holder.startTicks === worker.startTicks) own.add(worker.pid);
  }
  return runningProcesses().filter(
    (stat) =>
      stat.pid !== process.pid &&
      // A process that is older than the workers was not started by them, so its environment need not be read.
      stat.startTicks >= oldestTicks &&
      (own.has(stat.session) || own.has(stat.group) || wasStartedWith(stat.pid, environmentMarks)),
  );
}

/** Processes whose environment names a progress file below `directory`, by the first path segment below it. */
export function processesBelow(directory: string): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (const { pid } of runningProcesses()) {
    const file = environmentValue(pid, "HEADROOM_PROGRESS_FILE");
    if (file === null || !file.startsWith(`${directory}/`)) continue;
    const name = file.slice(directory.length + 1).split("/", 1)[0] ?? "";
    const pids = found.get(name);
    if (pids === undefined) found.set(name, [pid]);
    else pids.push(pid);
  }
  return found;
}

/** How the processes of an attempt are found. */
export interface ProcessesOfAttempt {
  readonly workers: readonly ProcessIdentity[];
  /** Assignments in the environment of each process. */
  readonly marks: readonly string[];
  /** Control groups of the workers. */
  readonly groups?: readonly { readonly pids: readonly number[]; kill(): void }[];
}

/** Interval in ms for checking whether killed processes are gone: the kernel notifies only their parent. */
const SURVIVOR_POLL_MS = 20;

/**
 * Kills the running processes of an attempt until none is left. Returns false if a process outlived the deadline, for
 * example in uninterruptible I/O.
 */
export async function killSurvivors(
  { workers, marks, groups = [] }: ProcessesOfAttempt,
  timeoutMs: number,
): Promise<boolean> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const survivors = findSurvivors(workers, marks);
    const held = groups.filter((group) => group.pids.length > 0);
    if (survivors.length === 0 && held.length === 0) return true;
    for (const survivor of survivors) killProcess(survivor.pid);
    for (const group of held) group.kill();
    if (performance.now() > deadlineMs) return false;
    await new Promise((resolve) => setTimeout(resolve, SURVIVOR_POLL_MS));
  }
}

export function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended, or belongs to another user.
  }
}
