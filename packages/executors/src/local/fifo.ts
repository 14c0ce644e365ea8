/**
 * Pipes for the workers' output. What Node calls a pipe is a socket, and a program that opens `/dev/stdout` or
 * `/dev/stderr` on a socket fails with ENXIO (open(2)); shell scripts do that all the time, so these are real ones.
 */
import { spawn } from "node:child_process";
import { closeSync, constants, openSync, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import path from "node:path";
import type { LogStream } from "../executor.ts";

export interface WorkerPipe {
  readonly reader: Socket;
  /** For the worker; blocking, as programs expect of their output. Closed here once the worker has it. */
  readonly writerFd: number;
}

export type WorkerPipes = Readonly<Record<LogStream, WorkerPipe>>;

/** One pair for each directory. */
export async function createPipes(workerDirs: readonly string[]): Promise<WorkerPipes[]> {
  const pathsOf = (workerDir: string): Record<LogStream, string> => ({
    stdout: path.join(workerDir, ".stdout"),
    stderr: path.join(workerDir, ".stderr"),
  });
  await makeFifos(workerDirs.flatMap((workerDir) => Object.values(pathsOf(workerDir))));
  return workerDirs.map((workerDir) => {
    const { stdout, stderr } = pathsOf(workerDir);
    return { stdout: openPipe(stdout), stderr: openPipe(stderr) };
  });
}

export function closeWriters(pipes: WorkerPipes): void {
  closeSync(pipes.stdout.writerFd);
  closeSync(pipes.stderr.writerFd);
}

function openPipe(fifo: string): WorkerPipe {
  // A reader that does not wait may be opened first; with it there, opening the writer does not wait either (fifo(7)).
  const readerFd = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  const writerFd = openSync(fifo, constants.O_WRONLY);
  unlinkSync(fifo);
  return { reader: new Socket({ fd: readerFd, readable: true, writable: false }), writerFd };
}

/** Node has no mkfifo(3) of its own; POSIX has the command. */
async function makeFifos(paths: readonly string[]): Promise<void> {
  const child = spawn("mkfifo", ["-m", "600", "--", ...paths], { stdio: ["ignore", "ignore", "inherit"] });
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  if (code !== 0) throw new Error(`mkfifo failed with exit code ${String(code)}`);
}
