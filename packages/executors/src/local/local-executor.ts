/** The executor for this machine. Each attempt has a supervisor, and its records are in the attempt's directory. */
import { readdirSync } from "node:fs";
import { rename } from "node:fs/promises";
import path from "node:path";
import type {
  AttemptId,
  Effect,
  ExecutorCapabilities,
  ExecutorId,
  NodeId,
  StopGang,
  WorkerAllocation,
} from "@headroom/model";
import { OperationalError } from "@headroom/platform";
import type { CacheReport, NodeCache } from "@headroom/stores";
import { isolationModes } from "../executor.ts";
import type {
  AttemptUsage,
  ExecRequest,
  ExecSession,
  Executor,
  ExecutorInput,
  ExecutorListener,
  IsolationMode,
  IsolationReport,
  KnownAttempt,
  LogChunk,
  LogRequest,
  NodeReadings,
} from "../executor.ts";
import { ToolRunner } from "../readings/run-tool.ts";
import { findAccelerators } from "./accelerators.ts";
import type { FoundAccelerator } from "./accelerators.ts";
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";
import type { LogLimits } from "../job-protocol/attempt-records.ts";
import type { Inspection } from "./attempt-inspection.ts";
import { buryAttempt, inspectAttempt, killAttempt } from "./attempt-inspection.ts";
import { AttemptMonitor } from "./attempt-monitor.ts";
import { attemptDirName, attemptIdOfName } from "../job-protocol/attempt-names.ts";
import type { InputStaging } from "../job-protocol/input-staging.ts";
import type { StagingProgress } from "../job-protocol/input-staging.ts";
import type { CheckpointDrain } from "../job-protocol/checkpoint-drain.ts";
import { AttemptStore, FORGOTTEN_PREFIX } from "../job-protocol/attempt-store.ts";
import { EffectQueue } from "../job-protocol/effect-queue.ts";
import type { LocalInventory, NodeDevices } from "./inventory.ts";
import { describeMachine, readMachine } from "./inventory.ts";
import { startExec } from "./exec/exec-process.ts";
import { Isolation } from "../processes/isolation/isolation.ts";
import { readNodes } from "./node-readings.ts";
import { Launcher } from "./launcher.ts";
import { LOCAL_EXECUTOR_ID } from "./local-executor-options.ts";
import type { LocalExecutorOptions } from "./local-executor-options.ts";
import { readLogs } from "../job-protocol/log-reader.ts";
import { Resizer } from "./resizer.ts";
import { readBootId } from "../processes/process-table.ts";
import { reportCache } from "./cache-report.ts";
import { storeAccess } from "./store-access.ts";
import { StartSlots } from "./start-slots.ts";
import { TreeRemover } from "../processes/tree-remover.ts";
import { sampleUsage } from "../processes/usage.ts";
import { visibleDevices } from "../job-protocol/worker-environment.ts";
import { LocalImages } from "../processes/images/local-images.ts";
import { findProgram } from "../processes/isolation/bubblewrap.ts";
import { processesBelow } from "../processes/worker-processes.ts";

const LOG_FILE_MAX_BYTES = 16 * 1024 * 1024;
const LOG_FILES_KEPT = 4;
/** Number of attempts that the start reads before other work gets the event loop. */
const READ_BATCH = 25;

export function createLocalExecutor(options: LocalExecutorOptions): Executor {
  return new LocalExecutor(options);
}

const CAPABILITIES: Omit<ExecutorCapabilities, "images"> = {
  checkpointOnRequest: true,
  resize: true,
  // A local fleet is one machine, so a single worker is never lost.
  replaceWorkers: false,
  logs: true,
  inputs: true,
  uploads: true,
};

/** Images, staged inputs and workers that join later are root's. */
const AS_OTHER_USERS = { images: false, resize: false, inputs: false, uploads: false };

