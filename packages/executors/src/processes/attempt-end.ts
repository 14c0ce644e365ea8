/** How a supervisor ends an attempt: with the exits of its workers, or refused because no machine would run the command. */
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";
import type { ExitRecord, LaunchRecord } from "../job-protocol/attempt-records.ts";
import { isMissing, ringBell } from "../job-protocol/attempt-files.ts";
import { LogWriter } from "../job-protocol/log-writer.ts";

/**
 * Interval in ms at which the write of the exit record is retried while the disk is full, because the end must be
 * recorded.
 */
const RECORD_RETRY_MS = 1_000;

/** The operating system rejects the command or its environment as too long (execve(2), E2BIG); every machine would. */
export function isRefusedCommand(error: unknown): error is Error {
  return (
    error instanceof Error && "code" in error && (error.code === "E2BIG" || error.code === "ERR_INVALID_ARG_VALUE")
  );
}

/**
 * Ends the attempt with the exit code that a shell returns for a command that it cannot execute. This counts as a
 * failure of the workload, so its retries are limited.
 */
export function refusedExit(files: AttemptFiles, launch: LaunchRecord, message: string): ExitRecord {
  const log = new LogWriter(files.workerDir(0), "stderr", launch.log);
  log.write(Buffer.from(`headroom: the command or its environment was refused: ${message}\n`));
  log.close();
  const exits = launch.environments.map((_, worker) => ({ kind: "exited", worker, code: 126 }) as const);
  const endedAtMs = Date.now();
  return { kind: "exited", startedAtMs: endedAtMs, endedAtMs, exits, usage: [] };
}

export async function recordEnd(files: AttemptFiles, exit: ExitRecord): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      files.createDurably("exit.json", exit);
      ringBell(files);
      return;
    } catch (error) {
      // The attempt's directory was removed, so nothing needs the exit record.
      if (isMissing(error)) return;
      if (tries === 0) process.stderr.write(`exit.json: ${messageOf(error)}; trying until it is written\n`);
      await new Promise((resolve) => setTimeout(resolve, RECORD_RETRY_MS));
    }
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
