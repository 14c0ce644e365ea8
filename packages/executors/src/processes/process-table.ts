/**
 * Processes as /proc shows them. Pids are reused, so a process is identified by its pid and its start time, which no
 * two processes of one boot share (proc(5), /proc/pid/stat, field 22).
 */
import { readFileSync, readdirSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** Time of the process's start, in clock ticks since boot. */
  readonly startTicks: number;
}

export interface ProcessStat extends ProcessIdentity {
  readonly state: string;
  readonly group: number;
  readonly session: number;
  /** User and system time, including that of children that the process has waited for. */
  readonly cpuTicks: number;
}

/**
 * Clock ticks per second. `sysconf(_SC_CLK_TCK)` is 100 on every Linux that Node runs on, whatever the kernel's own
 * rate.
 */
const CLOCK_TICKS_PER_SECOND = 100;

/** The kernel creates a new id at every boot. Processes recorded under another id no longer exist (random(4)). */
export function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** The process; `null` if it does not exist. */
export function readStat(pid: number | "self"): ProcessStat | null {
  let text: string;
  try {
    // The file is read as UTF-8, which is fast in Node: every end of an attempt reads hundreds of these files. Only the
    // process name can be invalid UTF-8, and it is not used. The name is in brackets and can contain brackets and
    // spaces, so fields are counted from the last closing bracket.
    text = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return null;
  }
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const at = (field: number): number => Number(fields[field - 3]);
  return {
    pid: Number(text.slice(0, text.indexOf(" "))),
    state: fields[0] ?? "X",
    group: at(5),
    session: at(6),
    cpuTicks: at(14) + at(15) + at(16) + at(17),
    startTicks: at(22),
  };
}

/** CPU time of the children that this process has waited for, including the children that they have waited for. */
export function readChildrenCpuMs(): number {
  const text = readFileSync("/proc/self/stat", "latin1");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return ticksToMs(Number(fields[16 - 3]) + Number(fields[17 - 3]));
}

export function ticksToMs(ticks: number): number {
  return Math.round((ticks * 1000) / CLOCK_TICKS_PER_SECOND);
}

export function identityOf(pid: number): ProcessIdentity | null {
  const stat = readStat(pid);
  return stat === null ? null : { pid: stat.pid, startTicks: stat.startTicks };
}

/** A zombie holds nothing but its pid, so it counts as gone. Without a parent that waits for it, it stays forever. */
function isGone(stat: ProcessStat): boolean {
  return stat.state === "Z" || stat.state === "X" || stat.state === "x";
}

/** Whether a signal or a tracer holds the process: it exists and does nothing (proc(5), states T and t). */
export function isHeld({ state }: ProcessStat): boolean {
  return state === "T" || state === "t";
}

export function isAlive(identity: ProcessIdentity): boolean {
  const stat = readStat(identity.pid);
  return stat !== null && stat.startTicks === identity.startTicks && !isGone(stat);
}

/** All running processes, without zombies. */
export function runningProcesses(): ProcessStat[] {
  const found: ProcessStat[] = [];
  for (const name of readdirSync("/proc")) {
    const first = name.charCodeAt(0);
    if (first < 49 || first > 57) continue;
    const stat = readStat(Number(name));
    if (stat !== null && !isGone(stat)) found.push(stat);
  }
  return found;
}

/**
 * Whether the initial environment of a process contains exactly these `NAME=value` assignments. False if the
 * environment cannot be read.
 */
export function wasStartedWith(pid: number, assignments: readonly string[]): boolean {
  try {
    const environment = `\0${readFileSync(`/proc/${pid}/environ`, "utf8")}`;
    return assignments.every((assignment) => environment.includes(`\0${assignment}\0`));
  } catch {
    return false;
  }
}

/** A variable of a process's initial environment; `null`: it is not set, or cannot be read. */
export function environmentValue(pid: number, name: string): string | null {
  try {
    const environment = `\0${readFileSync(`/proc/${pid}/environ`, "utf8")}`;
    const start = environment.indexOf(`\0${name}=`);
    return start < 0 ? null : environment.slice(start + name.length + 2, environment.indexOf("\0", start + 1));
  } catch {
    return null;
  }
}

export interface ResidentMemory {
  readonly nowKib: number;
  readonly peakKib: number;
}

/** Resident memory of a process (/proc/pid/status, proc(5)); zero if the process has just ended. */
export function readResidentMemory(pid: number): ResidentMemory {
  let text = "";
  try {
    text = readFileSync(`/proc/${pid}/status`, "latin1");
  } catch {
    // The process ended after it was listed and before this read.
  }
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0);
  return { nowKib: field("VmRSS"), peakKib: field("VmHWM") };
}