class LocalExecutor implements Executor {
  readonly id: ExecutorId;
  readonly kind = "local";
  readonly capabilities: ExecutorCapabilities;
  readonly attemptsAreComplete = true;
  readonly isolation: IsolationReport;
  readonly #options: LocalExecutorOptions;
  readonly #isolation: Isolation;
  readonly #store: AttemptStore;
  readonly #bootId: string;
  readonly #monitor: AttemptMonitor;
  readonly #launcher: Launcher;
  readonly #resizer: Resizer;
  readonly #staging: InputStaging | null;
  readonly #cache: NodeCache | null;
  readonly #drain: CheckpointDrain | null;
  readonly #queue = new EffectQueue();
  readonly #slots = new StartSlots();
  readonly #tools = new ToolRunner();
  readonly #remover = new TreeRemover();
  /** Observations made before the call of `watch`, kept until then. */
  #untold: ExecutorInput[] | null = [];
  #listener: ExecutorListener | null = null;
  #started: Promise<void> = Promise.resolve();
  #found: Promise<LocalInventory> | null = null;
  #accelerators: readonly FoundAccelerator[] = [];

  constructor(options: LocalExecutorOptions) {
    if (process.platform !== "linux") {
      const message = `The local executor needs Linux's /proc; this is ${process.platform}.`;
      throw new OperationalError("unsupportedPlatform", message, { retryable: false });
    }
    this.#options = options;
    this.id = options.id ?? LOCAL_EXECUTOR_ID;
    const homeDir = path.resolve(options.homeDir);
    this.#bootId = options.bootId ?? readBootId();
    const onProblem = options.onProblem ?? ((message: string) => process.emitWarning(message));
    try {
      this.#store = new AttemptStore(homeDir, onProblem);
    } catch (error) {
      const message = `Attempts cannot be kept in ${homeDir}: ${error instanceof Error ? error.message : String(error)}.`;
      throw new OperationalError("unusableDirectory", message, { retryable: false, cause: error });
    }
    this.#isolation = new Isolation(
      options.isolation ?? isolationOf(process.env["HEADROOM_ISOLATION"]),
      homeDir,
      options,
    );
    this.isolation = this.#isolation.report;
    const podman = this.isolation.kind === "bubblewrap" ? findProgram("podman", programPath()) : null;
    const asOthers = options.users === undefined ? {} : AS_OTHER_USERS;
    this.capabilities = { ...CAPABILITIES, images: podman !== null, ...asOthers };
    const access = storeAccess(options.stores, {
      homeDir,
      bootId: this.#bootId,
      emit: (input) => void this.#emit(input),
      onProblem,
    });
    this.#cache = access?.cache ?? null;
    if (this.#cache !== null) this.#reportCache(this.#cache, onProblem);
    this.#staging = access?.staging ?? null;
    this.#drain = access?.drain ?? null;
    this.#monitor = new AttemptMonitor({
      store: this.#store,
      bootId: this.#bootId,
      emit: (input) => this.#emit(input),
      onStarted: (name) => this.#slots.release(name),
      onEnded: (name) => this.#staging?.release(name),
      onProblem,
      outputs: access?.outputs ?? null,
      drain: this.#drain,
    });
    const shared = {
      homeDir,
      store: this.#store,
      bootId: this.#bootId,
      monitor: this.#monitor,
      devicesOf: async (worker: WorkerAllocation) => visibleDevices(worker, await this.#devicesOf(worker.node)),
    };
    this.#resizer = new Resizer({ ...shared, staging: this.#staging });
    this.#launcher = new Launcher({
      ...shared,
      log: logLimits(options),
      slots: this.#slots,
      isolation: this.#isolation,
      staging: this.#staging,
      readingRules: options.readingRules,
      drain: this.#drain,
      images: podman === null ? null : new LocalImages(homeDir, podman),
    });
  }

  #reportCache(cache: NodeCache, onProblem: (message: string) => void): void {
    const nodes = async (): Promise<readonly NodeId[]> =>
      (await (this.#found ??= this.#discover())).nodes.map(({ id }) => id);
    reportCache(cache, { executor: this.id, nodes, emit: (input) => void this.#emit(input), onProblem });
  }

  inventory(): Promise<LocalInventory> {
    this.#found = this.#discover();
    return this.#found;
  }

  async attempts(): Promise<readonly KnownAttempt[]> {
    const known: KnownAttempt[] = [];
    await this.#removeForgotten(this.#store.forgottenNames());
    await this.#remover.remove(this.#store.pathsAside()).catch((error: unknown) => this.#problem("Removing", error));
    const names = this.#store.names();
    for (const [position, name] of names.entries()) {
      const attempt = await this.#readAttempt(name);
      if (attempt !== null) known.push(attempt);
      if (position % READ_BATCH === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    // Only for work that has not ended are inputs kept in the cache.
    const active = known.filter(({ phase }) => phase.kind === "launching" || phase.kind === "running");
    const holders = new Set(active.map(({ attemptId }) => attemptDirName(attemptId)));
    // Work without staged inputs runs also if the cache cannot be opened.
    await this.#staging?.keepHolders(holders).catch((error: unknown) => this.#problem("Opening the cache", error));
    return [...known, ...(await this.#endStrays(new Set(known.map(({ attemptId }) => attemptId))))];
  }

  hides(directory: string): boolean {
    return this.#isolation.hides(directory);
  }

  perform(effect: Effect): void {
    // A launch that waits for its inputs would hold up its stop.
    if (effect.kind === "stopGang") this.#staging?.cancel(effect.attemptId);
    this.#queue.add(effect.attemptId, async () => {
      try {
        if (effect.kind === "launchGang") await this.#launcher.launch(effect);
        else if (effect.kind === "stopGang") await this.#stop(effect);
        else if (effect.kind === "checkpointGang") this.#launcher.requestCheckpoint(effect);
        else if (effect.kind === "growGang") await this.#resizer.grow(effect);
        else if (effect.kind === "shrinkGang") this.#resizer.shrink(effect);
        else throw new Error("a local fleet is one machine: no worker is lost without the others");
      } catch (error) {
        this.#problem(`${effect.kind} of attempt ${effect.attemptId}`, error);
      }
    });
  }

  async #stop(effect: StopGang): Promise<void> {
    try {
      await this.#launcher.stop(effect);
    } finally {
      this.#staging?.forget(effect.attemptId);
    }
  }

  watch(listener: ExecutorListener): void {
    if (this.#listener !== null) throw new Error("the executor is watched already");
    this.#listener = listener;
    // At most a few inputs for each effect that was performed before this call. The monitor reads the attempts only when
    // the listener has space.
    let room: void | Promise<void> = undefined;
    for (const input of this.#untold ?? []) room = listener(input);
    this.#untold = null;
    this.#started = Promise.resolve(room)
      .then(() => {
        this.#drain?.start();
        return this.#monitor.start();
      })
      .catch((error: unknown) => this.#problem("Reading the attempts", error));
  }

  async *logs(attemptId: AttemptId, request: LogRequest, signal: AbortSignal): AsyncGenerator<LogChunk> {
    // Logs that are requested during the launch are read once the launch is done.
    await this.#queue.settled(attemptId);
    const files = this.#store.filesOf(attemptId);
    const workerCount = countWorkers(files);
    if (workerCount === 0) {
      throw new OperationalError("unknownAttempt", `Attempt ${attemptId} has no logs here.`, {
        retryable: false,
      });
    }
    const hasEnded = (): boolean => files.readIfSound("exit.json") !== null || !files.has("launch.json");
    yield* readLogs({ workerDir: (worker) => files.workerDir(worker), workerCount, hasEnded }, request, signal);
  }

  async exec(attemptId: AttemptId, request: ExecRequest): Promise<ExecSession> {
    await this.#queue.settled(attemptId);
    return startExec(this.#store.filesOf(attemptId), this.#bootId, request);
  }

  async usage(attemptId: AttemptId): Promise<AttemptUsage | null> {
    const files = this.#store.filesOf(attemptId);
    const seen = inspectAttempt(files, this.#bootId);
    if (seen.kind === "absent") return null;
    const progressSkippedCount = this.#monitor.progressSkippedCount(files.key.name);
    if (seen.kind === "ended") {
      return { workers: seen.exit.kind === "exited" ? seen.exit.usage : [], progressSkippedCount };
    }
    const pids = seen.kind === "running" ? (files.readIfSound("workers.json")?.workers ?? []) : [];
    return { workers: sampleUsage(pids.map(({ pid }) => pid)), progressSkippedCount };
  }

  staging(attemptId: AttemptId): StagingProgress | null {
    return this.#staging?.progressOf(attemptId) ?? null;
  }

  async inputCache(): Promise<CacheReport | null> {
    return (await this.#cache?.report()) ?? null;
  }

  async readAccelerators(): Promise<readonly NodeReadings[]> {
    this.#found ??= this.#discover();
    return readNodes(await this.#found, this.#tools);
  }

  async forget(attemptId: AttemptId): Promise<void> {
    const files = this.#store.filesOf(attemptId);
    const { name } = files.key;
    const seen = inspectAttempt(files, this.#bootId);
    if (seen.kind === "absent") {
      this.#monitor.forget(name);
      return;
    }
    if (seen.kind !== "ended") {
      throw new OperationalError("attemptActive", `Attempt ${attemptId} has not ended.`, { retryable: true });
    }
    // The directory is renamed in one step, so that a crash in between does not leave an attempt without its end.
    const forgotten = FORGOTTEN_PREFIX + name;
    this.#monitor.forget(name);
    this.#drain?.forget(attemptId);
    // The mark is removed first: a mark without records would count as tampering.
    files.removeClaimMark();
    await rename(files.recordsDir, path.join(this.#store.attemptsDir, forgotten));
    await this.#removeForgotten([forgotten]);
  }

  async close(): Promise<void> {
    const staged = this.#staging?.close();
    this.#slots.close();
    this.#resizer.close();
    await this.#queue.close();
    await staged;
    await this.#monitor.close();
    await this.#drain?.close();
    await this.#launcher.close();
    await this.#started;
    this.#isolation.close();
  }

  /**
   * Also removes directories that an earlier control plane was removing when it ended. If a file cannot be removed, the
   * next start tries again.
   */
  async #removeForgotten(names: readonly string[]): Promise<void> {
    const { attemptsDir, workRoot, requestRoot } = this.#store;
    for (const name of names) {
      try {
        // The records are removed last, because they contain the paths of the other directories.
        const attempt = name.slice(FORGOTTEN_PREFIX.length);
        await this.#remover.remove([path.join(workRoot, attempt), path.join(requestRoot, attempt)]);
        await this.#remover.remove([path.join(attemptsDir, name)]);
      } catch (error) {
        this.#problem(`Removing ${name}`, error);
      }
    }
  }

  /**
   * An unreadable record never prevents the start. The attempt is then lost, or its record is read again later if the
   * error is temporary.
   */
  async #readAttempt(name: string): Promise<KnownAttempt | null> {
    const attemptId = attemptIdOfName(name);
    if (attemptId === null) return null;
    try {
      const files = this.#store.files(name);
      let seen = inspectAttempt(files, this.#bootId);
      if (seen.kind === "orphaned") {
        if (seen.cause === "records") this.#problem(`Attempt ${attemptId} is lost`, seen.detail);
        if (await buryAttempt(files, seen, this.#bootId)) seen = inspectAttempt(files, this.#bootId);
      }
      if (seen.kind === "absent") return null;
      const { workloadId = null, sequence = 0 } = seen.launch ?? {};
      return { attemptId, workloadId, sequence, phase: phaseOf(seen) };
    } catch (error) {
      this.#problem(`Reading attempt ${attemptId}`, error);
      // The attempt can still run, so its accelerators must not be assigned to other work.
      return { attemptId, workloadId: null, sequence: 0, phase: { kind: "running" } };
    }
  }

  /** Kills the processes of attempts whose records were removed, so that none of them runs beside a retry. */
  async #endStrays(known: ReadonlySet<AttemptId>): Promise<KnownAttempt[]> {
    const lost: KnownAttempt[] = [];
    for (const name of processesBelow(this.#store.workRoot).keys()) {
      const attemptId = attemptIdOfName(name);
      if (attemptId === null || known.has(attemptId)) continue;
      const files = this.#store.files(name);
      const gone = await killAttempt(files, null, this.#bootId);
      // Any process can name the progress file of an attempt that is still to come.
      if (!files.wasClaimed) continue;
      const detail = "The records of the attempt were removed while it ran; its workers were killed.";
      this.#problem(`Attempt ${attemptId} is lost`, detail);
      const ended = { kind: "lost", endedAtMs: Date.now(), detail, cause: "records" } as const;
      lost.push({ attemptId, workloadId: null, sequence: 0, phase: gone ? ended : { kind: "running" } });
    }
    return lost;
  }

  #discover(): Promise<LocalInventory> {
    const { accelerators: which, nodeCount = 1 } = this.#options;
    const found = which === "declared" || nodeCount > 1 ? Promise.resolve([]) : findAccelerators();
    return found.then((now) => describeMachine(readMachine(), this.#lastFound(now), this.#options));
  }

  /**
   * Keeps the last detected accelerators if a later detection finds none. A vendor's tool that fails once must not turn
   * accelerators into declared slots.
   */
  #lastFound(now: readonly FoundAccelerator[]): readonly FoundAccelerator[] {
    if (now.length === 0 && this.#accelerators.length > 0)
      this.#problem("Looking for accelerators", "the vendors' tools report none any more; the last answer is kept");
    else this.#accelerators = now;
    return this.#accelerators;
  }

  async #devicesOf(node: NodeId): Promise<NodeDevices | null> {
    this.#found ??= this.#discover();
    return (await this.#found).devices.get(node) ?? null;
  }

  #emit(input: ExecutorInput): void | Promise<void> {
    if (this.#listener !== null) return this.#listener(input);
    this.#untold?.push(input);
    return undefined;
  }

  #problem(what: string, error: unknown): void {
    const message = `${what}: ${error instanceof Error ? error.message : String(error)}`;
    if (this.#options.onProblem === undefined) process.emitWarning(message);
    else this.#options.onProblem(message);
  }
}

const programPath = (): string => process.env["PATH"] ?? "/usr/bin:/bin";

function isolationOf(text: string | undefined): IsolationMode {
  const mode = isolationModes.find((each) => each === text);
  if (mode !== undefined) return mode;
  if (text === undefined || text === "") return "auto";
  const message = `HEADROOM_ISOLATION must be one of ${isolationModes.join(", ")}, not ${text}.`;
  throw new OperationalError("badIsolation", message, { retryable: false });
}

function phaseOf(seen: Exclude<Inspection, { kind: "absent" }>): KnownAttempt["phase"] {
  switch (seen.kind) {
    case "unclaimed":
    case "starting":
      return { kind: "launching" };
    case "running":
      return { kind: "running" };
    case "orphaned":
      // A process of the attempt did not end. While it exists, its accelerators must not be assigned to other work.
      return { kind: "running" };
    case "ended": {
      const { exit } = seen;
      const { endedAtMs } = exit;
      return exit.kind === "exited"
        ? { kind: "ended", endedAtMs, exits: exit.exits }
        : { kind: "lost", endedAtMs, detail: exit.detail, ...(exit.cause === undefined ? {} : { cause: exit.cause }) };
    }
  }
}

/** Number of log directories: one for every worker that the gang has ever had or was ever resized to. */
function countWorkers({ recordsDir }: AttemptFiles): number {
  try {
    return readdirSync(recordsDir).filter((name) => /^worker-\d+$/.test(name)).length;
  } catch {
    return 0;
  }
}

const logLimits = ({ logFileMaxBytes, logFilesKept }: LocalExecutorOptions): LogLimits => ({
  fileMaxBytes: logFileMaxBytes ?? LOG_FILE_MAX_BYTES,
  filesKept: Math.max(2, logFilesKept ?? LOG_FILES_KEPT),
});
