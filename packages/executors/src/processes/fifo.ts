/**
 * Pipes for the workers' output. Node creates sockets instead of pipes, and a program that opens `/dev/stdout` or
 * `/dev/stderr` on a socket fails with ENXIO (open(2)). Shell scripts often open these, so this file creates real
 * pipes.
 */
import { spawn } from "node:child_process";
import { closeSync, constants, openSync, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import path from "node:path";
import type { LogStream } from "../executor.ts";

export interface WorkerPipe {
  readonly reader: Socket;
  /**
   * The worker's end of the pipe. It is blocking, as programs expect of their output. The supervisor closes its copy
   * after the worker has started.
   */
  readonly writerFd: number;
}

export type WorkerPipes = Readonly<Record<LogStream, WorkerPipe>>;

/**
 * Flag of open(2) on Linux, the same on every architecture that Node runs on. It refers to a file without opening it.
 * Node has no name for it.
 */
const O_PATH = 0o10_000_000;

/**
 * Creates pipes, and reuses their FIFOs once no process has them open: Node has no mkfifo(3), and a process that calls
 * it costs as much as the start of a worker. A FIFO whose ends are all closed is empty (pipe(7)).
 */
export class PipeSource {
  /** FIFOs without a name that no process has open. Opening one through /proc/self/fd gives a new pipe. */
  readonly #hotSpare: number[] = [];
  readonly #used: number[] = [];

  /** A pair of FIFOs for each directory. Their names in the directory exist only during the creation. */
  async pipesFor(workerDirs: readonly string[]): Promise<WorkerPipes[]> {
    const missingCount = workerDirs.length * 2 - this.#hotSpare.length;
    if (missingCount > 0) await this.#make(path.join(workerDirs[0] ?? "", ".pipe"), missingCount);
    return workerDirs.map(() => ({ stdout: this.#open(), stderr: this.#open() }));
  }

  /** Makes the FIFOs available again. Call this after every process has closed the ends of all pipes. */
  recycle(): void {
    this.#hotSpare.push(...this.#used.splice(0));
  }

  async #make(prefix: string, count: number): Promise<void> {
    const names = Array.from({ length: count }, (_, index) => prefix + index);
    await makeFifos(names);
    for (const name of names) {
      this.#hotSpare.push(openSync(name, O_PATH));
      unlinkSync(name);
    }
  }

  #open(): WorkerPipe {
    const fifo = this.#hotSpare.pop();
    if (fifo === undefined) throw new Error("a pipe is missing");
    this.#used.push(fifo);
    return openPipe(`/proc/self/fd/${fifo}`);
  }
}

export function closeWriters(pipes: WorkerPipes): void {
  closeSync(pipes.stdout.writerFd);
  closeSync(pipes.stderr.writerFd);
}

/** Closes pipes that no worker will use. */
export function dropPipes(pipes: WorkerPipes): void {
  closeWriters(pipes);
  for (const { reader } of Object.values(pipes)) reader.destroy();
}

function openPipe(fifo: string): WorkerPipe {
  // A non-blocking reader can be opened first; once it exists, opening the writer does not block either (fifo(7)).
  const readerFd = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK);
  const writerFd = openSync(fifo, constants.O_WRONLY);
  return { reader: new Socket({ fd: readerFd, readable: true, writable: false }), writerFd };
}

async function makeFifos(paths: readonly string[]): Promise<void> {
  const child = spawn("mkfifo", ["-m", "600", "--", ...paths], { stdio: ["ignore", "ignore", "inherit"] });
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  if (code !== 0) throw new Error(`mkfifo failed with exit code ${String(code)}`);
}
