/**
 * The executor for a Slurm cluster: a gang is one job on exactly the nodes and accelerators that were decided. Records of attempts
 * are in a directory that the nodes share; supervisors on the nodes write them, as on this machine (`agent/`). Slurm is asked
 * for nodes and jobs through its commands (`commands/`). Start with `executor/job-launcher.ts`, then `executor/judge.ts`.
 */
import { createHash } from "node:crypto";
import { chmodSync, readdirSync } from "node:fs";
import { rename } from "node:fs/promises";
import path from "node:path";
import type { AttemptId, Effect, ExecutorCapabilities, ExecutorId, ForeignUseReport, NodeId } from "@headroom/model";
import { makeDirectory, makeDurableDirectory, OperationalError } from "@headroom/platform";
import { NodeCache } from "@headroom/stores";
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
import type { NodeSignals, PastNodeSignals, UnwatchedPeriod } from "../node-signals.ts";
import type { LogLimits } from "../job-protocol/attempt-records.ts";
import { attemptsDirOf, checkpointRootOf, requestRootOf, workRootOf } from "../job-protocol/attempt-files.ts";
import { attemptDirName, attemptIdOfName } from "../job-protocol/attempt-names.ts";
import { partsOf } from "../job-protocol/attempt-parts.ts";
import { AttemptStore, FORGOTTEN_PREFIX } from "../job-protocol/attempt-store.ts";
import { InputStaging } from "../job-protocol/input-staging.ts";
import type { StagingProgress } from "../job-protocol/input-staging.ts";
import { EffectQueue } from "../job-protocol/effect-queue.ts";
import { readLogs } from "../job-protocol/log-reader.ts";
import { LogSources } from "../job-protocol/log-sources.ts";
import { knownAttempt, readState } from "../job-protocol/recorded-state.ts";
import { Reporter } from "../job-protocol/reporter.ts";
import { readBootId } from "../processes/process-table.ts";
import { TreeRemover } from "../processes/tree-remover.ts";
import { SlurmCommands } from "./commands/slurm-commands.ts";
import { AttemptWatch } from "./executor/attempt-watch.ts";
import type { Cluster, ClusterNode } from "./executor/cluster-nodes.ts";
import { nodeIdOf, readCluster } from "./executor/cluster-nodes.ts";
import { freshUsage } from "./executor/fresh-usage.ts";
import { execRefusal } from "./executor/exec-refusal.ts";
import { SilentNodes } from "./executor/silent-nodes.ts";
import { foreignUses, ownAmounts } from "./executor/foreign-use.ts";
import { DirectoryMark } from "./executor/directory-mark.ts";
import { ReusableJobs } from "./executor/reusable-jobs.ts";
import { RecordedOwners } from "./executor/job-owners.ts";
import { JobTransfers } from "../job-protocol/job-transfers.ts";
import { pastSlurmSignals } from "./executor/past-node-signals.ts";
import { JobLauncher } from "./executor/job-launcher.ts";
import type { SlurmSettings } from "./settings.ts";

export interface SlurmExecutorOptions {
  readonly id: ExecutorId;
  readonly settings: SlurmSettings;
  /** Directory of this executor on the machine of the control plane, out of reach of jobs on other nodes. */
  readonly stateDir: string;
  readonly logFileMaxBytes?: number;
  readonly logFilesKept?: number;
  /** Absent: no stores are declared. */
  readonly stores?: StoreSet | undefined;
  readonly onProblem?: (message: string) => void;
}

const LOG_FILE_MAX_BYTES = 16 * 1024 * 1024;
const LOG_FILES_KEPT = 4;
/** Time in ms for which a job must be missing in Slurm before it is submitted again. */
const RESUBMIT_AFTER_MS = 10_000;
const READ_BATCH = 25;
/** Period in ms at which the use by jobs of others is read. */
const FOLLOW_MS = 5_000;

export function createSlurmExecutor(options: SlurmExecutorOptions): Executor {
  return new SlurmExecutor(options);
}

