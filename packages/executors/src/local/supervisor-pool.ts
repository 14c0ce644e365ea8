/**
 * The supervisors that this process has started. One holds one attempt at a time; when that has ended and left nothing
 * behind, the supervisor can take another, which saves the start of a process: a hundred milliseconds of CPU on a busy
 * machine, many times what a short task needs itself. A supervisor is never shared, and never given an attempt after one
 * that ended in any unusual way.
 */
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { closeSync, linkSync, openSync, statSync, unlinkSync } from "node:fs";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { makeDirectory } from "@headroom/platform";
import type { AttemptFiles } from "./attempt-files.ts";

/** Called once, when the supervisor of an attempt is done with it, or gone: `how` says which, for people. */
export type OnLeft = (how: string) => void;

/** An attempt and whoever waits for its supervisor. */
interface Order {
  readonly files: AttemptFiles;
  readonly onLeft: OnLeft;
}

interface Supervisor {
  readonly child: ChildProcess;
  /** The attempt that it holds, or held last; its standard error goes to the log in there. */
  order: Order;
  busy: boolean;
  idleTimer: NodeJS.Timeout | null;
}

const supervisorPath = fileURLToPath(new URL("./supervisor.ts", import.meta.url));
/**
 * The next task of an array comes within milliseconds; beyond that an idle process is only memory (about 45 MiB). There are
 * never more of them than attempts ran at once a moment ago.
 */
const IDLE_MS = 3_000;
/** What a process needs to end; more means that the machine is too busy to wait for it. */
const LEAVE_TIMEOUT_MS = 2_000;

export class SupervisorPool {
  /** For the compiled form of the supervisor's files: it halves the start and the memory of each. */
  readonly #compileCacheDir: string;
  readonly #all = new Set<Supervisor>();
  /** The most recently used supervisor is taken first, so that surplus ones become old enough to be ended. */
  readonly #idle: Supervisor[] = [];
  readonly #heldNames = new Set<string>();
  #closed = false;

  constructor(compileCacheDir: string) {
    this.#compileCacheDir = compileCacheDir;
  }

  /** Whether a supervisor of this process is in charge of the attempt, or on its way to it. */
  holds(name: string): boolean {
    return this.#heldNames.has(name);
  }

  /** Throws when there is none and none can be started. */
  assign(files: AttemptFiles, onLeft: OnLeft): void {
    const order = { files, onLeft };
    const supervisor = this.#takeIdle(files) ?? this.#start(order);
    supervisor.order = order;
    supervisor.busy = true;
    supervisor.child.stdin?.write(`${JSON.stringify(files.key)}\n`);
    this.#heldNames.add(files.key.name);
  }

  /** Idle ones end now, those whose attempt `hasEnded` as good as now; the others go on with theirs, and end with it. */
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
    // The timer also keeps the event loop alive, which the children do not.
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LEAVE_TIMEOUT_MS);
    await Promise.race([Promise.all(leaving), timeout]);
    clearTimeout(timer);
  }

  /**
   * The log moves along, since a process cannot exchange its standard error. One that has said anything is not used again,
   * nor one whose last attempt was forgotten meanwhile, with the log in it; nor is any for an attempt that has a log already.
   */
  #takeIdle(files: AttemptFiles): Supervisor | null {
    for (let supervisor = this.#idle.pop(); supervisor !== undefined; supervisor = this.#idle.pop()) {
      if (supervisor.idleTimer !== null) clearTimeout(supervisor.idleTimer);
      try {
        const log = supervisor.order.files.supervisorLog;
        if (statSync(log).size === 0) {
          linkSync(log, files.supervisorLog);
          unlinkSync(log);
          return supervisor;
        }
      } catch {
        // See above.
      }
      this.#dismiss(supervisor);
    }
    return null;
  }

  #start(order: Order): Supervisor {
    // Code that supervisors run: no other user may write to it, whatever the umask.
    makeDirectory(this.#compileCacheDir, 0o700);
    const log = openSync(order.files.supervisorLog, "a", 0o600);
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
    // Where no process could be started there are no pipes either.
    for (const pipe of [child.stdin, child.stdout] as (Socket | null | undefined)[]) {
      // A supervisor that dies with an order unread is noticed by its exit.
      pipe?.on("error", () => {});
      pipe?.unref();
    }
    child.stdout?.on("data", () => this.#free(supervisor));
  }

  /** It says one byte when it is done with an attempt and ready for another. */
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

  /** It ends when it has nothing to do and will get no more orders. */
  #dismiss({ child, idleTimer }: Supervisor): void {
    if (idleTimer !== null) clearTimeout(idleTimer);
    child.stdin?.end();
  }
}
