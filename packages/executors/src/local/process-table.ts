/**
 * What /proc knows of processes. A pid alone names nobody, since pids are used again: here a process is its pid together
 * with the instant of its start, which no other process of this boot shares (proc(5), /proc/pid/stat, field 22).
 */
import { readFileSync, readdirSync } from "node:fs";

export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks from boot to the start of the process. */
  readonly startTicks: number;
}

export interface ProcessStat extends ProcessIdentity {
  readonly state: string;
  readonly group: number;
  readonly session: number;
  /** User and system time, also of children that it has waited for. */
  readonly cpuTicks: number;
}

/** `sysconf(_SC_CLK_TCK)`: 100 on every Linux that Node runs on; /proc counts in it whatever the kernel's own rate is. */
const CLOCK_TICKS_PER_SECOND = 100;

/** The kernel makes a new one at every boot: processes recorded under another one are gone (random(4)). */
export function readBootId(): string {
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

/** `null` when there is no such process. */
export function readStat(pid: number | "self"): ProcessStat | null {
  let text: string;
  try {
    // Read as UTF-8, for which Node has a short way: every end of an attempt reads hundreds of these. What is not, a name, is
    // not looked at: it is in brackets and may itself hold brackets and spaces, so fields count from the last closing one.
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

/** CPU time of the children that this process has waited for, with what those had waited for themselves. */
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

/** A zombie has let go of everything but its number, so it counts as gone: where nobody reaps, it stays for ever. */
function isGone(stat: ProcessStat): boolean {
  return stat.state === "Z" || stat.state === "X" || stat.state === "x";
}

export function isAlive(identity: ProcessIdentity): boolean {
  const stat = readStat(identity.pid);
  return stat !== null && stat.startTicks === identity.startTicks && !isGone(stat);
}

/** Everything that runs now, zombies left out. */
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

/** Whether the environment with which a process was started holds exactly these `NAME=value`. False where it may not be read. */
export function wasStartedWith(pid: number, assignments: readonly string[]): boolean {
  try {
    const environment = `\0${readFileSync(`/proc/${pid}/environ`, "utf8")}`;
    return assignments.every((assignment) => environment.includes(`\0${assignment}\0`));
  } catch {
    return false;
  }
}

/** Of the environment with which a process was started; `null`: it has no such variable, or may not be read. */
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

/** Resident memory as proc(5) gives it in /proc/pid/status; zero for a process that has just gone. */
export function readResidentMemory(pid: number): ResidentMemory {
  let text = "";
  try {
    text = readFileSync(`/proc/${pid}/status`, "latin1");
  } catch {
    // Gone between the listing and this read.
  }
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1] ?? 0);
  return { nowKib: field("VmRSS"), peakKib: field("VmHWM") };
}
