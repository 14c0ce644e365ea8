/**
 * The processes of a gang's workers as the system sees them. A worker leads a session and process group of its own, named
 * by its pid; what it started is found by session, by group, or, where a process has left both, by the environment that it
 * inherited: the path of the attempt's progress file, which no other attempt on the machine shares.
 */
import type { ProcessIdentity, ProcessStat } from "./process-table.ts";
import { environmentValue, readStat, runningProcesses, wasStartedWith } from "./process-table.ts";

/** Signals every process of a worker's group; nothing happens when there is none left. */
export function signalGroup(leaderPid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leaderPid, signal);
  } catch {
    // ESRCH: the group is gone. EPERM: its only members have changed their user; nothing of ours can reach them.
  }
}

/** Whether anything of the group runs. Zombies do not count: where nobody reaps, they stay in the group for ever. */
export function groupRuns(leaderPid: number): boolean {
  try {
    process.kill(-leaderPid, 0);
  } catch {
    return false;
  }
  return runningProcesses().some((stat) => stat.group === leaderPid);
}

/** What still runs of an attempt, or of one worker: by sessions and groups, and by all these marks in the environment handed on. */
export function findSurvivors(workers: readonly ProcessIdentity[], environmentMarks: readonly string[]): ProcessStat[] {
  const own = new Set<number>();
  // Where no worker was started, nothing says how old its processes are.
  let oldestTicks = workers.length === 0 ? 0 : Infinity;
  for (const worker of workers) {
    oldestTicks = Math.min(oldestTicks, worker.startTicks);
    // While a group or session exists its number is not given to a new process: a stranger under it means it is gone.
    const holder = readStat(worker.pid);
    if (holder === null || holder.startTicks === worker.startTicks) own.add(worker.pid);
  }
  return runningProcesses().filter(
    (stat) =>
      stat.pid !== process.pid &&
      // What was there before the workers was not started by them, and its environment need not be read.
      stat.startTicks >= oldestTicks &&
      (own.has(stat.session) || own.has(stat.group) || wasStartedWith(stat.pid, environmentMarks)),
  );
}

/** Processes whose environment names a progress file below `directory`, by the first name below it. */
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

/** How often to look whether killed processes are gone: the kernel tells nobody but the parent. */
const SURVIVOR_POLL_MS = 20;

/** Kills what still runs of an attempt until nothing does. False when something outlived the deadline (uninterruptible I/O). */
export async function killSurvivors(
  workers: readonly ProcessIdentity[],
  environmentMarks: readonly string[],
  timeoutMs: number,
): Promise<boolean> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const survivors = findSurvivors(workers, environmentMarks);
    if (survivors.length === 0) return true;
    for (const survivor of survivors) killProcess(survivor.pid);
    if (performance.now() > deadlineMs) return false;
    await new Promise((resolve) => setTimeout(resolve, SURVIVOR_POLL_MS));
  }
}

export function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It went by itself, or belongs to somebody else.
  }
}
