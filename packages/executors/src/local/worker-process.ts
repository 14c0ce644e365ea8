/**
 * One worker, with its two logs. It is a process group whose command waits for the supervisor's permission (the gate).
 */
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import type { Writable } from "node:stream";
import type { WorkerExit } from "@headroom/model";
import type { LaunchRecord } from "./attempt-files.ts";
import { workerMarkOf } from "./attempt-files.ts";
import type { WorkerPipe, WorkerPipes } from "./fifo.ts";
import { closeWriters } from "./fifo.ts";
import { LogWriter } from "./log-writer.ts";
import { killWritersOf, pipeIdentity } from "./pipe-holders.ts";
import type { PipeIdentity } from "./pipe-holders.ts";
import type { ProcessIdentity } from "./process-table.ts";
import { identityOf } from "./process-table.ts";
import { groupRuns, signalGroup } from "./worker-processes.ts";

export interface WorkerSetup {
  /** Rank of the worker. */
  readonly index: number;
  readonly workerDir: string;
  readonly launch: LaunchRecord;
  readonly environment: Readonly<Record<string, string>>;
  /** Called when the worker's own process has ended. */
  readonly onExit: (exit: WorkerExit) => void;
  /** Called when all processes of its group have ended. */
  readonly onSettled: () => void;
}

/**
 * The gate: the shell waits for a line on file descriptor 3, and exits if the supervisor closes the descriptor instead.
 * So a worker whose supervisor died before recording it never runs. If the working directory cannot be entered, the
 * worker ends with exit code 127, and its log contains the shell's message.
 */
const GATE = 'IFS= read -r go <&3 || exit 125; exec 3<&-; cd -- "$1" || exit 127; exec /bin/sh -c "$2"';
/**
 * Longest timer in ms. Longer timers would fire at once (setTimeout(…) takes a signed 32-bit number of milliseconds);
 * 24 days is long enough.
 */
export const TIMER_MAX_MS = 2_147_483_647;
/**
 * Interval in ms at which the grace period checks whether the rest of a group has ended: the kernel does not report the
 * end of orphans.
 */
const GROUP_POLL_MS = 50;
/**
 * Time in ms after the end of a worker's processes after which a process with its streams open counts as escaped. The
 * output that is still in a pipe, at most 64 KiB, is read in a fraction of it.
 */
const ESCAPED_MS = 300;

export class WorkerProcess {
  readonly index: number;
  readonly identity: ProcessIdentity;
  /** Assignment that is in the environment of every process of this worker, and of no other worker of its attempt. */
  readonly mark: string;
  /** Rejects if the operating system cannot start the process. */
  readonly spawned: Promise<void>;
  readonly #child: ChildProcess;
  readonly #setup: WorkerSetup;
  readonly #logs: readonly Promise<void>[];
  readonly #pipes: WorkerPipes;
  readonly #identities: readonly PipeIdentity[];
  #settled = false;

  constructor(pipes: WorkerPipes, setup: WorkerSetup) {
    this.index = setup.index;
    this.mark = workerMarkOf(setup.environment["HEADROOM_WORKER_ID"] ?? "");
    this.#setup = setup;
    this.#pipes = pipes;
    this.#identities = [pipeIdentity(pipes.stdout.writerFd), pipeIdentity(pipes.stderr.writerFd)];
    this.#logs = [this.#keepLog("stdout", pipes.stdout), this.#keepLog("stderr", pipes.stderr)];
    try {
      this.#child = spawn("/bin/sh", ["-c", GATE, "headroom-gate", setup.launch.workingDir, setup.launch.run], {
        env: setup.environment,
        // The shell passes its previous directory on as OLDPWD. `cd -` must not lead to the records.
        cwd: "/",
        // The worker leads a separate session and process group.
        detached: true,
        stdio: ["ignore", pipes.stdout.writerFd, pipes.stderr.writerFd, "pipe"],
      });
    } finally {
      closeWriters(pipes);
    }
    this.spawned = new Promise((resolve, reject) => {
      this.#child.once("spawn", resolve);
      this.#child.once("error", reject);
    });
    // Writing to the gate fails if the worker was killed while it waited. Its exit is reported in any case.
    this.#gate()?.on("error", () => {});
    this.#child.once("exit", (code, signal) => this.#exited(code, signal));
    const pid = this.#child.pid ?? 0;
    this.identity = identityOf(pid) ?? { pid, startTicks: -1 };
  }

  /** Whether the operating system has started the process. Its command need not run yet. */
  get isThere(): boolean {
    return this.#child.pid !== undefined;
  }

  letGo(): void {
    this.#gate()?.end("go\n");
  }

  /** SIGCONT follows, because a process stopped by SIGSTOP does not handle SIGTERM. */
  askToStop(): void {
    if (this.#settled || !this.isThere) return;
    signalGroup(this.identity.pid, "SIGTERM");
    signalGroup(this.identity.pid, "SIGCONT");
  }

  kill(): void {
    if (!this.#settled && this.isThere) signalGroup(this.identity.pid, "SIGKILL");
  }

  /**
   * Waits for the end of both streams. A process that escaped and has one open is killed; if that does not help, the
   * streams are closed at the timeout. Returns whether both ended by themselves.
   */
  async closeLogs(timeoutMs: number): Promise<boolean> {
    let ended = true;
    const escaped = setTimeout(() => {
      ended = false;
      killWritersOf(this.#identities);
    }, ESCAPED_MS);
    const timer = setTimeout(() => {
      ended = false;
      for (const { reader } of Object.values(this.#pipes)) reader.destroy();
    }, timeoutMs);
    await Promise.all(this.#logs);
    clearTimeout(escaped);
    clearTimeout(timer);
    return ended;
  }

  #gate(): Writable | null {
    return (this.#child.stdio[3] ?? null) as Writable | null;
  }

  #keepLog(stream: "stdout" | "stderr", { reader }: WorkerPipe): Promise<void> {
    const writer = new LogWriter(this.#setup.workerDir, stream, this.#setup.launch.log);
    reader.on("data", (chunk: Buffer) => writer.write(chunk));
    reader.on("error", () => reader.destroy());
    return new Promise((resolve) => {
      reader.once("close", () => {
        writer.close();
        resolve();
      });
    });
  }

  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    const worker = this.index;
    this.#setup.onExit(
      signal === null ? { kind: "exited", worker, code: code ?? 0 } : { kind: "signalled", worker, signal },
    );
    this.#settleWhenGroupIsGone();
  }

  #settleWhenGroupIsGone(): void {
    if (groupRuns(this.identity.pid)) {
      setTimeout(() => this.#settleWhenGroupIsGone(), GROUP_POLL_MS);
      return;
    }
    this.#settled = true;
    this.#setup.onSettled();
  }
}
