/**
 * Converts changes in the attempts' directories to observations and signals. One watch on the parent directory shows
 * which attempts have changed (`ringBell`). A sweep makes a few system calls for each running attempt: it follows the
 * progress files, finds dead supervisors, and replaces the watch if the system has none left.
 */
import type { FSWatcher } from "node:fs";
import { watch } from "node:fs";
import type { AttemptId, LossCause, ReportedArtifact } from "@headroom/model";
import type { ExecutorInput, ExecutorListener } from "../executor.ts";
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";
import type { ExitRecord, LaunchRecord } from "../job-protocol/attempt-records.ts";
import type { Inspection } from "./attempt-inspection.ts";
import { voidAttempt } from "../job-protocol/lost-attempt.ts";
import { buryAttempt, inspectAttempt, killAttempt } from "./attempt-inspection.ts";
import { attemptIdOfName } from "../job-protocol/attempt-names.ts";
import { MadeArtifacts } from "../job-protocol/made-artifacts.ts";
import type { CheckpointDrain } from "../job-protocol/checkpoint-drain.ts";
import type { OutputUpload } from "../job-protocol/output-upload.ts";
import type { AttemptStore } from "../job-protocol/attempt-store.ts";
import type { ProcessIdentity } from "../processes/process-table.ts";
import { ProgressFile } from "../job-protocol/progress-file.ts";
import type { ProgressNews } from "../job-protocol/progress-file.ts";
import { digestTurns, DigestTurns, UploadTurns } from "../job-protocol/digest-turns.ts";
import { ReadinessProber } from "./readiness-prober.ts";
import { SizeNews } from "./size-news.ts";
import { SupervisorWatch } from "./supervisor-watch.ts";

/**
 * Period in ms in which every attempt is checked once. The checks are spread over the period, so that a thousand
 * attempts never block the event loop.
 */
const SWEEP_MS = 1_000;
const SWEEP_SLICES = 5;
/**
 * Number of sweeps between two checks of a supervisor. This check costs ten times as much as a check of the progress
 * file, and a supervisor that is not killed reports its own end.
 */
const SWEEPS_PER_LIFE_CHECK = 4;
/** Minimum time in ms between progress reports of an attempt. Only the newest report is sent. */
const PROGRESS_INTERVAL_MS = 2_000;
/** Minimum time in ms between utilization reports. The engine accepts no more from one attempt. */
const UTILIZATION_INTERVAL_MS = 30_000;
/**
 * Minimum time in ms between reports of malformed lines. They are reported with the first one, then at most this often,
 * and at the end.
 */
const REJECTED_INTERVAL_MS = 30_000;
/**
 * Number of attempts that the start reads before other work gets the event loop. The start reads every attempt on disk.
 */
const SCAN_BATCH = 25;
/**
 * Time in ms within which a supervisor must claim its attempt. A start takes some hundred milliseconds, on a machine that
 * starts hundreds at once some seconds.
 */
const CLAIM_TIMEOUT_MS = 120_000;

interface Watched {
  readonly name: string;
  readonly attemptId: AttemptId;
  readonly files: AttemptFiles;
  /**
   * True: the attempt was found at the start and not launched by this process. Its old progress is not reported again.
   */
  readonly adopted: boolean;
  /** Whether the attempt had records when it was examined last. */
  hasRecords: boolean;
  progress: ProgressFile | null;
  /** Reports about the size of the gang; `null`: no change of size was requested. */
  size: SizeNews | null;
  /** Called at the next checkpoint report. */
  onCheckpoint: (() => void) | null;
  supervisor: ProcessIdentity | null;
  readonly watch: SupervisorWatch;
  /** Time since which no supervisor has claimed the attempt; `null`: a supervisor has, or the launch is unknown. */
  unclaimedSinceMs: number | null;
  runningTold: boolean;
  /** Reported artifacts that are registered at the end. */
  readonly made: MadeArtifacts;
  /** Resolved when the reading of their bytes begins, which can take minutes. */
  readonly digesting: PromiseWithResolvers<void>;
  pendingProgress: ExecutorInput | null;
  pendingUtilization: ExecutorInput | null;
  pendingRejected: ExecutorInput | null;
  rejectedToldAtMs: number;
  utilizationToldAtMs: number;
  progressToldAtMs: number;
  examining: boolean;
  examineAgain: boolean;
}

