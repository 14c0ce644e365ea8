/**
 * Runs one suite, as a process of its own that outlives the control plane: a restart finds its result, or that it still
 * runs. The folder of the run is claimed by exclusive create, so that a run is never made twice. The command is in the
 * process group of this process, which ends with it: nothing of a run is left beside the work that follows. Argument: the folder.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { claimRun, writeResult } from "./run-folder.ts";
import type { RunRequest, RunResult } from "./run-folder.ts";

const OUTPUT_BYTES_MAX = 1 << 20;
const COMPLAINT_CHARS_MAX = 4_096;
/** Time from SIGTERM, which srun, ssh and kubectl pass on, to SIGKILL. */
const GRACE_MS = 5_000;

/** A further run begins if this multiple of the longest one is left of the limit. */
const MARGIN = 1.25;
/** A further run hangs if it does not end in this multiple of the longest one. In less time it may only be slow, and is left out. */
const HANG_FACTOR = 3;

/** Ends the command that runs; `null`: none does. */
let stop: ((why: string) => void) | null = null;
let isStopped = false;
/** Signals that this process has sent to its group, and so to itself. */
let ownSignals = 0;
const lateText = (limitMs: number): string => `the suite did not end within ${limitMs} ms`;
process.on("SIGTERM", () => {
  if (ownSignals > 0) {
    ownSignals--;
    return;
  }
  isStopped = true;
  stop?.("the suite was stopped");
});

const folder = process.argv[2] ?? "";
const request = JSON.parse(readFileSync(path.join(folder, "request.json"), "utf8")) as RunRequest;
if (claimRun(folder)) {
  const result = await runRepeated(request);
  writeResult(folder, result);
  // Processes that the command left behind are in this group.
  process.kill(-process.pid, "SIGKILL");
}

/**
 * The first run that fails ends the suite. A further run that does not end in the rest of the limit fails if the rest is long beside the
 * runs before; else it is left out.
 */
async function runRepeated({ repeat = 1, ...once }: RunRequest): Promise<RunResult> {
  const begin = performance.now();
  const elapsedMs = (): number => Math.max(0, Math.round(performance.now() - begin));
  const first = await run(once);
  const further: string[] = [];
  let longestMs = first.durationMs;
  let last = first;
  while (last.problem === null && last.code === 0 && further.length + 1 < repeat && !isStopped) {
    const limitMs = once.limitMs - elapsedMs();
    if (limitMs < MARGIN * longestMs) break;
    const next = await run({ ...once, limitMs });
    const isLate = next.problem === lateText(limitMs);
    if (isLate && limitMs < HANG_FACTOR * longestMs) break;
    const before = `${lateText(limitMs)}; the longest run before took ${longestMs} ms`;
    last = isLate ? { ...next, problem: before } : next;
    longestMs = Math.max(longestMs, last.durationMs);
    further.push(last.stdout);
  }
  const problem = last.problem ?? (isStopped ? "the suite was stopped" : null);
  return { ...last, stdout: first.stdout, further, problem, durationMs: elapsedMs() };
}

function run({ words, env, limitMs }: RunRequest): Promise<RunResult> {
  const begin = performance.now();
  const [file = "", ...rest] = words;
  return new Promise((resolve) => {
    const child = spawn(file, rest, { stdio: ["ignore", "pipe", "pipe"], env, cwd: "/" });
    const pieces: Buffer[] = [];
    let size = 0;
    let stderr = "";
    let problem: string | null = null;
    let killer: NodeJS.Timeout | undefined;
    const end = (why: string): void => {
      if (problem !== null) return;
      problem = why;
      // The whole group, because a shell passes nothing on.
      ownSignals++;
      process.kill(-process.pid, "SIGTERM");
      killer = setTimeout(() => {
        child.kill("SIGKILL");
        // A process that holds the pipes keeps the command from closing.
        child.stdout.destroy();
        child.stderr.destroy();
      }, GRACE_MS);
    };
    const limit = setTimeout(() => end(lateText(limitMs)), limitMs);
    stop = end;
    child.stdout.on("data", (piece: Buffer) => {
      size += piece.length;
      if (size > OUTPUT_BYTES_MAX) end(`the suite printed more than ${OUTPUT_BYTES_MAX} bytes`);
      else pieces.push(piece);
    });
    child.stderr.on("data", (piece: Buffer) => {
      if (stderr.length < COMPLAINT_CHARS_MAX) stderr += piece.toString("utf8");
    });
    const done = (code: number, why: string | null): void => {
      stop = null;
      clearTimeout(limit);
      clearTimeout(killer);
      const stdout = Buffer.concat(pieces).toString("utf8");
      const durationMs = Math.max(0, Math.round(performance.now() - begin));
      resolve({ code, stdout, stderr: stderr.slice(0, COMPLAINT_CHARS_MAX), problem: problem ?? why, durationMs });
    };
    child.once("error", (error) => done(-1, `the suite cannot be started: ${error.message}`));
    child.once("close", (code, signal) =>
      done(code ?? -1, code === null ? `the suite was ended by ${String(signal)}` : null),
    );
  });
}
