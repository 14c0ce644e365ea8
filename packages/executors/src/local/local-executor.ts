/** The executor for this machine: a supervisor for each attempt, and what it leaves in the attempt's directory. */
import { readdirSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import path from "node:path";
import type { AttemptId, Effect, NodeId, WorkerAllocation } from "@headroom/engine";
import type { AttemptUsage, Executor, ExecutorInput, KnownAttempt, LogChunk, LogRequest } from "../executor.ts";
import { makeDurableDirectory } from "../make-directory.ts";
import { OperationalError } from "../operational-error.ts";
import { findAccelerators } from "./accelerators.ts";
import { readRecord } from "./attempt-files.ts";
import type { Inspection } from "./attempt-inspection.ts";
import { buryAttempt, inspectAttempt } from "./attempt-inspection.ts";
import { AttemptMonitor } from "./attempt-monitor.ts";
import { attemptDirName } from "./attempt-names.ts";
import { EffectQueue } from "./effect-queue.ts";
import type { LocalInventory, NodeDevices } from "./inventory.ts";
import { describeMachine, readMachine } from "./inventory.ts";
import { Launcher } from "./launcher.ts";
import type { LocalExecutorOptions } from "./local-executor-options.ts";
import { readLogs } from "./log-reader.ts";
import { Resizer } from "./resizer.ts";
import { readBootId } from "./process-table.ts";
import { StartSlots } from "./start-slots.ts";
import { sampleUsage } from "./usage.ts";
import { visibleDevices } from "./worker-environment.ts";

const LOG_FILE_MAX_BYTES = 16 * 1024 * 1024;
const LOG_FILES_KEPT = 4;
/** Names of attempts do not begin with a dot. */
const FORGOTTEN_PREFIX = ".forgotten-";
/** Reading all attempts at a start lets the event loop have its turn after so many. */
const READ_BATCH = 25;

export function createLocalExecutor(options: LocalExecutorOptions): Executor {
  return new LocalExecutor(options);
}

class LocalExecutor implements Executor {
  readonly kind = "local";
  readonly #options: LocalExecutorOptions;
  readonly #attemptsDir: string;
  readonly #bootId: string;
  readonly #monitor: AttemptMonitor;
  readonly #launcher: Launcher;
  readonly #resizer: Resizer;
  readonly #queue = new EffectQueue();
  readonly #slots = new StartSlots();
  /** What happened before anybody watched. */
  #untold: ExecutorInput[] | null = [];
  #listener: ((input: ExecutorInput) => void) | null = null;
  #started: Promise<void> = Promise.resolve();
  #found: Promise<LocalInventory> | null = null;

  constructor(options: LocalExecutorOptions) {
    if (process.platform !== "linux") {
      const message = `The local executor needs Linux's /proc; this is ${process.platform}.`;
      throw new OperationalError("unsupportedPlatform", message, { retryable: false });
    }
    this.#options = options;
    this.#attemptsDir = path.join(path.resolve(options.homeDir), "attempts");
    this.#bootId = readBootId();
    try {
      makeDurableDirectory(this.#attemptsDir, 0o700);
    } catch (error) {
      const message = `Attempts cannot be kept in ${this.#attemptsDir}: ${error instanceof Error ? error.message : String(error)}.`;
      throw new OperationalError("unusableDirectory", message, { retryable: false, cause: error });
    }
    this.#monitor = new AttemptMonitor({
      attemptsDir: this.#attemptsDir,
      bootId: this.#bootId,
      emit: (input) => this.#emit(input),
      onStarted: (name) => this.#slots.release(name),
      onProblem: options.onProblem ?? ((message) => process.emitWarning(message)),
    });
    const shared = {
      homeDir: path.resolve(options.homeDir),
      attemptsDir: this.#attemptsDir,
      bootId: this.#bootId,
      monitor: this.#monitor,
      devicesOf: async (worker: WorkerAllocation) => visibleDevices(worker, await this.#devicesOf(worker.node)),
    };
    this.#resizer = new Resizer(shared);
    this.#launcher = new Launcher({
      ...shared,
      log: {
        fileMaxBytes: options.logFileMaxBytes ?? LOG_FILE_MAX_BYTES,
        filesKept: Math.max(2, options.logFilesKept ?? LOG_FILES_KEPT),
      },
      slots: this.#slots,
    });
  }

  inventory(): Promise<LocalInventory> {
    this.#found = this.#discover();
    return this.#found;
  }

  async attempts(): Promise<readonly KnownAttempt[]> {
    const known: KnownAttempt[] = [];
    const names = readdirSync(this.#attemptsDir);
    await this.#removeForgotten(names.filter((name) => name.startsWith(FORGOTTEN_PREFIX)));
    for (const [position, name] of names.filter((each) => !each.startsWith(".")).entries()) {
      const attempt = await this.#readAttempt(path.join(this.#attemptsDir, name));
      if (attempt !== null) known.push(attempt);
      if (position % READ_BATCH === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return known;
  }

  perform(effect: Effect): void {
    this.#queue.add(effect.attemptId, async () => {
      try {
        if (effect.kind === "launchGang") await this.#launcher.launch(effect);
        else if (effect.kind === "stopGang") this.#launcher.stop(effect);
        else if (effect.kind === "checkpointGang") this.#launcher.requestCheckpoint(effect);
        else if (effect.kind === "growGang") await this.#resizer.grow(effect);
        else if (effect.kind === "shrinkGang") this.#resizer.shrink(effect);
        else throw new Error("a local fleet is one machine: no worker is lost without the others");
      } catch (error) {
        this.#problem(`${effect.kind} of attempt ${effect.attemptId}`, error);
      }
    });
  }

  watch(listener: (input: ExecutorInput) => void): void {
    if (this.#listener !== null) throw new Error("the executor is watched already");
    this.#listener = listener;
    for (const input of this.#untold ?? []) listener(input);
    this.#untold = null;
    this.#started = this.#monitor.start().catch((error: unknown) => this.#problem("Reading the attempts", error));
  }

  async *logs(attemptId: AttemptId, request: LogRequest, signal: AbortSignal): AsyncGenerator<LogChunk> {
    // Whoever asks in the moment of the launch means the logs to come.
    await this.#queue.settled(attemptId);
    const attemptDir = this.#dirOf(attemptId);
    const launch = readRecord(attemptDir, "launch.json");
    if (launch === null) {
      throw new OperationalError("unknownAttempt", `Attempt ${attemptId} has no logs here.`, { retryable: false });
    }
    const hasEnded = (): boolean => readRecord(attemptDir, "exit.json") !== null;
    const workerCount = readRecord(attemptDir, "resize.json")?.sizeMax ?? launch.environments.length;
    yield* readLogs({ attemptDir, workerCount, hasEnded }, request, signal);
  }

  async usage(attemptId: AttemptId): Promise<AttemptUsage | null> {
    const attemptDir = this.#dirOf(attemptId);
    const seen = inspectAttempt(attemptDir, this.#bootId);
    if (seen.kind === "absent") return null;
    const progressSkippedCount = this.#monitor.progressSkippedCount(path.basename(attemptDir));
    if (seen.kind === "ended") {
      return { workers: seen.exit.kind === "exited" ? seen.exit.usage : [], progressSkippedCount };
    }
    const pids = seen.kind === "running" ? (readRecord(attemptDir, "workers.json")?.workers ?? []) : [];
    return { workers: sampleUsage(pids.map(({ pid }) => pid)), progressSkippedCount };
  }

  async forget(attemptId: AttemptId): Promise<void> {
    const attemptDir = this.#dirOf(attemptId);
    const seen = inspectAttempt(attemptDir, this.#bootId);
    if (seen.kind === "absent") {
      this.#monitor.forget(path.basename(attemptDir));
      return;
    }
    if (seen.kind !== "ended") {
      throw new OperationalError("attemptActive", `Attempt ${attemptId} has not ended.`, { retryable: true });
    }
    // In one step out of sight, so that a crash in between does not leave an attempt without its end.
    const forgotten = FORGOTTEN_PREFIX + path.basename(attemptDir);
    await rename(attemptDir, path.join(this.#attemptsDir, forgotten));
    this.#monitor.forget(path.basename(attemptDir));
    await this.#removeForgotten([forgotten]);
  }

  async close(): Promise<void> {
    this.#slots.close();
    this.#resizer.close();
    await this.#queue.close();
    await this.#monitor.close();
    await this.#launcher.close();
    await this.#started;
  }

  /** Also what was being forgotten when the process ended. */
  async #removeForgotten(names: readonly string[]): Promise<void> {
    for (const name of names) await rm(path.join(this.#attemptsDir, name), { recursive: true, force: true });
  }

  async #readAttempt(attemptDir: string): Promise<KnownAttempt | null> {
    let seen = inspectAttempt(attemptDir, this.#bootId);
    if (seen.kind === "orphaned" && (await buryAttempt(attemptDir, seen))) {
      seen = inspectAttempt(attemptDir, this.#bootId);
    }
    if (seen.kind === "absent") return null;
    const { attemptId, workloadId, sequence } = seen.launch;
    return { attemptId, workloadId, sequence, phase: phaseOf(seen) };
  }

  #discover(): Promise<LocalInventory> {
    const { accelerators: which, nodeCount = 1 } = this.#options;
    const found = which === "declared" || nodeCount > 1 ? Promise.resolve([]) : findAccelerators();
    return found.then((accelerators) => describeMachine(readMachine(), accelerators, this.#options));
  }

  async #devicesOf(node: NodeId): Promise<NodeDevices | null> {
    this.#found ??= this.#discover();
    return (await this.#found).devices.get(node) ?? null;
  }

  #dirOf(attemptId: AttemptId): string {
    return path.join(this.#attemptsDir, attemptDirName(attemptId));
  }

  #emit(input: ExecutorInput): void {
    if (this.#listener === null) this.#untold?.push(input);
    else this.#listener(input);
  }

  #problem(what: string, error: unknown): void {
    const message = `${what}: ${error instanceof Error ? error.message : String(error)}`;
    if (this.#options.onProblem === undefined) process.emitWarning(message);
    else this.#options.onProblem(message);
  }
}

function phaseOf(seen: Exclude<Inspection, { kind: "absent" }>): KnownAttempt["phase"] {
  switch (seen.kind) {
    case "unclaimed":
    case "starting":
      return { kind: "launching" };
    case "running":
      return { kind: "running" };
    case "orphaned":
      // Something of it would not die: as long as it is there, nothing else may run in its place.
      return { kind: "running" };
    case "ended": {
      const { exit } = seen;
      const { endedAtMs } = exit;
      return exit.kind === "exited"
        ? { kind: "ended", endedAtMs, exits: exit.exits }
        : { kind: "lost", endedAtMs, detail: exit.detail };
    }
  }
}
