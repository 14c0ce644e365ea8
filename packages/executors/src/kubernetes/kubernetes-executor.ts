/**
 * The executor for a Kubernetes cluster: each worker is one pod, bound to exactly the node that was decided. Records of attempts and their
 * logs are on this machine; pods carry the attempt in labels and annotations, and a finalizer keeps them until their end is recorded. Start
 * with `executor/pod-launcher.ts`, then `executor/gang-judge.ts`; `fleet/` reads nodes, `api/` speaks to the API server.
 */
import { randomUUID } from "node:crypto";
import { existsSync, linkSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import path from "node:path";
import type { AttemptId, Effect, ExecutorCapabilities, ExecutorId } from "@headroom/model";
import { makeDirectory, makeDurableDirectory, OperationalError } from "@headroom/platform";
import type { CacheReport, StoreSet } from "@headroom/stores";
import type {
  AttemptUsage,
  ExecRequest,
  ExecSession,
  Executor,
  ExecutorInput,
  ExecutorListener,
  Inventory,
  KnownAttempt,
  LogChunk,
  LogRequest,
} from "../executor.ts";
import { AttemptFiles, isMissing } from "../job-protocol/attempt-files.ts";
import { attemptDirName, attemptIdOfName } from "../job-protocol/attempt-names.ts";
import { AttemptStore, FORGOTTEN_PREFIX } from "../job-protocol/attempt-store.ts";
import type { NodeSignals, PastNodeSignals, UnwatchedPeriod } from "../node-signals.ts";
import type { StagingProgress } from "../job-protocol/input-staging.ts";
import { EffectQueue } from "../job-protocol/effect-queue.ts";
import { readLogs } from "../job-protocol/log-reader.ts";
import { LogSources } from "../job-protocol/log-sources.ts";
import { knownAttempt, readState } from "../job-protocol/recorded-state.ts";
import { Reporter } from "../job-protocol/reporter.ts";
import { TreeRemover } from "../processes/tree-remover.ts";
import { Connection, messageOf } from "./api/connection.ts";
import { PodAdoption } from "./adoption/pod-adoption.ts";
import { PodApi } from "./api/pod-api.ts";
import { ClusterCopy } from "./cluster-copy.ts";
import { GangWatch } from "./executor/gang-watch.ts";
import { startPodExec } from "./executor/pod-exec.ts";
import { PodLauncher } from "./executor/pod-launcher.ts";
import { bringsInputs, podTransfers } from "./executor/pod-transfers.ts";
import type { PodTransfers } from "./executor/pod-transfers.ts";
import { PodTidier } from "./executor/pod-tidier.ts";
import { mapsSubmitters } from "./executor/submitter-names.ts";
import { readPlace } from "./executor/watched-gang.ts";
import { nodeIdOf } from "./fleet/cluster-nodes.ts";
import { FleetWatch } from "./fleet-watch.ts";
import type { KubernetesSettings } from "./settings.ts";

export interface KubernetesExecutorOptions {
  readonly id: ExecutorId;
  readonly settings: KubernetesSettings;
  /** Directory of this executor on the machine of the control plane: records and logs. */
  readonly stateDir: string;
  /** Reads the token of the settings. Absent: that of the kubeconfig is used. */
  readonly token?: () => string;
  readonly logFileMaxBytes?: number;
  readonly logFilesKept?: number;
  /** Absent: no stores are declared. */
  readonly stores?: StoreSet | undefined;
  readonly onProblem?: (message: string) => void;
}

const LOG_FILE_MAX_BYTES = 16 * 1024 * 1024;
const LOG_FILES_KEPT = 4;
const READ_BATCH = 25;
/** Time in ms in which one problem is told once. */
const PROBLEM_REPEAT_MS = 60_000;
const PROBLEMS_MAX = 1_000;

export function createKubernetesExecutor(options: KubernetesExecutorOptions): Executor {
  return new KubernetesExecutor(options);
}

class KubernetesExecutor implements Executor {
  readonly id: ExecutorId;
  readonly kind = "kubernetes";
  readonly capabilities: ExecutorCapabilities;
  readonly #options: KubernetesExecutorOptions;
  readonly #store: AttemptStore;
  readonly #logSources = new LogSources();
  readonly #connection: Connection;
  readonly #copy: ClusterCopy;
  readonly #reporter = new Reporter((input) => this.#releaseEnded(input));
  readonly #transfers: PodTransfers | null;
  readonly #watch: GangWatch;
  readonly #launcher: PodLauncher;
  readonly #tidier: PodTidier;
  readonly #fleet: FleetWatch;
  readonly adoption?: PodAdoption;
  readonly #queue = new EffectQueue();
  readonly #remover = new TreeRemover();
  readonly #toldAtMs = new Map<string, number>();
  #started: Promise<void> = Promise.resolve();
  /** The newest effect that could not be carried out. */
  #missed: string | null = null;
  #tellSilence: (detail: string) => void = () => {};

  constructor(options: KubernetesExecutorOptions) {
    this.#options = options;
    this.id = options.id;
    const { settings, stateDir, token } = options;
    const hasDirectory = settings.directory !== undefined;
    this.capabilities = capabilitiesOf(settings);
    const onProblem = this.#problem.bind(this);
    this.#store = openStore(options, onProblem);
    const emit = (input: ExecutorInput): void => this.#reporter.tell(input);
    this.#transfers = podTransfers(options.stores, { settings, stateDir, emit, onProblem });
    const installation = readInstallation(stateDir);
    const { kubeconfig, context, requestTimeoutMs } = settings;
    this.#connection = new Connection({ kubeconfig, context, requestTimeoutMs, token });
    const api = new PodApi(this.#connection);
    const copy = new ClusterCopy({
      id: this.id,
      connection: this.#connection,
      settings,
      installation,
      onPods: (base) => (base === null ? this.#watch.noticeAll() : this.#watch.noticeBase(base)),
      onNodes: () => this.#fleet.notice(),
    });
    this.#copy = copy;
    const isBinding = (): boolean => this.#launcher.isBinding;
    this.#fleet = new FleetWatch({ id: this.id, copy, reporter: this.#reporter, isBinding });
    const shared = { store: this.#store, api, copy, onProblem, jobFiles: jobFilesIn(settings.directory) };
    this.#watch = new GangWatch({
      ...shared,
      reporter: this.#reporter,
      rules: settings,
      hasDirectory,
      startPods: (watched) => this.#launcher.start(watched),
      nodeIdOf: (name) => nodeIdOf(this.id, name),
      outputs: this.#transfers?.outputs ?? null,
    });
    const holds = (uid: string): boolean => this.#watch.holds(uid);
    if (settings.adoptPods)
      this.adoption = new PodAdoption({
        id: this.id,
        settings,
        copy,
        api,
        holds,
        isReady: () => this.#watch.isComplete,
      });
    const log = {
      fileMaxBytes: options.logFileMaxBytes ?? LOG_FILE_MAX_BYTES,
      filesKept: Math.max(2, options.logFilesKept ?? LOG_FILES_KEPT),
    };
    const onSilence = (detail: string): void => this.#tellSilence(detail);
    this.#launcher = new PodLauncher({
      ...shared,
      settings,
      installation,
      log,
      watch: this.#watch,
      stores: options.stores,
      transfers: this.#transfers,
      adoption: this.adoption ?? null,
      onSilence,
    });
    this.#tidier = new PodTidier({ ...shared, keepPodsMs: settings.keepPodsMs });
  }

  /** Nothing is known while the watches tell of a problem. */
  nodeSignals(): NodeSignals | null {
    return this.#copy.problem === null ? this.#copy.nodeSignals() : null;
  }

  async pastNodeSignals(period: UnwatchedPeriod): Promise<PastNodeSignals> {
    await this.#copy.upToDate();
    return this.#copy.pastNodeSignals(period);
  }

  async inventory(): Promise<Inventory> {
    this.#tellMissed();
    await this.#copy.upToDate();
    const { inventory, notes } = this.#copy.view();
    for (const note of notes) this.#problem(note);
    this.#fleet.noteInventory(inventory);
    return inventory;
  }

  async attempts(): Promise<readonly KnownAttempt[]> {
    await this.#removeForgotten(this.#store.forgottenNames());
    const known: KnownAttempt[] = [];
    for (const [position, name] of this.#store.names().entries()) {
      const attemptId = attemptIdOfName(name);
      const attempt = attemptId === null ? null : knownAttempt(attemptId, readState(this.#store.files(name)));
      if (attempt !== null) known.push(attempt);
      if (position % READ_BATCH === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    const active = known.filter(({ phase }) => phase.kind === "launching" || phase.kind === "running");
    const holders = new Set(active.map(({ attemptId }) => attemptDirName(attemptId)));
    await this.#transfers?.staging
      .keepHolders(holders)
      .catch((error: unknown) => this.#problem(`Opening the cache: ${messageOf(error)}`));
    return known;
  }

  /** Inputs of attempts that have ended can be evicted. */
  #releaseEnded(input: ExecutorInput): void {
    if (input.kind === "attemptExited" || input.kind === "attemptLost")
      this.#transfers?.staging.release(attemptDirName(input.attemptId));
  }

  staging(attemptId: AttemptId): StagingProgress | null {
    return this.#transfers?.staging.progressOf(attemptId) ?? null;
  }

  async inputCache(): Promise<CacheReport | null> {
    return (await this.#transfers?.cache.report()) ?? null;
  }

  perform(effect: Effect): void {
    const staging = this.#transfers?.staging;
    // A launch that waits for its inputs would hold up its stop.
    if (effect.kind === "stopGang") staging?.cancel(effect.attemptId);
    this.#queue.add(effect.attemptId, async () => {
      try {
        if (effect.kind === "launchGang") await this.#launcher.launch(effect);
        else if (effect.kind === "stopGang")
          await this.#launcher.stop(effect).finally(() => staging?.forget(effect.attemptId));
        else if (effect.kind === "checkpointGang") this.#launcher.requestCheckpoint(effect);
        else this.#problem(`${effect.kind} of attempt ${effect.attemptId}: a gang on Kubernetes keeps its size`);
      } catch (error) {
        this.#missed = `${effect.kind} of attempt ${effect.attemptId}: ${messageOf(error)}`;
        this.#problem(this.#missed);
      }
    });
  }

  whenSilent(listener: (detail: string) => void): void {
    this.#tellSilence = listener;
  }

  /** Counts as silence once, because the control plane repeats effects after a silence. */
  #tellMissed(): void {
    const missed = this.#missed;
    this.#missed = null;
    if (missed !== null) throw new OperationalError("executorUnreachable", missed, { retryable: true });
  }

  watch(listener: ExecutorListener): void {
    this.#copy.start();
    this.#tidier.start();
    this.#started = this.#reporter
      .listen(listener)
      .then(() => {
        this.#transfers?.outputs?.start();
        return this.#watch.start();
      })
      .catch((error: unknown) => this.#problem(`Reading the attempts: ${messageOf(error)}`));
  }

  async *logs(attemptId: AttemptId, request: LogRequest, signal: AbortSignal): AsyncGenerator<LogChunk> {
    await this.#queue.settled(attemptId);
    const source = this.#logSources.sourceOf(this.#store.filesOf(attemptId));
    if (source === null)
      throw new OperationalError("unknownAttempt", `Attempt ${attemptId} has no logs here.`, { retryable: false });
    yield* readLogs(source, request, signal);
  }

  async exec(attemptId: AttemptId, request: ExecRequest): Promise<ExecSession> {
    const files = this.#store.filesOf(attemptId);
    const place = readPlace(files);
    const state = readState(files);
    if (place === null || state.kind !== "running")
      throw new OperationalError("cannotExec", "No command can be run inside the worker: the attempt does not run.", {
        retryable: false,
      });
    return await startPodExec(this.#connection, place, state.launch.workingDir, request);
  }

  /** Kubernetes' metrics API has rates, not the processor time that was used. */
  async usage(attemptId: AttemptId): Promise<AttemptUsage | null> {
    const files = this.#store.filesOf(attemptId);
    const state = readState(files);
    if (state.kind === "absent") return null;
    const progressSkippedCount = this.#watch.progressSkippedCount(files.key.name);
    return await Promise.resolve({ workers: [], progressSkippedCount });
  }

  async forget(attemptId: AttemptId): Promise<void> {
    const files = this.#store.filesOf(attemptId);
    const { name } = files.key;
    const { kind } = readState(files);
    if (kind !== "absent" && kind !== "ended")
      throw new OperationalError("attemptActive", `Attempt ${attemptId} has not ended.`, { retryable: true });
    if (kind === "ended") {
      const launch = files.readIfSound("launch.json");
      if (launch !== null) await this.#tidier.removeAll(files, launch.environments.length);
    }
    this.#watch.forget(name);
    this.#launcher.forget(name);
    this.#transfers?.outputs?.forget(name, attemptId);
    if (kind === "absent") return;
    const forgotten = FORGOTTEN_PREFIX + name;
    await rename(files.recordsDir, path.join(this.#store.attemptsDir, forgotten));
    await this.#removeForgotten([forgotten]);
  }

  async close(): Promise<void> {
    const staged = this.#transfers?.staging.close();
    const uploaded = this.#transfers?.outputs?.close();
    await this.#queue.close();
    await staged;
    await uploaded;
    this.#reporter.close();
    this.#fleet.close();
    await Promise.all([this.#watch.close(), this.#tidier.close()]);
    await this.#started;
    await this.adoption?.close();
    await this.#copy.close();
    this.#connection.close();
  }

  async #removeForgotten(names: readonly string[]): Promise<void> {
    const { attemptsDir, workRoot, requestRoot } = this.#store;
    for (const name of names) {
      const attempt = name.slice(FORGOTTEN_PREFIX.length);
      const isOwn = (entry: string): boolean => entry === attempt || entry.startsWith(`${attempt},`);
      const job = jobFilesIn(this.#options.settings.directory)(this.#store.files(attempt));
      const jobRoots = [job.requestRoot, path.dirname(path.dirname(job.progressFile)), path.dirname(job.recordsDir)];
      const roots = new Set([workRoot, requestRoot, attemptsDir, ...jobRoots]);
      try {
        // The records are removed last, because their name leads to the other directories.
        await this.#remover.remove(
          [...roots].flatMap((root) =>
            namesIn(root)
              .filter(isOwn)
              .map((entry) => path.join(root, entry)),
          ),
        );
        await this.#remover.remove([path.join(attemptsDir, name)]);
      } catch (error) {
        this.#problem(`Removing ${name}: ${messageOf(error)}`);
      }
    }
  }

  /** A call that fails is repeated, and so would be its message. */
  #problem(message: string): void {
    const nowMs = performance.now();
    if (nowMs - (this.#toldAtMs.get(message) ?? -Infinity) < PROBLEM_REPEAT_MS) return;
    if (this.#toldAtMs.size >= PROBLEMS_MAX) this.#toldAtMs.clear();
    this.#toldAtMs.set(message, nowMs);
    if (this.#options.onProblem === undefined) process.emitWarning(message);
    else this.#options.onProblem(message);
  }
}

const capabilitiesOf = (settings: KubernetesSettings): ExecutorCapabilities => ({
  checkpointOnRequest: settings.directory !== undefined,
  resize: false,
  replaceWorkers: false,
  logs: true,
  images: true,
  secrets: settings.secrets.length > 0,
  ...(settings.secrets.length > 0 ? { secretRules: settings.secrets } : {}),
  inputs: settings.readsStores || bringsInputs(settings),
  // Without stores, work that names one is refused when it is submitted.
  uploads: settings.leavesOutputs || (settings.uploadsOutputs && bringsInputs(settings)),
  // Directories that work names are in its containers.
  ...(settings.leavesOutputs ? {} : { uploadsFrom: [] }),
  ...(mapsSubmitters(settings) ? { submitters: true } : {}),
});

/** The files of a job are in the directory that it shares with this machine; its records are here. */
const jobFilesIn =
  (directory: string | undefined) =>
  (files: AttemptFiles): AttemptFiles =>
    directory === undefined ? files : new AttemptFiles({ ...files.key, homeDir: directory });

function openStore(
  { settings, stateDir }: KubernetesExecutorOptions,
  onProblem: (message: string) => void,
): AttemptStore {
  const { directory, directoryVolume } = settings;
  if (directory !== undefined && directoryVolume === undefined)
    throw new OperationalError("unusableDirectory", "`directory` needs `directoryVolume`: the volume of the pods.", {
      retryable: false,
    });
  try {
    makeDurableDirectory(stateDir, 0o700);
    if (directory !== undefined)
      for (const name of ["attempts", "work", "requests"]) makeDirectory(path.join(directory, name), 0o700);
    return new AttemptStore(stateDir, onProblem);
  } catch (error) {
    const message = `Attempts cannot be kept in ${stateDir}: ${messageOf(error)}.`;
    throw new OperationalError("unusableDirectory", message, { retryable: false, cause: error });
  }
}

const INSTALLATION_FILE = "installation";

/** Tells the pods of several installations on one cluster apart. It is made once. */
function readInstallation(stateDir: string): string {
  const file = path.join(stateDir, INSTALLATION_FILE);
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, `${randomUUID()}\n`, { mode: 0o600, flag: "wx", flush: true });
  try {
    linkSync(draft, file);
  } catch (error) {
    // Another instance has just made it.
    if (!existsSync(file)) throw error;
  } finally {
    unlinkSync(draft);
  }
  return readFileSync(file, "utf8").trim();
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