export interface MonitorSetup {
  readonly store: AttemptStore;
  readonly bootId: string;
  readonly emit: ExecutorListener;
  /** Called when the attempt runs or has ended; may be called more than once. */
  readonly onStarted: (name: string) => void;
  /** Called once when the end of the attempt is reported. */
  readonly onEnded: (name: string) => void;
  readonly onProblem: (message: string) => void;
  /** `null`: there are no stores. */
  readonly outputs: OutputUpload | null;
  /** `null`: there are no stores. */
  readonly drain: CheckpointDrain | null;
}

export class AttemptMonitor {
  readonly #setup: MonitorSetup;
  readonly #watched = new Map<string, Watched>();
  /**
   * Names of attempts whose end was reported, so that the end is reported only once. There is at most one name for each
   * directory.
   */
  readonly #ended = new Set<string>();
  readonly #examinations = new Set<Promise<void>>();
  readonly #readiness: ReadinessProber = new ReadinessProber((input) => this.#emit(input));
  readonly #digests: DigestTurns = new DigestTurns(digestTurns);
  readonly #uploads: UploadTurns = new UploadTurns();
  #watcher: FSWatcher | null = null;
  #timer: NodeJS.Timeout | null = null;
  #slice = 0;
  #closed = false;
  /** While the control plane accepts no reports, nothing is read: the facts remain in the records. */
  #room: Promise<void> | null = null;

  constructor(setup: MonitorSetup) {
    this.#setup = setup;
  }

