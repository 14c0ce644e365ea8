/**
 * One worker, with its two logs. It is a process group whose command waits for the supervisor's permission (the gate).
 */
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { WorkerExit } from "@headroom/model";
import type { LaunchRecord } from "../job-protocol/attempt-records.ts";
import { workerMarkOf } from "../job-protocol/attempt-files.ts";
import type { WorkerPipe, WorkerPipes } from "./fifo.ts";
import { closeWriters } from "./fifo.ts";
import { WorkerGroup, groupName } from "./isolation/cgroups.ts";
import type { WorkerLimits } from "./isolation/cgroups.ts";
import { signalOfExitCode, workerCommand } from "./isolation/worker-command.ts";
import { LogWriter } from "../job-protocol/log-writer.ts";
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
  /** Name of the attempt's directories. */
  readonly attempt: string;
  readonly limits: WorkerLimits;
  /** Called when the worker's own process has ended. */
  readonly onExit: (exit: WorkerExit) => void;
  /** Called when all processes of its group have ended. */
  readonly onSettled: () => void;
}

/** Descriptor from which a sandbox reads its arguments. */
const ARGS_FD = 5;
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
  /** Its control groups; `null`: this machine offers none. */
  readonly group: WorkerGroup | null;
  /** Assignment that is in the environment of every process of this worker, and of no other worker of its attempt. */
  readonly mark: string;
  /** Rejects if the operating system cannot start the process. */
  readonly spawned: Promise<void>;
  readonly #child: ChildProcess;
  readonly #setup: WorkerSetup;
  readonly #logs: readonly Promise<void>[];
  readonly #pipes: WorkerPipes;
  readonly #identities: readonly PipeIdentity[];
  readonly #isSandboxed: boolean;
  #identity: ProcessIdentity;
  #settled = false;
  /** Whether the gate was reached, or is reached without further ado. A sandbox that fails never runs the command. */
  #isReady: boolean;
  #hasFailed = false;

  constructor(pipes: WorkerPipes, setup: WorkerSetup) {
    this.index = setup.index;
    this.mark = workerMarkOf(setup.environment["HEADROOM_WORKER_ID"] ?? "");
    this.#setup = setup;
    this.#pipes = pipes;
    this.#identities = [pipeIdentity(pipes.stdout.writerFd), pipeIdentity(pipes.stderr.writerFd)];
    this.#logs = [this.#keepLog("stdout", pipes.stdout), this.#keepLog("stderr", pipes.stderr)];
    const { isolation } = setup.launch;
    this.#isSandboxed = isolation !== undefined && isolation.bubblewrap !== null;
    this.#isReady = !this.#isSandboxed;
    try {
      this.group = groupOf(setup);
      this.#child = this.#spawn(pipes);
    } finally {
      closeWriters(pipes);
    }
    this.spawned = new Promise<void>((resolve, reject) => {
      this.#child.once("spawn", resolve);
      this.#child.once("error", reject);
    }).then(() => (this.#isSandboxed ? this.#sandboxStands() : undefined));
    // Writing to the gate fails if the worker was killed while it waited. Its exit is reported in any case.
    this.#gate()?.on("error", () => {});
    this.#child.once("exit", (code, signal) => this.#exited(code, signal));
    const pid = this.#child.pid ?? 0;
    this.#identity = identityOf(pid) ?? { pid, startTicks: -1 };
  }

  /**
   * The leader of the worker's session and process group. In a sandbox it is the first process of the sandbox, and every
   * process of the worker ends with it (pid_namespaces(7)).
   */
  get identity(): ProcessIdentity {
    return this.#identity;
  }

  /** Whether the operating system has started the process. Its command need not run yet. */
  get isThere(): boolean {
    return this.#child.pid !== undefined && !this.#hasFailed;
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
    if (this.#settled) this.group?.kill();
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

  #spawn(pipes: WorkerPipes): ChildProcess {
    const { launch, environment } = this.#setup;
    const { isolation } = launch;
    const command = workerCommand(launch, environment, {
      index: this.index,
      bubblewrap: isolation?.bubblewrap ?? null,
      groupEntries: this.group?.entries ?? [],
    });
    const extra = command.sandboxArgs === null ? [] : (["pipe", "pipe", "pipe"] as const);
    const child = spawn(command.file, command.args, {
      env: command.env,
      // The shell passes its previous directory on as OLDPWD. `cd -` must not lead to the records.
      cwd: "/",
      // The worker leads a separate session and process group.
      detached: true,
      stdio: ["ignore", pipes.stdout.writerFd, pipes.stderr.writerFd, "pipe", ...extra],
    });
    for (const pipe of child.stdio.slice(4)) pipe?.on("error", () => {});
    if (command.sandboxArgs !== null)
      (child.stdio.at(ARGS_FD) as Writable | null | undefined)?.end(command.sandboxArgs);
    return child;
  }

  /** Waits until the worker stands at the gate in its sandbox. Its pid there is of no use; the sandbox reports the real one. */
  async #sandboxStands(): Promise<void> {
    const [info, , ready] = this.#child.stdio.slice(4) as [Readable, Writable, Readable];
    const [report, line] = await Promise.all([textOf(info), textOf(ready)]);
    const pid = Number(/"child-pid": (\d+)/.exec(report)?.[1] ?? 0);
    const identity = line === "" ? null : identityOf(pid);
    if (identity === null) {
      this.#hasFailed = true;
      throw new Error("its sandbox could not be built; its errors are in the log of the worker");
    }
    this.#identity = identity;
    this.#isReady = true;
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
    // The start has failed then, and the one who waits for it gets the error.
    if (!this.#isReady) return;
    const endSignal = signal ?? (this.#isSandboxed ? signalOfExitCode(code ?? 0) : null);
    const oom = this.group?.ranOutOfMemory === true ? { outOfMemoryMib: this.group.memoryMib } : {};
    if (endSignal !== null) this.#setup.onExit({ kind: "signalled", worker, signal: endSignal, ...oom });
    else this.#setup.onExit({ kind: "exited", worker, code: code ?? 0, ...(code === 0 ? {} : oom) });
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

function groupOf({ launch, attempt, index, environment, limits }: WorkerSetup): WorkerGroup | null {
  const parents = launch.isolation?.cgroups ?? [];
  if (parents.length === 0) return null;
  const start = Number(/\.(\d+)$/.exec(environment["HEADROOM_WORKER_ID"] ?? "")?.[1] ?? 0);
  return new WorkerGroup(parents, groupName(attempt, index, start), limits);
}

/** Maximum length of what a sandbox reports: its pid and the numbers of its namespaces. */
const REPORT_MAX = 4096;

/** The text of a stream up to its end. */
function textOf(stream: Readable): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    stream.on("data", (chunk: Buffer) => (text = (text + chunk.toString("utf8")).slice(0, REPORT_MAX)));
    stream.once("close", () => resolve(text));
  });
}
