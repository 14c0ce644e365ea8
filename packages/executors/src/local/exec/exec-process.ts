/** A command that a user runs inside a worker (`exec-command.ts`), with its streams. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { once } from "node:events";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { OperationalError } from "@headroom/platform";
import type { ExecChunk, ExecRequest, ExecSession, TerminalSize } from "../../executor.ts";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import { inspectAttempt } from "../attempt-inspection.ts";
import { groupEntries, groupName } from "../../processes/isolation/cgroups.ts";
import { isAlive } from "../../processes/process-table.ts";
import type { ProcessIdentity } from "../../processes/process-table.ts";
import { signalGroup } from "../../processes/worker-processes.ts";
import { execCommand, execFds } from "./exec-command.ts";
import type { ExecPlace } from "./exec-command.ts";

/** Time in ms between the hang-up and the kill of a command that stays. */
const HANG_UP_MS = 2_000;
/** Bytes of output that wait for the reader. Then the command waits. */
const WAITING_BYTES_MAX = 256 * 1024;
const SIGNAL_BASE = 128;
/** The flag of open(2) in /proc/PID/fdinfo. */
const O_CLOEXEC = 0o2000000;

/** Throws an `OperationalError` with the code `cannotExec` if the attempt does not run. */
export async function startExec(files: AttemptFiles, bootId: string, request: ExecRequest): Promise<ExecSession> {
  const { place, worker } = placeOf(files, bootId, request.worker);
  const command = execCommand(place, request);
  const namespaces = command.sandboxArgs === null ? [] : openNamespaces(worker);
  const nowhere = openSync("/dev/null", "r+");
  try {
    // The namespaces are open, so they are those of this worker if it is alive now.
    if (!isAlive(worker)) throw cannot("the worker has just ended");
    const child = spawn(command.file, command.args, {
      env: command.env,
      cwd: "/",
      detached: true,
      stdio: withoutInherited(["pipe", "pipe", "pipe", "pipe", "pipe", ...namespaces], nowhere),
    });
    const session = new ExecProcess(child);
    await Promise.race([once(child, "spawn"), once(child, "error").then(([error]) => Promise.reject(error as Error))]);
    (child.stdio.at(execFds.args) as Writable).end(command.sandboxArgs ?? "");
    return session;
  } catch (error) {
    if (error instanceof OperationalError) throw error;
    throw cannot(error instanceof Error ? error.message : String(error));
  } finally {
    for (const descriptor of [...namespaces, nowhere]) closeSync(descriptor);
  }
}

type Stdio = readonly ("pipe" | number)[];

/**
 * Descriptors that the control plane inherited from whoever started it would reach the command: Node marks only the
 * first ones as closed on exec. They lead to /dev/null instead.
 */
function withoutInherited(stdio: Stdio, nowhere: number): ("pipe" | "ignore" | number)[] {
  const all: ("pipe" | "ignore" | number)[] = [...stdio];
  for (const name of readdirSync("/proc/self/fd")) {
    const descriptor = Number(name);
    if (descriptor < stdio.length || !isInherited(descriptor)) continue;
    while (all.length <= descriptor) all.push("ignore");
    all[descriptor] = nowhere;
  }
  return all;
}

/** Whether a program that this process executes would have the descriptor. */
function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1] ?? "";
    return (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
  } catch {
    // It was closed in the meantime.
    return false;
  }
}

interface WorkerPlace {
  readonly place: ExecPlace;
  readonly worker: ProcessIdentity;
}

function placeOf(files: AttemptFiles, bootId: string, rank: number): WorkerPlace {
  const seen = inspectAttempt(files, bootId);
  if (seen.kind !== "running") throw cannot("the attempt does not run");
  const { launch } = seen;
  const worker = files.read("workers.json")?.workers[rank];
  if (worker === undefined) throw cannot(`there is no worker ${rank}`);
  // A worker that joined later has its environment in the request of its size.
  const joiner = files.readIfSound("resize.json")?.joiners.findLast((each) => each.rank === rank);
  const environment = joiner?.environment ?? launch.environments[rank] ?? {};
  const { masterPort, servicePort } = files.readIfSound("running.json") ?? {};
  const start = Number(/\.(\d+)$/.exec(environment["HEADROOM_WORKER_ID"] ?? "")?.[1] ?? 0);
  const { cgroups = [], bubblewrap = null } = launch.isolation ?? {};
  return {
    worker,
    place: {
      workingDir: launch.workingDir,
      environment: {
        ...environment,
        ...(masterPort === undefined ? {} : { MASTER_PORT: String(masterPort) }),
        ...(servicePort === undefined ? {} : { PORT: String(servicePort) }),
      },
      bubblewrap,
      groupEntries: groupEntries(cgroups, groupName(files.key.name, rank, start)),
    },
  };
}

