/**
 * The supervisors that this process has started. A supervisor holds one attempt at a time. When the attempt has ended
 * and left no process behind, the supervisor can take another one. This saves the start of a process: a hundred
 * milliseconds of CPU on a busy machine, many times the cost of a short task. Two attempts never share a supervisor at
 * the same time, and it is never reused after an unusual end.
 */
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { closeSync, constants, linkSync, openSync, statSync, unlinkSync } from "node:fs";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { makeDirectory } from "@headroom/platform";
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";
import { isHeld, readStat } from "../processes/process-table.ts";

/** Called once when the supervisor has finished the attempt or is gone; `how` describes it for people. */
export type OnLeft = (how: string) => void;

/** An attempt, and the function that is called when its supervisor has finished with it. */
interface Order {
  readonly files: AttemptFiles;
  readonly onLeft: OnLeft;
}

interface Supervisor {
  readonly child: ChildProcess;
  /** The current attempt. For an idle supervisor: its last attempt, to whose log it still writes its standard error. */
  order: Order;
  busy: boolean;
  idleTimer: NodeJS.Timeout | null;
}

const supervisorPath = fileURLToPath(new URL("./supervisor.ts", import.meta.url));
/**
 * Time in ms after which an idle supervisor ends. The next task of an array comes within milliseconds; later an idle
 * process only uses memory (about 45 MiB). There are never more idle supervisors than attempts that ran at the same
 * time shortly before.
 */
const IDLE_MS = 3_000;
/** Time limit in ms for a process to end. If it takes longer, the machine is too busy to wait. */
const LEAVE_TIMEOUT_MS = 2_000;
/** Appends to a log or creates it, and follows no link in its place. */
const APPEND = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;

export class SupervisorPool {
  /** Directory of Node's compile cache for the supervisor's files. The cache halves start time and memory. */
  readonly #compileCacheDir: string;
  readonly #all = new Set<Supervisor>();
  /**
   * Idle supervisors. The last one to become idle is used first, so that surplus ones stay idle until they time out.
   */
  readonly #idle: Supervisor[] = [];
  readonly #heldNames = new Set<string>();
  #closed = false;

  constructor(compileCacheDir: string) {
    this.#compileCacheDir = compileCacheDir;
  }

  /** Whether a supervisor of this process holds the attempt or is about to. */
  holds(name: string): boolean {
    return this.#heldNames.has(name);
  }

  /** Throws an error if no supervisor is idle and none can be started. */
  assign(files: AttemptFiles, onLeft: OnLeft): void {
    const order = { files, onLeft };
    const supervisor = this.#takeIdle(files) ?? this.#start(order);
    supervisor.order = order;
    supervisor.busy = true;
    supervisor.child.stdin?.write(`${JSON.stringify(files.key)}\n`);
    this.#heldNames.add(files.key.name);
  }

  /** Ends idle supervisors, and those whose attempt `hasEnded`. The others continue, and end with their attempt. */
  async close(hasEnded: (name: string) => boolean): Promise<void> {
    this.#closed = true;
    this.#idle.length = 0;
    const leaving: Promise<unknown>[] = [];
    for (const supervisor of this.#all) {
      if (!supervisor.busy || hasEnded(supervisor.order.files.key.name)) {
        leaving.push(new Promise((left) => supervisor.child.once("exit", left)));
      }
      this.#dismiss(supervisor);
    }
    // Child processes do not keep the event loop alive; this timer does.
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LEAVE_TIMEOUT_MS);
    await Promise.race([Promise.all(leaving), timeout]);
    clearTimeout(timer);
  }

  /**
   * Takes an idle supervisor. Its log file moves to the new attempt, because a process cannot change its standard
   * error. Four kinds are not reused: a supervisor that has written to its log, one whose last attempt was forgotten
   * with the log, one that was stopped by a signal, and any supervisor if the attempt already has a log.
   */
  #takeIdle(files: AttemptFiles): Supervisor | null {
    for (let supervisor = this.#idle.pop(); supervisor !== undefined; supervisor = this.#idle.pop()) {
      if (supervisor.idleTimer !== null) clearTimeout(supervisor.idleTimer);
      try {
        const stat = readStat(supervisor.child.pid ?? 0);
        // A job that is not isolated can stop every process of this user.
        if (stat === null || isHeld(stat)) throw new Error("it does not run");
        const log = supervisor.order.files.supervisorLog;
        if (statSync(log).size === 0) {
          linkSync(log, files.supervisorLog);
          unlinkSync(log);
          return supervisor;
        }
      } catch {
        // The failure is ignored, as stated above.
      }
      this.#dismiss(supervisor);
    }
    return null;
  }

  #start(order: Order): Supervisor {
    // Supervisors run the code in this directory, so no other user may write to it, whatever the umask.
    makeDirectory(this.#compileCacheDir, 0o700);
    const log = openSync(order.files.supervisorLog, APPEND, 0o600);
    try {
      const child = spawn(process.execPath, [supervisorPath], {
        cwd: "/",
        detached: true,
        stdio: ["pipe", "pipe", log],
        env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", NODE_COMPILE_CACHE: this.#compileCacheDir },
      });
      const supervisor = { child, order, busy: true, idleTimer: null };
      this.#follow(supervisor);
      return supervisor;
    } finally {
      closeSync(log);
    }
  }

  #follow(supervisor: Supervisor): void {
    const { child } = supervisor;
    this.#all.add(supervisor);
    const gone = (how: string): void => {
      if (!this.#all.delete(supervisor)) return;
      const position = this.#idle.indexOf(supervisor);
      if (position >= 0) this.#idle.splice(position, 1);
      if (supervisor.idleTimer !== null) clearTimeout(supervisor.idleTimer);
      if (supervisor.busy) this.#left(supervisor, how);
    };
    child.once("error", (error) => gone(error.message));
    child.once("exit", (code, signal) => gone(signal ?? `exit code ${String(code)}`));
    child.unref();
    // If the process did not start, it has no pipes.
    for (const pipe of [child.stdin, child.stdout] as (Socket | null | undefined)[]) {
      // Errors of this pipe are ignored. If a supervisor dies before it reads its order, its exit shows it.
      pipe?.on("error", () => {});
      pipe?.unref();
    }
    child.stdout?.on("data", () => this.#free(supervisor));
  }

  /** The supervisor writes one byte when it is ready for another attempt. */
  #free(supervisor: Supervisor): void {
    if (!supervisor.busy) return;
    this.#left(supervisor, "it is done");
    if (this.#closed) {
      this.#dismiss(supervisor);
      return;
    }
    this.#idle.push(supervisor);
    supervisor.idleTimer = setTimeout(() => {
      this.#idle.splice(this.#idle.indexOf(supervisor), 1);
      this.#dismiss(supervisor);
    }, IDLE_MS).unref();
  }

  #left(supervisor: Supervisor, how: string): void {
    supervisor.busy = false;
    this.#heldNames.delete(supervisor.order.files.key.name);
    supervisor.order.onLeft(how);
  }

  /** Ends a supervisor that has no attempt. It gets no more orders. */
  #dismiss({ child, idleTimer }: Supervisor): void {
    if (idleTimer !== null) clearTimeout(idleTimer);
    child.stdin?.end();
  }
}