  /** Reports the existing attempts. Resolves when all are reported, except those whose artifacts are still being read. */
  async start(): Promise<void> {
    try {
      this.#watcher = watch(this.#setup.store.attemptsDir, { persistent: false }, (_, name) => {
        if (name !== null) this.notice(name);
      });
      this.#watcher.on("error", (error) => this.#setup.onProblem(`Attempts are polled: ${error.message}`));
    } catch (error) {
      this.#setup.onProblem(`Attempts are polled, the system has no watch for them: ${messageOf(error)}`);
    }
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS / SWEEP_SLICES);
    for (const [position, name] of this.#setup.store.names().entries()) {
      if (this.#closed) return;
      if (!this.#watched.has(name) && !this.#ended.has(name)) this.#add(name, true);
      const watched = this.#watched.get(name);
      if (watched !== undefined) await Promise.race([this.#examine(name), watched.digesting.promise]);
      if (position % SCAN_BATCH === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Follows an attempt from now on. */
  track(name: string): void {
    if (!this.#watched.has(name) && !this.#ended.has(name)) this.#add(name, false);
    this.notice(name);
  }

  /** Notes that an attempt may have changed. */
  notice(name: string): void {
    if (!this.#closed && this.#watched.has(name)) void this.#examine(name);
  }

  /** Whether this process launched the attempt or found it at the start. */
  knows(name: string): boolean {
    return this.#watched.has(name) || this.#ended.has(name);
  }

  /** Reports an attempt that failed before it could be watched. */
  tellLost(name: string, attemptId: AttemptId, detail: string, cause?: LossCause): void {
    if (this.#closed || this.#ended.has(name)) return;
    this.#readiness.stop(name);
    this.#watched.delete(name);
    this.#ended.add(name);
    this.#setup.onStarted(name);
    this.#setup.onEnded(name);
    this.#emit(lostInput(attemptId, detail, cause));
  }

  forget(name: string): void {
    this.#watched.delete(name);
    this.#ended.delete(name);
  }

  /** From now on, reports the results of requests to change the size. */
  followSize(name: string): void {
    const watched = this.#watched.get(name);
    if (watched === undefined) return;
    watched.size ??= new SizeNews(watched.files);
    this.notice(name);
  }

  /** Calls back once, when the gang has reached the size of this request or of a later one. */
  awaitLeaving(name: string, request: number): void {
    const watched = this.#watched.get(name);
    if (watched === undefined) return;
    watched.size ??= new SizeNews(watched.files);
    watched.size.awaitLeaving(request);
    this.notice(name);
  }

  awaitCheckpoint(name: string, act: (() => void) | null): void {
    const watched = this.#watched.get(name);
    if (watched !== undefined) watched.onCheckpoint = act;
  }

  progressSkippedCount(name: string): number {
    return this.#watched.get(name)?.progress?.skippedCount ?? 0;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#readiness.close();
    this.#digests.close();
    this.#uploads.close();
    this.#watcher?.close();
    if (this.#timer !== null) clearInterval(this.#timer);
    await Promise.all(this.#examinations);
  }

  #add(name: string, adopted: boolean): void {
    const attemptId = attemptIdOfName(name);
    if (attemptId === null) return;
    const files = this.#setup.store.files(name);
    this.#watched.set(name, {
      name,
      attemptId,
      files,
      adopted,
      hasRecords: !adopted,
      progress: null,
      size: null,
      onCheckpoint: null,
      supervisor: null,
      watch: new SupervisorWatch(files),
      unclaimedSinceMs: null,
      runningTold: false,
      made: new MadeArtifacts(),
      digesting: Promise.withResolvers(),
      pendingProgress: null,
      pendingUtilization: null,
      pendingRejected: null,
      rejectedToldAtMs: Number.NEGATIVE_INFINITY,
      utilizationToldAtMs: Number.NEGATIVE_INFINITY,
      progressToldAtMs: Number.NEGATIVE_INFINITY,
      examining: false,
      examineAgain: false,
    });
  }

  #sweep(): void {
    this.#slice += 1;
    const sweep = Math.floor(this.#slice / SWEEP_SLICES);
    let position = 0;
    for (const watched of this.#watched.values()) {
      position += 1;
      if (position % SWEEP_SLICES !== this.#slice % SWEEP_SLICES) continue;
      const lifeIsDue = (sweep + position) % SWEEPS_PER_LIFE_CHECK === 0;
      if (hasProgressed(watched) || (lifeIsDue && mayHaveEnded(watched))) this.notice(watched.name);
    }
  }

  /** Examines one attempt. Only one call runs at a time; changes during a call lead to another call. */
  #examine(name: string): Promise<void> {
    const watched = this.#watched.get(name);
    if (watched === undefined) return Promise.resolve();
    watched.examineAgain = true;
    if (watched.examining) return Promise.resolve();
    watched.examining = true;
    const examination = this.#examineUntilQuiet(watched).finally(() => {
      watched.examining = false;
      this.#examinations.delete(examination);
    });
    this.#examinations.add(examination);
    return examination;
  }

  async #examineUntilQuiet(watched: Watched): Promise<void> {
    while (watched.examineAgain && !this.#closed && this.#watched.has(watched.name)) {
      watched.examineAgain = false;
      await this.#untilRoom();
      try {
        await this.#tell(watched, inspectAttempt(watched.files, this.#setup.bootId));
      } catch (error) {
        // The next sweep tries again: a read error of the disk must not count as the end of the attempt.
        this.#setup.onProblem(`Attempt ${watched.attemptId}: ${messageOf(error)}`);
      }
    }
  }

  async #tell(watched: Watched, seen: Inspection): Promise<void> {
    if (seen.kind !== "absent") watched.hasRecords = true;
    switch (seen.kind) {
      case "absent":
        if (watched.hasRecords) await this.#endWithoutRecords(watched);
        // The directory was left by a launch that was interrupted before its record, or belongs to no attempt.
        else this.#watched.delete(watched.name);
        return;
      case "unclaimed":
        this.#awaitClaim(watched);
        return;
      case "starting":
        watched.supervisor = seen.supervisor;
        watched.watch.check(seen.supervisor, seen.launch);
        return;
      case "running":
        watched.supervisor = seen.supervisor;
        watched.watch.check(seen.supervisor, seen.launch);
        this.#tellRunning(watched);
        this.#tellSize(watched);
        this.#followReadiness(watched, seen.launch);
        await this.#tellProgress(watched, seen.launch, "due");
        return;
      case "orphaned":
        if (seen.cause === "records") this.#setup.onProblem(`Attempt ${watched.attemptId} is lost. ${seen.detail}`);
        if (await buryAttempt(watched.files, seen, this.#setup.bootId)) watched.examineAgain = true;
        return;
      case "ended":
        await this.#tellEnd(watched, seen.launch, seen.exit);
        return;
    }
  }

  /** Another job may have stopped the supervisor before it claimed the attempt. */
  #awaitClaim(watched: Watched): void {
    const nowMs = performance.now();
    watched.unclaimedSinceMs ??= nowMs;
    if (nowMs - watched.unclaimedSinceMs < CLAIM_TIMEOUT_MS) return;
    if (voidAttempt(watched.files, "No supervisor claimed it in time.")) watched.examineAgain = true;
  }

  /** The records were removed. The attempt's processes are killed before it is reported as lost. */
  async #endWithoutRecords(watched: Watched): Promise<void> {
    const { name, attemptId, files } = watched;
    if (!(await killAttempt(files, null, this.#setup.bootId))) return;
    const detail = "The records of the attempt were removed, so how it ended is not known; its workers were killed.";
    this.#setup.onProblem(`Attempt ${attemptId} is lost. ${detail}`);
    this.tellLost(name, attemptId, detail, "records");
  }

  #tellRunning(watched: Watched): void {
    if (watched.runningTold) return;
    watched.runningTold = true;
    this.#setup.onStarted(watched.name);
    this.#emit({ kind: "attemptRunning", attemptId: watched.attemptId });
  }

  #followReadiness({ name, attemptId, files }: Watched, { readyPath }: LaunchRecord): void {
    if (readyPath === undefined) return;
    const port = files.readIfSound("running.json")?.servicePort;
    if (port !== undefined) this.#readiness.start(name, { attemptId, port, path: readyPath });
  }

  #tellSize({ size, attemptId }: Watched): void {
    for (const news of size?.read(attemptId) ?? []) this.#emit(news);
  }

  async #tellProgress(watched: Watched, launch: LaunchRecord, which: "due" | "all"): Promise<void> {
    const first = watched.progress === null;
    watched.progress ??= new ProgressFile(watched.files.progressFile, {
      ...launch,
      workerCount: launch.environments.length,
    });
    const { progress } = watched;
    const catchingUp = first && watched.adopted;
    if (catchingUp) progress.skipToRecent();
    if (which === "all")
      for await (const news of progress.readRest()) await this.#take(watched, launch, news, catchingUp);
    else if (progress.hasGrown()) await this.#take(watched, launch, await progress.read(), catchingUp);
    const nowMs = performance.now();
    this.#tellUtilization(watched, nowMs);
    this.#tellRejected(watched, which === "all" ? Number.POSITIVE_INFINITY : nowMs);
    const due = which === "all" || nowMs - watched.progressToldAtMs >= PROGRESS_INTERVAL_MS;
    if (watched.pendingProgress === null || !due) return;
    this.#emit(watched.pendingProgress);
    watched.pendingProgress = null;
    watched.progressToldAtMs = nowMs;
  }

  async #take(watched: Watched, launch: LaunchRecord, news: ProgressNews, catchingUp: boolean): Promise<void> {
    watched.pendingProgress = news.progress ?? watched.pendingProgress;
    watched.pendingUtilization = news.utilization ?? watched.pendingUtilization;
    watched.pendingRejected = news.rejected ?? watched.pendingRejected;
    if (news.stepTimes !== null && !catchingUp) this.#emit(news.stepTimes);
    const checkpoints = catchingUp ? news.checkpoints.slice(-1) : news.checkpoints;
    for (const checkpoint of checkpoints) {
      this.#emit(checkpoint);
      this.#setup.drain?.offer(launch, checkpoint);
    }
    if (checkpoints.length > 0 && !catchingUp) watched.onCheckpoint?.();
    // After a restart, artifacts are reported again. The engine ignores those that it has already recorded.
    watched.made.take(news.artifacts);
    for (const { name, path } of news.artifacts)
      this.#emit({ kind: "artifactReported", attemptId: watched.attemptId, name, path });
    // A worker can write artifacts without end.
    await this.#untilRoom();
  }

  /** At the end of an attempt no utilization is reported: the last report is recent enough. */
  #tellUtilization(watched: Watched, nowMs: number): void {
    const { pendingUtilization } = watched;
    if (pendingUtilization === null || nowMs - watched.utilizationToldAtMs < UTILIZATION_INTERVAL_MS) return;
    this.#emit(pendingUtilization);
    watched.pendingUtilization = null;
    watched.utilizationToldAtMs = nowMs;
  }

  #tellRejected(watched: Watched, nowMs: number): void {
    const { pendingRejected } = watched;
    if (pendingRejected === null || nowMs - watched.rejectedToldAtMs < REJECTED_INTERVAL_MS) return;
    this.#emit(pendingRejected);
    watched.pendingRejected = null;
    watched.rejectedToldAtMs = nowMs;
  }

  async #tellEnd(watched: Watched, launch: LaunchRecord | null, exit: ExitRecord): Promise<void> {
    const { attemptId, files, name } = watched;
    const ran = exit.kind === "exited" || files.has("running.json");
    if (ran) this.#tellRunning(watched);
    if (ran && launch !== null) await this.#tellProgress(watched, launch, "all");
    this.#readiness.stop(name);
    const artifacts = launch === null || !hasSucceeded(exit) ? [] : await this.#madeArtifacts(watched, launch);
    if (this.#closed) return;
    this.#watched.delete(name);
    this.#ended.add(name);
    this.#setup.onStarted(name);
    this.#setup.onEnded(name);
    const made = artifacts.length === 0 ? {} : { artifacts };
    if (exit.kind === "exited") this.#emit({ kind: "attemptExited", attemptId, exits: exit.exits, ...made });
    else this.#emit(lostInput(attemptId, exit.detail, exit.cause));
  }

  /** Only recent reports of an adopted attempt were read, so they are all read again. */
  async #madeArtifacts(watched: Watched, launch: LaunchRecord): Promise<readonly ReportedArtifact[]> {
    if (watched.adopted) {
      const whole = new ProgressFile(watched.files.progressFile, {
        ...launch,
        workerCount: launch.environments.length,
      });
      for await (const { artifacts } of whole.readRest()) watched.made.take(artifacts);
    }
    watched.digesting.resolve();
    const places = { ...launch, homeDir: this.#setup.store.homeDir };
    const made = await this.#digests.run((signal) => watched.made.withDigests(places, signal));
    const { upload } = launch;
    const { outputs } = this.#setup;
    if (upload === undefined || outputs === null || made.length === 0) return made;
    return this.#uploads.run(upload.store, async (signal) => {
      const stored: ReportedArtifact[] = [];
      for (const artifact of made) stored.push(await outputs.store(artifact, upload, { places, signal, of: launch }));
      return stored;
    });
  }

  #emit(input: ExecutorInput): void {
    if (this.#closed) return;
    const room = this.#setup.emit(input);
    if (!(room instanceof Promise) || room === this.#room) return;
    this.#room = room;
    void room.finally(() => {
      if (this.#room === room) this.#room = null;
    });
  }

  /** Examinations go on one after the other: the first ones may fill the listener's inbox again. */
  async #untilRoom(): Promise<void> {
    while (this.#room !== null && !this.#closed) await this.#room;
  }
}

function hasProgressed(watched: Watched): boolean {
  const { progress, pendingProgress, pendingUtilization, utilizationToldAtMs, pendingRejected, rejectedToldAtMs } =
    watched;
  const nowMs = performance.now();
  const tellsUtilization = pendingUtilization !== null && nowMs - utilizationToldAtMs >= UTILIZATION_INTERVAL_MS;
  const tellsRejected = pendingRejected !== null && nowMs - rejectedToldAtMs >= REJECTED_INTERVAL_MS;
  return tellsUtilization || tellsRejected || pendingProgress !== null || (progress !== null && progress.hasGrown());
}

/** True also for an attempt that does not run yet. Such an attempt is then examined in full. */
function mayHaveEnded({ supervisor, files, watch }: Watched): boolean {
  return supervisor === null || files.has("exit.json") || !files.has("launch.json") || watch.isDue(supervisor);
}

const hasSucceeded = (exit: ExitRecord): boolean =>
  exit.kind === "exited" && exit.exits.every((each) => each.kind === "exited" && each.code === 0);

function lostInput(attemptId: AttemptId, detail: string, cause: LossCause | undefined): ExecutorInput {
  return { kind: "attemptLost", attemptId, detail, ...(cause === undefined ? {} : { cause }) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
