/** The folder of one run of a suite: its request, the claim of the process that runs it, and its result. */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import path from "node:path";

export interface RunRequest {
  readonly nodeId: string;
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly limitMs: number;
  /** Runs of the command, as far as the limit allows. Absent: one. */
  readonly repeat?: number;
  /** Tests that must be in the result, as they were declared when the run began. */
  readonly tests: readonly string[];
  /** `basisOf` the suite, as it was declared when the run began. Absent: an earlier build began the run. */
  readonly basis?: string;
  /** Names of the nodes with which the network is measured. Absent: an earlier build began the run. */
  readonly peers?: readonly string[];
}

export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  /** The output of further runs. Absent: there was one. */
  readonly further?: readonly string[];
  readonly stderr: string;
  /** Why the command did not end by itself; `null`: it did. */
  readonly problem: string | null;
  readonly durationMs: number;
}

interface Claim {
  readonly pid: number;
  /** Start of the process in clock ticks, because ids of processes are used again. */
  readonly startTicks: string;
}

/** A result holds at most 1 MiB of output, whose control characters are escaped. */
const RESULT_BYTES_MAX = 8 << 20;

/** Makes the folder with its request. False: it exists, so the run has begun before. Throws for other errors. */
export function makeRunFolder(folder: string, request: RunRequest): boolean {
  mkdirSync(path.dirname(folder), { recursive: true, mode: 0o700 });
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
  writeFileSync(path.join(folder, "request.json"), JSON.stringify(request), { mode: 0o600, flush: true });
  return true;
}

/** `null`: there is none, because the process died before it was written. */
export function readRequest(folder: string): RunRequest | null {
  try {
    return JSON.parse(readFileSync(path.join(folder, "request.json"), "utf8")) as RunRequest;
  } catch {
    return null;
  }
}

/** Claims the run for this process. False: another process has claimed it. */
export function claimRun(folder: string): boolean {
  const claim: Claim = { pid: process.pid, startTicks: startTicksOf(process.pid) ?? "" };
  try {
    writeFileSync(path.join(folder, "claim.json"), JSON.stringify(claim), { flag: "wx", mode: 0o600, flush: true });
    return true;
  } catch {
    return false;
  }
}

export const isClaimed = (folder: string): boolean => isThere(path.join(folder, "claim.json"));

/** The process that claimed the run, if it still lives. */
export function runnerOf(folder: string): number | null {
  const claim = readClaim(folder);
  if (claim === null || claim.pid === process.pid) return null;
  return startTicksOf(claim.pid) === claim.startTicks ? claim.pid : null;
}

/** Asks the process of a run to end its command. It writes a result and ends. */
export function stopRun(folder: string): void {
  const pid = runnerOf(folder);
  if (pid !== null) signal(pid, "SIGTERM");
}

/**
 * Ends everything in the process group of the run. The id of the group is no id of another process while the group exists,
 * so a process of that id with another start means that the group is gone. Returns whether anything was left.
 */
export function killRun(folder: string, name: "SIGTERM" | "SIGKILL" = "SIGKILL"): boolean {
  const claim = readClaim(folder);
  if (claim === null || claim.pid === process.pid || claim.startTicks === "") return false;
  const present = startTicksOf(claim.pid);
  return (present === null || present === claim.startTicks) && signal(-claim.pid, name);
}

export function writeResult(folder: string, result: RunResult): void {
  const draft = path.join(folder, "result.draft");
  writeFileSync(draft, JSON.stringify(result), { mode: 0o600, flush: true });
  renameSync(draft, path.join(folder, "result.json"));
}

/** `null`: there is none, or it is not readable. */
export async function readResult(folder: string): Promise<RunResult | null> {
  const file = path.join(folder, "result.json");
  try {
    if ((await stat(file)).size > RESULT_BYTES_MAX) return null;
    return JSON.parse(await readFile(file, "utf8")) as RunResult;
  } catch {
    return null;
  }
}

export const isThere = (file: string): boolean => statSync(file, { throwIfNoEntry: false }) !== undefined;

export const removeRun = (folder: string): void => rmSync(folder, { recursive: true, force: true });

function readClaim(folder: string): Claim | null {
  try {
    return JSON.parse(readFileSync(path.join(folder, "claim.json"), "utf8")) as Claim;
  } catch {
    return null;
  }
}

/** Returns false if there is no such process. */
function signal(pid: number, name: "SIGTERM" | "SIGKILL"): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}

function startTicksOf(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program may contain spaces and brackets; field 22 counts from after its last bracket.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    // A dead process keeps its entry until its parent has read its exit.
    return fields[0] === "Z" || fields[0] === "X" ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