class SlurmExecutor implements Executor {
  readonly id: ExecutorId;
  readonly kind = "slurm";
  readonly capabilities: ExecutorCapabilities;
  readonly #options: SlurmExecutorOptions;
  readonly #store: AttemptStore;
  readonly #logSources = new LogSources();
  readonly #commands: SlurmCommands;
  readonly #owners: RecordedOwners;
  readonly #reporter: Reporter;
  readonly #cache: NodeCache | null;
  readonly #staging: InputStaging | null;
  /** `null`: nothing is uploaded, because outputs are left, or nothing is staged either. */
  readonly #transfers: JobTransfers | null;
  readonly #watch: AttemptWatch;
  readonly #launcher: JobLauncher;
  readonly #queue = new EffectQueue();
  readonly #remover = new TreeRemover();
  #cluster: Cluster | null = null;
  #signals: NodeSignals | null = null;
  readonly #silent = new SilentNodes();
  readonly #jobPrefix: string;
  /** Start of the reasons of own drains. */
  readonly #drainMark: string;
  #followTimer: NodeJS.Timeout | null = null;
  #following: Promise<void> | null = null;
  /** The newest reported foreign use, as JSON. */
  #reportedUse = "[]";
  #started: Promise<void> = Promise.resolve();
  readonly #mark: DirectoryMark;
  #contactProblem: string | null = null;
  /** The newest effect that could not be carried out. */
  #missed: string | null = null;
  #tellSilence: (detail: string) => void = () => {};