function openNamespaces({ pid }: ProcessIdentity): readonly number[] {
  const user = openSync(`/proc/${pid}/ns/user`, "r");
  try {
    return [user, openSync(`/proc/${pid}/ns/pid`, "r")];
  } catch (error) {
    closeSync(user);
    throw error;
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return text
      .split(" ")
      .map(Number)
      .filter((child) => child > 0);
  } catch {
    return [];
  }
}

const cannot = (reason: string): OperationalError =>
  new OperationalError("cannotExec", `No command can be run inside the worker: ${reason}.`, { retryable: false });

class ExecProcess implements ExecSession {
  readonly ended: Promise<number>;
  readonly #child: ChildProcess;
  readonly #waiting: ExecChunk[] = [];
  #waitingBytes = 0;
  #openStreams = 2;
  #wake: () => void = () => undefined;
  #closing: NodeJS.Timeout | null = null;
  #isOver = false;

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const pipe of child.stdio) pipe?.on("error", () => undefined);
    this.#collect("stdout", child.stdout as Readable);
    this.#collect("stderr", child.stderr as Readable);
    this.ended = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#isOver = true;
        // Processes in the background may hold the output open. They end with the attempt.
        this.#closing ??= setTimeout(() => this.#dropOutput(), HANG_UP_MS);
        (child.stdio.at(execFds.size) as Writable).destroy();
        resolve(code ?? SIGNAL_BASE + (signal === null ? 0 : constants.signals[signal]));
      });
      // A process that did not start has no exit.
      child.once("error", () => resolve(SIGNAL_BASE - 1));
    });
  }

  async *output(): AsyncGenerator<ExecChunk> {
    for (;;) {
      const chunk = this.#waiting.shift();
      if (chunk !== undefined) {
        this.#waitingBytes -= chunk.data.byteLength;
        if (this.#waitingBytes < WAITING_BYTES_MAX) this.#resume();
        yield chunk;
      } else if (this.#openStreams === 0) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async write(data: Uint8Array): Promise<void> {
    const { stdin } = this.#child;
    if (stdin === null || !stdin.writable || this.#isOver) return;
    if (stdin.write(data)) return;
    await new Promise<void>((resolve) => {
      stdin.once("drain", resolve);
      stdin.once("close", resolve);
    });
  }

  endInput(): void {
    this.#child.stdin?.end();
  }

  resize({ rows, columns }: TerminalSize): void {
    const sizes = this.#child.stdio.at(execFds.size) as Writable;
    // A size that is not read yet is followed by this one at the next change.
    if (sizes.writable && !sizes.writableNeedDrain) sizes.write(`${rows} ${columns}\n`);
  }

  close(): void {
    if (this.#isOver || this.#closing !== null) {
      if (this.#isOver) this.#dropOutput();
      return;
    }
    this.#child.stdin?.destroy();
    this.#signal("SIGHUP");
    this.#signal("SIGCONT");
    this.#closing = setTimeout(() => {
      this.#signal("SIGKILL");
      this.#dropOutput();
    }, HANG_UP_MS);
  }

  /** The command leads a group of its own below the program of the sandbox. It comes first: it dies with that program. */
  #signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined || this.#isOver) return;
    for (const each of [...childrenOf(pid), pid]) signalGroup(each, signal);
  }

  #collect(stream: ExecChunk["stream"], from: Readable): void {
    from.on("data", (data: Buffer) => {
      this.#waiting.push({ stream, data });
      this.#waitingBytes += data.byteLength;
      if (this.#waitingBytes >= WAITING_BYTES_MAX) from.pause();
      this.#wake();
    });
    from.once("close", () => {
      if (--this.#openStreams === 0 && this.#closing !== null) clearTimeout(this.#closing);
      this.#wake();
    });
  }

  #resume(): void {
    for (const from of [this.#child.stdout, this.#child.stderr]) if (from?.isPaused() === true) from.resume();
  }

  #dropOutput(): void {
    for (const from of [this.#child.stdout, this.#child.stderr]) from?.destroy();
  }
}
