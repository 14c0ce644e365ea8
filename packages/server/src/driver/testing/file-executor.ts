/**
 * An executor for tests of the driver. Attempts are directories, a timer in this process stands for "running", and each
 * start adds a line to the file `starts`. The executor fulfils the executor contract, also in crashes: an attempt is
 * claimed durably before it starts, work of a dead process is lost, and a claimed attempt is never started again.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { attemptId, nodeId, poolName, siteName, workloadId } from "@headroom/model";
import type { AttemptId, Effect, LaunchGang, NodeSpec, StopGang } from "@headroom/model";
import { makeDurableDirectory, syncPath } from "@headroom/platform";
import type { AttemptUsage, Executor, ExecutorInput, Inventory, KnownAttempt, LogChunk } from "@headroom/executors";

export interface FileExecutorOptions {
  readonly directory: string;
  readonly slots: number;
  /** Run time of a gang in ms; a workload whose `run` is "hold" runs until it is stopped. */
  readonly runMs: number;
}

interface LaunchRecord {
  readonly workloadId: string;
  readonly sequence: number;
  readonly hold: boolean;
}

const testSite = { name: siteName("here"), fabricLevels: [] };
const testPool = {
  name: poolName("slots"),
  site: testSite.name,
  executor: "local",
  acceleratorType: "slot",
  priceMicroUsdPerHour: 0,
} as const;

export class FileExecutor implements Executor {
  readonly id = "local";
  readonly kind = "local";
  readonly capabilities = { checkpointOnRequest: false, resize: true, replaceWorkers: false, logs: false };
  readonly attemptsAreComplete = true;
  readonly #options: FileExecutorOptions;
  readonly #attemptsDirectory: string;
  readonly #startsPath: string;
  readonly #running = new Map<AttemptId, NodeJS.Timeout>();
  #listener: ((input: ExecutorInput) => void) | null = null;
  #isClosed = false;

  constructor(options: FileExecutorOptions) {
    this.#options = options;
    this.#attemptsDirectory = path.join(options.directory, "attempts");
    this.#startsPath = path.join(options.directory, "starts");
    makeDurableDirectory(this.#attemptsDirectory);
  }

  node(): NodeSpec {
    const { slots } = this.#options;
    return {
      id: nodeId("n1"),
      pool: testPool.name,
      fabric: [],
      acceleratorCount: slots,
      coresMilli: 1000 * slots,
      memoryMib: 1024 * slots,
    };
  }

  async inventory(): Promise<Inventory> {
    return { sites: [testSite], pools: [testPool], nodes: [this.node()] };
  }

  async attempts(): Promise<readonly KnownAttempt[]> {
    return readdirSync(this.#attemptsDirectory).flatMap((name) => {
      const launch = this.#read<LaunchRecord>(name, "launch.json");
      if (launch === null) return [];
      const end = this.#read<{ endedAtMs: number }>(name, "exit.json");
      const id = attemptId(name);
      const phase = end
        ? ({ kind: "ended", endedAtMs: end.endedAtMs, exits: [{ kind: "exited", worker: 0, code: 0 }] } as const)
        : this.#running.has(id)
          ? ({ kind: "running" } as const)
          : ({ kind: "lost", endedAtMs: Date.now(), detail: "the process that it ran in is gone" } as const);
      return [{ attemptId: id, workloadId: workloadId(launch.workloadId), sequence: launch.sequence, phase }];
    });
  }

  perform(effect: Effect): void {
    setImmediate(() => {
      if (this.#isClosed) return;
      if (effect.kind === "launchGang") this.#launch(effect);
      else if (effect.kind === "stopGang") this.#stop(effect);
    });
  }

  watch(listener: (input: ExecutorInput) => void): void {
    this.#listener = listener;
  }

  async *logs(): AsyncGenerator<LogChunk> {}

  async usage(): Promise<AttemptUsage | null> {
    return null;
  }

  async forget(): Promise<void> {}

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#running.values()) clearTimeout(timer);
    this.#running.clear();
  }

  #launch(effect: LaunchGang): void {
    const id = effect.attemptId;
    if (this.#read(id, "launch.json") !== null) return;
    const directory = path.join(this.#attemptsDirectory, id);
    mkdirSync(directory, { recursive: true });
    syncPath(this.#attemptsDirectory);
    const hold = effect.spec.run === "hold";
    this.#write(id, "launch.json", { workloadId: effect.workloadId, sequence: effect.sequence, hold });
    appendLine(this.#startsPath, id);
    this.#listener?.({ kind: "attemptRunning", attemptId: id });
    const timer = setTimeout(() => this.#end(id), hold ? HOLD_MS : this.#options.runMs);
    this.#running.set(id, timer);
  }

  #stop({ attemptId: id }: StopGang): void {
    if (!this.#running.has(id)) return;
    clearTimeout(this.#running.get(id));
    this.#end(id);
  }

  #end(id: AttemptId): void {
    this.#running.delete(id);
    this.#write(id, "exit.json", { code: 0, endedAtMs: Date.now() });
    this.#listener?.({ kind: "attemptExited", attemptId: id, exits: [{ kind: "exited", worker: 0, code: 0 }] });
  }

  #read<T>(id: string, name: string): T | null {
    const file = path.join(this.#attemptsDirectory, id, name);
    return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as T) : null;
  }

  /** Writes to a temporary file and renames it, so that the file is complete after a power cut. */
  #write(id: string, name: string, value: unknown): void {
    const directory = path.join(this.#attemptsDirectory, id);
    const file = path.join(directory, name);
    const descriptor = openSync(`${file}.partial`, "w");
    writeSync(descriptor, JSON.stringify(value));
    fsyncSync(descriptor);
    closeSync(descriptor);
    renameSync(`${file}.partial`, file);
    syncPath(directory);
  }
}

const HOLD_MS = 2 ** 30;

/** Appends one line with a single write, so that lines of two processes do not mix. */
function appendLine(file: string, line: string): void {
  const descriptor = openSync(file, "a");
  writeSync(descriptor, `${line}\n`);
  closeSync(descriptor);
}