  constructor(options: SlurmExecutorOptions) {
    this.#options = options;
    this.id = options.id;
    const { settings, stateDir } = options;
    const runsAsOthers = settings.userRule !== "controlPlane";
    this.capabilities = capabilitiesOf(settings);
    this.#jobPrefix = `headroom-${tagOf(options)}-`;
    this.#drainMark = `headroom-${tagOf(options)}:`;
    this.#mark = new DirectoryMark(settings.directory, stateDir);
    this.#store = openStore(options, (message) => this.#problem(message));
    // Jobs of other users could not read the cache, and those that read stores need none: they get paths and URIs as they are.
    this.#cache = runsAsOthers || settings.readsStores ? null : sharedCache(options);
    this.#staging =
      this.#cache === null || options.stores === undefined
        ? null
        : new InputStaging({
            stores: options.stores,
            cache: this.#cache,
            isSeen: isSeenByNodes(options.stores, settings),
            onTransferred: (moved) => this.#reporter.tell(moved),
          });
    this.#transfers = this.#openTransfers(options);
    const reusable = new ReusableJobs();
    this.#reporter = new Reporter((input) => this.#releaseEnded(input));
    const owners = new RecordedOwners(this.#store, this.#jobPrefix);
    this.#owners = owners;
    this.#commands = new SlurmCommands(settings, owners, (message) => this.#problem(message));
    this.#watch = new AttemptWatch({
      store: this.#store,
      commands: this.#commands,
      reporter: this.#reporter,
      rules: { ...settings, resubmitAfterMs: Math.min(RESUBMIT_AFTER_MS, settings.lostAfterMs) },
      pollMs: settings.pollMs,
      jobPrefix: this.#jobPrefix,
      submitAgain: (watched) => this.#launcher.submitAgain(watched),
      giveBackAfterMs: settings.giveBackAfterMs,
      onEnded: (files, launch) => reusable.note(files, launch),
      transfers: this.#transfers,
      onSilence: (detail) => this.#tellSilence(detail),
      outOfService: async () => (await this.#readCluster()).outOfService,
      checkDirectory: () => this.#mark.check(),
      nodeIdOf: (name) => nodeIdOf(this.id, name),
      onContact: (problem) => this.#noteContact(problem),
      onProblem: (message) => this.#problem(message),
    });
    this.#launcher = new JobLauncher({
      store: this.#store,
      commands: this.#commands,
      settings,
      stateDir,
      log: logLimits(options),
      watch: this.#watch,
      nodes: () => this.#nodes(),
      onRecorded: (name) => owners.note(name),
      stores: options.stores,
      staging: this.#staging ?? undefined,
      transfers: this.#transfers,
      reusable,
      onProblem: (message) => this.#problem(message),
    });
  }

  #openTransfers({ stores, stateDir, settings }: SlurmExecutorOptions): JobTransfers | null {
    const { directory: shared, leavesOutputs, uploadsOutputs, uploadsFrom: namedBelow } = settings;
    if (stores === undefined || this.#staging === null || leavesOutputs || !uploadsOutputs) return null;
    const emit = (input: ExecutorInput): void => this.#reporter.tell(input);
    const onProblem = (message: string): void => this.#problem(message);
    const dir = path.join(stateDir, "transfers");
    return new JobTransfers({ stores, dir, shared, namedBelow, emit, onProblem });
  }

  whenSilent(listener: (detail: string) => void): void {
    this.#tellSilence = listener;
  }

  async inventory(): Promise<Inventory> {
    this.#mark.check();
    this.#tellMissed();
    const { cluster, foreignUse } = await this.#readUse();
    this.#reportedUse = JSON.stringify(foreignUse);
    return { ...cluster.inventory, foreignUse };
  }

  async passDrains(nodes: readonly NodeId[]): Promise<void> {
    if (!this.#options.settings.passDrains) return;
    const cluster = await this.#readCluster();
    const wanted = new Set(nodes.flatMap((id) => cluster.nodes.get(id)?.name ?? []));
    for (const name of wanted)
      if (!cluster.ownDrains.has(name) && !cluster.closed.has(name))
        await this.#commands.setDrain(name, `${this.#drainMark} drained in Headroom`);
    // Nodes of partitions that the executor does not use are none of its nodes, and were not drained by it.
    for (const name of cluster.ownDrains) if (!wanted.has(name)) await this.#commands.setDrain(name, null);
  }

  async attempts(): Promise<readonly KnownAttempt[]> {
    this.#mark.check();
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
    await this.#staging
      ?.keepHolders(holders)
      .catch((error: unknown) => this.#problem(`Opening the cache: ${messageOf(error)}`));
    return known;
  }

  /** Inputs of attempts that have ended can be evicted. */
  #releaseEnded(input: ExecutorInput): void {
    if (input.kind === "attemptExited" || input.kind === "attemptLost")
      this.#staging?.release(attemptDirName(input.attemptId));
  }

  staging(attemptId: AttemptId): StagingProgress | null {
    return this.#staging?.progressOf(attemptId) ?? null;
  }

  async inputCache(): Promise<CacheReport | null> {
    return (await this.#cache?.report()) ?? null;
  }

  perform(effect: Effect): void {
    // A launch that waits for its inputs would hold up its stop.
    if (effect.kind === "stopGang") this.#staging?.cancel(effect.attemptId);
    this.#queue.add(effect.attemptId, async () => {
      try {
        this.#mark.check();
        if (effect.kind === "launchGang") await this.#launcher.launch(effect);
        else if (effect.kind === "stopGang")
          await this.#launcher.stop(effect).finally(() => this.#staging?.forget(effect.attemptId));
        else if (effect.kind === "checkpointGang") this.#launcher.requestCheckpoint(effect);
        else this.#problem(`${effect.kind} of attempt ${effect.attemptId}: a gang on Slurm keeps its size`);
      } catch (error) {
        this.#missed = `${effect.kind} of attempt ${effect.attemptId}: ${messageOf(error)}`;
        this.#problem(this.#missed);
      }
    });
  }

  /** Counts as silence once, because the control plane repeats effects after a silence. */
  #tellMissed(): void {
    const missed = this.#missed;
    this.#missed = null;
    if (missed !== null) throw new OperationalError("executorUnreachable", missed, { retryable: true });
  }

  watch(listener: ExecutorListener): void {
    this.#followTimer = setInterval(() => void this.#follow(), FOLLOW_MS);
    this.#started = this.#reporter
      .listen(listener)
      .then(() => {
        this.#transfers?.start();
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

  exec(attemptId: AttemptId, { worker }: ExecRequest): Promise<ExecSession> {
    const files = this.#store.filesOf(attemptId);
    const claim = files.readIfSound("claim.json");
    const launch = files.readIfSound("launch.json");
    const parts = launch === null ? [] : partsOf(launch);
    const node = parts.find(({ ranks }) => ranks.includes(worker))?.node ?? "";
    return Promise.reject(execRefusal(claim?.kind === "supervised" ? claim.jobId : undefined, node));
  }

  async usage(attemptId: AttemptId): Promise<AttemptUsage | null> {
    const files = this.#store.filesOf(attemptId);
    const state = readState(files);
    if (state.kind === "absent") return null;
    const progressSkippedCount = this.#watch.progressSkippedCount(files.key.name);
    if (state.kind === "ended")
      return { workers: state.exit.kind === "exited" ? state.exit.usage : [], progressSkippedCount };
    return { workers: state.kind === "running" ? await freshUsage(files) : [], progressSkippedCount };
  }

  async forget(attemptId: AttemptId): Promise<void> {
    const files = this.#store.filesOf(attemptId);
    const { name } = files.key;
    const { kind } = readState(files);
    if (kind !== "absent" && kind !== "ended")
      throw new OperationalError("attemptActive", `Attempt ${attemptId} has not ended.`, { retryable: true });
    this.#watch.forget(name);
    this.#launcher.forget(name);
    this.#owners.forget(name);
    this.#transfers?.forget(name, attemptId);
    if (kind === "absent") return;
    const forgotten = FORGOTTEN_PREFIX + name;
    await rename(files.recordsDir, path.join(this.#store.attemptsDir, forgotten));
    await this.#removeForgotten([forgotten]);
  }

  async close(): Promise<void> {
    if (this.#followTimer !== null) clearInterval(this.#followTimer);
    await this.#following;
    const staged = this.#staging?.close();
    const transferred = this.#transfers?.close();
    await this.#queue.close();
    await staged;
    await transferred;
    this.#reporter.close();
    await this.#watch.close();
    await this.#started;
  }

  async #removeForgotten(names: readonly string[]): Promise<void> {
    const { attemptsDir, workRoot, requestRoot } = this.#store;
    for (const name of names) {
      const attempt = name.slice(FORGOTTEN_PREFIX.length);
      const isOwn = (entry: string): boolean => entry === attempt || entry.startsWith(`${attempt},`);
      const below = (root: string): string[] =>
        readdirSync(root)
          .filter(isOwn)
          .map((entry) => path.join(root, entry));
      try {
        // The records are removed last, because their name leads to the other directories.
        await this.#remover.remove([workRoot, requestRoot, attemptsDir].flatMap(below));
        await this.#remover.remove([path.join(attemptsDir, name)]);
      } catch (error) {
        this.#problem(`Removing ${name}: ${messageOf(error)}`);
      }
    }
  }

  /** Signals of the newest complete listing of Slurm. After a failed one, nothing is known until the next. */
  nodeSignals(): NodeSignals | null {
    return this.#signals;
  }

  async pastNodeSignals(period: UnwatchedPeriod): Promise<PastNodeSignals> {
    const ids = new Map([...(await this.#nodes())].map(([id, { name }]) => [name, id]));
    return pastSlurmSignals(await this.#commands.pastNodes(period.fromMs), period, { ids, drainMark: this.#drainMark });
  }

  async #nodes(): Promise<ReadonlyMap<NodeId, ClusterNode>> {
    return (this.#cluster ?? (await this.#readCluster())).nodes;
  }

  /** Throws if Slurm does not answer, or if its answers contradict each other: they say nothing about nodes then. */
  async #readCluster(): Promise<Cluster> {
    const { partitions, passDrains } = this.#options.settings;
    this.#signals = null;
    const [nodes, listed, topology] = await Promise.all([
      this.#commands.show("node"),
      this.#commands.show("partition"),
      this.#commands.show("topology").catch(noTopology),
    ]);
    const answers = { nodes, partitions: listed, topology };
    const cluster = readCluster(answers, this.id, partitions ?? null, passDrains ? this.#drainMark : null);
    this.#cluster = cluster;
    this.#signals = { nodes: new Set(cluster.nodes.keys()), signals: cluster.signals };
    return cluster;
  }

  /** Own jobs are listed first: one that ends in between still counts, so its nodes do not count as used by others. */
  async #readUse(): Promise<{ readonly cluster: Cluster; readonly foreignUse: readonly ForeignUseReport[] }> {
    const jobs = await this.#commands.jobs(this.#jobPrefix);
    const cluster = await this.#readCluster();
    const inService = cluster.inventory.nodes.flatMap(({ id }) => cluster.nodes.get(id) ?? []);
    const used = this.#silent.usedIn(cluster, performance.now());
    return { cluster, foreignUse: foreignUses(inService, used, ownAmounts(this.#watch.partsHeld(jobs))) };
  }

  /** Reports changed foreign use. A silent Slurm changes nothing. */
  async #follow(): Promise<void> {
    if (this.#following !== null) return;
    this.#following = this.#readUse().then(
      ({ foreignUse: uses }) => {
        const text = JSON.stringify(uses);
        if (text !== this.#reportedUse) this.#reporter.tell({ kind: "foreignUseSeen", executor: this.id, uses });
        this.#reportedUse = text;
      },
      () => {},
    );
    await this.#following;
    this.#following = null;
  }

  #noteContact(problem: string | null): void {
    if (problem !== null && this.#contactProblem === null) this.#problem(`Slurm does not answer: ${problem}`);
    this.#contactProblem = problem;
  }

  #problem(message: string): void {
    if (this.#options.onProblem === undefined) process.emitWarning(message);
    else this.#options.onProblem(message);
  }
}

/** The key of the records stays on this machine. Each attempt's own secret is in the shared directory until its job claims it. */
function openStore(options: SlurmExecutorOptions, onProblem: (message: string) => void): AttemptStore {
  const { stateDir, settings } = options;
  try {
    makeDurableDirectory(stateDir, 0o700);
    const mark = new DirectoryMark(settings.directory, stateDir);
    mark.check();
    const hasUsers = settings.userRule !== "controlPlane";
    const keyFile = path.join(stateDir, "records-key");
    const store = new AttemptStore(settings.directory, onProblem, keyFile, hasUsers ? 0o711 : 0o700);
    mark.make();
    if (hasUsers) openToUsers(settings.directory);
    return store;
  } catch (error) {
    if (error instanceof OperationalError) throw error;
    const message = `Attempts cannot be kept in ${settings.directory}: ${messageOf(error)}.`;
    throw new OperationalError("unusableDirectory", message, { retryable: false, cause: error });
  }
}

/** Jobs of other users reach their own directories; the names beside them stay hidden. */
function openToUsers(directory: string): void {
  const below = [attemptsDirOf, workRootOf, requestRootOf, checkpointRootOf].map((rootIn) => rootIn(directory));
  for (const each of [directory, ...below]) {
    makeDirectory(each, 0o711);
    chmodSync(each, 0o711);
  }
}

/**
 * Clusters without a topology plugin answer with an error. A controller that does not answer says nothing: without its switches all
 * nodes would move in the fabric.
 */
function noTopology(error: unknown): string {
  if (/did not answer|was ended|cannot be started|unable to contact|connect|socket|timed out/i.test(messageOf(error)))
    throw error;
  return "";
}

/** Tells the jobs of several installations on one cluster apart. */
const tagOf = ({ id, settings, stateDir }: SlurmExecutorOptions): string =>
  createHash("sha256").update(`${id}\0${settings.directory}\0${stateDir}`).digest("hex").slice(0, 10);

const logLimits = ({ logFileMaxBytes, logFilesKept }: SlurmExecutorOptions): LogLimits => ({
  fileMaxBytes: logFileMaxBytes ?? LOG_FILE_MAX_BYTES,
  filesKept: Math.max(2, logFilesKept ?? LOG_FILES_KEPT),
});

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The cache of inputs in the shared directory, which every node sees. It takes at most half of the free space. */
function sharedCache({ settings, stores }: SlurmExecutorOptions): NodeCache | null {
  if (stores === undefined) return null;
  const { directory } = settings;
  return new NodeCache({ dir: path.join(directory, "cache", "inputs"), trusted: directory, bootId: readBootId() });
}

/** Paths that nodes see, as far as this machine knows: the shared directory, and declared file systems. */
function isSeenByNodes(stores: StoreSet, { directory }: SlurmSettings): (at: string) => boolean {
  return (at) => {
    const plain = path.resolve(at);
    return plain.startsWith(`${directory}/`) || stores.placeOf(`file://${plain}`) !== null;
  };
}

function capabilitiesOf(settings: SlurmSettings): ExecutorCapabilities {
  const { userRule, readsStores, leavesOutputs, uploadsOutputs, uploadsFrom } = settings;
  const isForSubmitters = userRule === "sameName" || userRule === "table";
  const runsAsOthers = userRule !== "controlPlane";
  return {
    checkpointOnRequest: true,
    resize: false,
    replaceWorkers: false,
    logs: true,
    images: false,
    // Jobs of other users cannot read the cache of the control plane.
    inputs: readsStores || !runsAsOthers,
    // Without stores, work that names one is refused when it is submitted.
    uploads: leavesOutputs || (uploadsOutputs && !(runsAsOthers || readsStores)),
    ...(leavesOutputs ? {} : { uploadsFrom }),
    ...(isForSubmitters ? { submitters: true } : {}),
  };
}
