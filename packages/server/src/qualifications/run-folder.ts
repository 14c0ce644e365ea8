/** The folder of one run of a suite: its request, the claim of the process that runs it, and its result. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";

export interface RunRequest {
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly limitMs: number;
}

export interface RunResult {
  readonly code: number;
  readonly stdout: string;
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

/** Text of a result that is read. */
const RESULT_BYTES_MAX = 64 << 20;

/** Makes the folder with its request. False: it exists, so the run has begun before. */
export function makeRunFolder(folder: string, request: RunRequest): boolean {
  mkdirSync(path.dirname(folder), { recursive: true, mode: 0o700 });
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    return false;
  }
  writeFileSync(path.join(folder, "request.json"), JSON.stringify(request), { mode: 0o600, flush: true });
  return true;
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

/** The process that claimed the run, if it still lives. */
export function runnerOf(folder: string): number | null {
  try {
    const { pid, startTicks } = JSON.parse(readFileSync(path.join(folder, "claim.json"), "utf8")) as Claim;
    return pid !== process.pid && startTicks !== "" && startTicksOf(pid) === startTicks ? pid : null;
  } catch {
    return null;
  }
}

export function writeResult(folder: string, result: RunResult): void {
  const draft = path.join(folder, "result.draft");
  writeFileSync(draft, JSON.stringify(result), { mode: 0o600, flush: true });
  renameSync(draft, path.join(folder, "result.json"));
}

/** `null`: there is none, or it is not readable. */
export function readResult(folder: string): RunResult | null {
  const file = path.join(folder, "result.json");
  try {
    if (!existsSync(file) || statSync(file).size > RESULT_BYTES_MAX) return null;
    return JSON.parse(readFileSync(file, "utf8")) as RunResult;
  } catch {
    return null;
  }
}

/** Instant of the folder in ms; `null`: there is no folder. */
export const madeAtMs = (folder: string): number | null => statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? null;

/** Ends the process of a run with what it started. */
export function endRun(folder: string): void {
  const pid = runnerOf(folder);
  if (pid === null) return;
  for (const each of [pid, ...childrenOf(pid)])
    try {
      process.kill(-each, "SIGKILL");
    } catch {
      // The process has just ended.
    }
}

export const removeRun = (folder: string): void => rmSync(folder, { recursive: true, force: true });

function startTicksOf(pid: number): string | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program may contain spaces and brackets; field 22 counts from after its last bracket.
    return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
