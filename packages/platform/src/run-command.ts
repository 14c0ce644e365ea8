/**
 * Runs a command: arguments as words that no shell reads, with a time limit and limited output. A command that hangs is
 * killed with what it started.
 */
import { spawn } from "node:child_process";
import { OperationalError } from "./operational-error.ts";

export interface CommandSetup {
  readonly timeoutMs: number;
  readonly env: Readonly<Record<string, string>>;
  /** Text for the standard input. Absent: it is empty. */
  readonly input?: string;
  /** Bound of the standard output. Absent: 64 MiB. */
  readonly outputMaxBytes?: number;
  /** Ends the command when it is aborted. */
  readonly signal?: AbortSignal;
}

export interface CommandOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** 50,000 jobs in the listing of `squeue` are 6 MiB. */
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;
const COMPLAINT_MAX_CHARS = 4096;

/** Throws an `OperationalError` if the command cannot run, hangs, or is ended by a signal. */
export function runCommand(file: string, args: readonly string[], setup: CommandSetup): Promise<CommandOutput> {
  const { outputMaxBytes = OUTPUT_MAX_BYTES } = setup;
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { detached: true, stdio: "pipe", env: setup.env, cwd: "/" });
    // A command that ends without reading closes the pipe.
    child.stdin.on("error", () => undefined);
    child.stdin.end(setup.input ?? "");
    const pieces: Buffer[] = [];
    let size = 0;
    let complaint = "";
    const fail = (reason: string): void => {
      clearTimeout(timer);
      setup.signal?.removeEventListener("abort", abort);
      endGroup(child.pid);
      child.stdout.destroy();
      child.stderr.destroy();
      reject(new OperationalError("commandFailed", `${file} ${reason}`, { retryable: true }));
    };
    const abort = (): void => fail("was stopped");
    if (setup.signal?.aborted === true) queueMicrotask(abort);
    setup.signal?.addEventListener("abort", abort, { once: true });
    const timer = setTimeout(() => fail(`did not answer within ${setup.timeoutMs} ms`), setup.timeoutMs);
    child.stdout.on("data", (piece: Buffer) => {
      size += piece.length;
      if (size > outputMaxBytes) fail(`printed more than ${outputMaxBytes} bytes`);
      else pieces.push(piece);
    });
    child.stderr.on("data", (piece: Buffer) => {
      if (complaint.length < COMPLAINT_MAX_CHARS) complaint += piece.toString("utf8");
    });
    child.once("error", (error) => fail(`cannot be started: ${error.message}`));
    child.once("close", (code, signal) => {
      if (code === null) return fail(`was ended by ${String(signal)}`);
      clearTimeout(timer);
      setup.signal?.removeEventListener("abort", abort);
      return resolve({ code, stdout: Buffer.concat(pieces).toString("utf8"), stderr: complaint.trim() });
    });
  });
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The process has just ended.
  }
}
