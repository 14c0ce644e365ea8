/**
 * Turns records and Slurm's answers into observations. A sweep reads the records of every attempt that has not ended, a poll
 * asks Slurm about the jobs. A silent Slurm changes nothing: attempts are followed by their records alone.
 */
import type { FSWatcher } from "node:fs";
import { watch } from "node:fs";
import type { AttemptId, LossCause, NodeId, ReportedArtifact } from "@headroom/model";
import { recordLost, voidAttempt } from "../../job-protocol/lost-attempt.ts";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import type { ExitRecord, GangPart, LaunchRecord } from "../../job-protocol/attempt-records.ts";
import { supervisorLastWords } from "../../job-protocol/supervisor-words.ts";
import { attemptIdOfName } from "../../job-protocol/attempt-names.ts";
import { partFiles, partsOf } from "../../job-protocol/attempt-parts.ts";
import type { AttemptStore } from "../../job-protocol/attempt-store.ts";
import type { RecordedState } from "../../job-protocol/recorded-state.ts";
import { readState } from "../../job-protocol/recorded-state.ts";
import type { JobList } from "../commands/job-list.ts";
import type { SlurmCommands } from "../commands/slurm-commands.ts";
import type { Claim, Conclusion, JudgeRules } from "./judge.ts";
import { runAsOf } from "./job-owners.ts";
import type { JobTransfers } from "../../job-protocol/job-transfers.ts";
import { judge } from "./judge.ts";
import { ProgressReports } from "../../job-protocol/progress-reports.ts";
import type { Reporter } from "../../job-protocol/reporter.ts";
import type { WatchedJob } from "./slurm-attempt.ts";
import { watchedAttempt } from "./slurm-attempt.ts";

/** Period in ms of the sweep. On this machine's own file systems, a watch shows changes at once. */
const SWEEP_MS = 1_000;
/**
 * A look that takes longer than `SLOW_LOOK_MS` is followed by a pause of this many times its length, so that records which a job's user
 * made large do not hold up the others.
 */
const SLOW_LOOK_MS = 50;
const SLOW_LOOK_PAUSES = 10;
const LOOK_PAUSE_MAX_MS = 10_000;
/** Attempts that the start reads before other work gets the event loop. */
const READ_BATCH = 25;
/** Time in ms between two questions about the nodes of a job that Slurm does not start. */
const CHECK_NODES_MS = 10_000;
/** Polls in a row that must not show a cancelled job before it counts as gone. */
const CANCEL_QUIET_POLLS = 3;

export interface WatchSetup {
  readonly store: AttemptStore;
  readonly commands: SlurmCommands;
  readonly reporter: Reporter;
  readonly rules: JudgeRules;
  readonly pollMs: number;
  /** Time in ms without an answer after which attempts that have not started are given back. */
  readonly giveBackAfterMs: number;
  /** Names of this executor's jobs begin with it. */
  readonly jobPrefix: string;
  /** Submits a job of an attempt whose job seems to be missing, unless `squeue` lists one. */
  readonly submitAgain: (watched: WatchedJob) => Promise<void>;
  /** Nodes of the cluster that take no work, by name, with the reason. */
  readonly outOfService: () => Promise<ReadonlyMap<string, string>>;
  /** Throws if the shared directory is not there. */
  readonly checkDirectory: () => void;
  readonly nodeIdOf: (name: string) => NodeId;
  /** Called before the end of an attempt is reported. */
  readonly onEnded: (files: AttemptFiles, launch: LaunchRecord) => void;
  /** `null`: nothing is uploaded. */
  readonly transfers: JobTransfers | null;
  /** Called before attempts are given back because Slurm does not answer. */
  readonly onSilence: (detail: string) => void;
  readonly onContact: (problem: string | null) => void;
  readonly onProblem: (message: string) => void;
}

export class AttemptWatch {
  readonly #setup: WatchSetup;
  readonly #watched = new Map<string, WatchedJob>();
  readonly #ended = new Set<string>();
  /** Jobs to cancel, with the number of polls in a row that did not show them. */
  readonly #cancels = new Map<string, number>();
  /** Parts of the jobs of attempts that ran, by the attempt for which the job was submitted: its records may be gone by then. */
  readonly #hostParts = new Map<string, readonly GangPart[]>();
  readonly #examining = new Map<string, Promise<void>>();
  #watcher: FSWatcher | null = null;
  #sweepTimer: NodeJS.Timeout | null = null;
  #pollTimer: NodeJS.Timeout | null = null;
  #polling: Promise<void> | null = null;
  #silentSinceMs: number | null = null;
  #isClosed = false;

  constructor(setup: WatchSetup) {
    this.#setup = setup;
  }

  /** Reports existing attempts. Resolves when all are reported. */
  async start(): Promise<void> {
    const { store, pollMs } = this.#setup;
    try {
      this.#watcher = watch(store.attemptsDir, { persistent: false }, (_, name) => {
        if (name !== null) this.notice(name.split(",", 1)[0] ?? name);
      });
      this.#watcher.on("error", () => this.#watcher?.close());
    } catch {
      // No watch is left or the file system has none: the sweep remains.
    }
    this.#sweepTimer = setInterval(() => this.#sweep(), SWEEP_MS);
    this.#pollTimer = setInterval(() => this.#poll(), pollMs);
    for (const [position, name] of store.names().entries()) {
      const attemptId = attemptIdOfName(name);
      if (this.#isClosed) return;
      if (attemptId === null) continue;
      if (!this.knows(name)) this.#watched.set(name, watchedAttempt(attemptId, store.files(name), true));
      // The others do not wait for its upload.
      await Promise.race([this.#examine(name), this.#watched.get(name)?.uploading.promise]);
      if (position % READ_BATCH === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  track(attemptId: AttemptId, files: AttemptFiles): WatchedJob | null {
    const { name } = files.key;
    if (this.#ended.has(name)) return null;
    const known = this.#watched.get(name) ?? watchedAttempt(attemptId, files, false);
    this.#watched.set(name, known);
    this.notice(name);
    return known;
  }

  knows(name: string): boolean {
    return this.#watched.has(name) || this.#ended.has(name);
  }

  hasEnded(name: string): boolean {
    return this.#ended.has(name);
  }

  notice(name: string): void {
    if (!this.#isClosed && this.#watched.has(name)) void this.#examine(name);
  }

  forget(name: string): void {
    this.#watched.delete(name);
    this.#ended.delete(name);
  }

  progressSkippedCount(name: string): number {
    return this.#watched.get(name)?.progress?.skippedCount ?? 0;
  }

  /**
   * Parts of gangs whose jobs may hold nodes: those of attempts that have not ended, and of own jobs that Slurm still shows as active.
   */
  partsHeld({ jobs, isComplete }: JobList): readonly GangPart[] {
    const { store, jobPrefix } = this.#setup;
    const active = [...jobs.values()].filter(({ phase }) => phase === "active");
    // A job that runs another attempt than its own holds one part.
    const hosts = new Set([...this.#watched.values()].map(({ host }) => host));
    const others = active.map(({ name }) => name.slice(jobPrefix.length)).filter((name) => !hosts.has(name));
    const names = new Set([...this.#watched.keys(), ...others]);
    if (isComplete)
      for (const host of this.#hostParts.keys()) if (!names.has(host) && !hosts.has(host)) this.#hostParts.delete(host);
    return [...names].flatMap((name) => {
      const launch = attemptIdOfName(name) === null ? null : store.files(name).readIfSound("launch.json");
      return launch === null ? (this.#hostParts.get(name) ?? []) : partsOf(launch);
    });
  }

  /** Cancels the job of an attempt in Slurm, until Slurm no longer shows it. */
  cancel(name: string): void {
    this.#cancels.set(this.jobName(this.#watched.get(name)?.host ?? name), 0);
    this.#poll();
  }

  jobName(name: string): string {
    return this.#setup.jobPrefix + name;
  }

  tellLost(name: string, attemptId: AttemptId, detail: string, cause?: LossCause): void {
    if (this.#ended.has(name)) return;
    this.#watched.delete(name);
    this.#ended.add(name);
    this.#setup.reporter.tell({ kind: "attemptLost", attemptId, detail, ...(cause === undefined ? {} : { cause }) });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#watcher?.close();
    if (this.#sweepTimer !== null) clearInterval(this.#sweepTimer);
    if (this.#pollTimer !== null) clearInterval(this.#pollTimer);
    await Promise.all([...this.#examining.values(), this.#polling]);
  }

  #sweep(): void {
    const nowMs = performance.now();
    for (const { name, sweepAtMs } of this.#watched.values()) if (nowMs >= sweepAtMs) this.notice(name);
  }

  /** One examination of an attempt at a time. A change during it is seen by the next sweep at the latest. */
  #examine(name: string): Promise<void> {
    const running = this.#examining.get(name);
    const watched = this.#watched.get(name);
    if (running !== undefined || watched === undefined) return running ?? Promise.resolve();
    const examination = this.#examineOnce(watched)
      .catch((error: unknown) => this.#problem(`Attempt ${watched.attemptId}`, error))
      .finally(() => this.#examining.delete(name));
    this.#examining.set(name, examination);
    return examination;
  }

  async #examineOnce(watched: WatchedJob): Promise<void> {
    await this.#setup.reporter.untilRoom();
    if (this.#isClosed) return;
    const startedAtMs = performance.now();
    const state = readState(watched.files);
    const nowMs = performance.now();
    const lookMs = nowMs - startedAtMs;
    if (lookMs > SLOW_LOOK_MS) watched.sweepAtMs = nowMs + Math.min(SLOW_LOOK_PAUSES * lookMs, LOOK_PAUSE_MAX_MS);
    // After a restart, the job of an attempt that starts is not known yet.
    if (state.kind === "starting" && watched.isAdopted) claimOf(watched);
    if (state.kind === "running") await this.#tellRunning(watched, state);
    else if (state.kind === "ended") await this.#tellEnd(watched, state);
    else if (state.kind === "unreadable") this.#giveUp(watched, state.detail);
    else if (state.kind === "absent" && watched.isAdopted) {
      this.#setup.checkDirectory();
      // The directory was left by a launch that was interrupted before its record.
      this.#watched.delete(watched.name);
    }
  }

  async #tellRunning(watched: WatchedJob, { launch }: RecordedState & { kind: "running" }): Promise<void> {
    const { reporter } = this.#setup;
    if (!watched.isRunningTold) {
      watched.isRunningTold = true;
      claimOf(watched);
      if (launch.reuse !== undefined) this.#hostParts.set(watched.host, partsOf(launch));
      reporter.tell({ kind: "attemptRunning", attemptId: watched.attemptId });
    }
    watched.progress ??= progressOf(watched, launch, reporter, this.#setup.transfers);
    await watched.progress.tellDue();
  }

  async #tellEnd(watched: WatchedJob, { launch, exit }: RecordedState & { kind: "ended" }): Promise<void> {
    const { reporter } = this.#setup;
    const { attemptId, name, files } = watched;
    const ran = launch !== null && partsOf(launch).some((_, part) => partFiles(files.key, part).has("running.json"));
    if (exit.kind === "exited" || ran) {
      if (!watched.isRunningTold) reporter.tell({ kind: "attemptRunning", attemptId });
      watched.isRunningTold = true;
      if (launch !== null) watched.progress ??= progressOf(watched, launch, reporter, this.#setup.transfers);
      await watched.progress?.tellRest();
    }
    if (this.#isClosed || this.#ended.has(name)) return;
    if (exit.kind === "lost") return this.tellLost(name, attemptId, exit.detail, exit.cause);
    const artifacts = launch === null ? [] : await this.#upload(watched, launch, exit);
    if (this.#isClosed || this.#ended.has(name)) return;
    this.#watched.delete(name);
    this.#ended.add(name);
    if (launch !== null) this.#setup.onEnded(files, launch);
    const made = artifacts.length === 0 ? {} : { artifacts };
    reporter.tell({ kind: "attemptExited", attemptId, exits: exit.exits, ...made });
  }

  async #upload(watched: WatchedJob, launch: LaunchRecord, exit: ExitRecord): Promise<readonly ReportedArtifact[]> {
    const { transfers } = this.#setup;
    if (transfers === null) return [];
    watched.uploading.resolve();
    return transfers.collect(watched.files, { ...launch, attemptId: watched.attemptId }, exit);
  }

  /** Its supervisors see the recorded end and stop what runs. */
  #giveUp({ name, files, attemptId }: WatchedJob, detail: string): void {
    this.#setup.onProblem(`Attempt ${attemptId} is lost. ${detail}`);
    this.cancel(name);
    recordLost(files, { detail, cause: "records" });
  }

  #poll(): void {
    if (this.#polling !== null || this.#isClosed) return;
    if (this.#watched.size === 0 && this.#cancels.size === 0) return;
    this.#polling = this.#pollOnce().finally(() => (this.#polling = null));
  }

  async #pollOnce(): Promise<void> {
    const { commands, jobPrefix, onContact, giveBackAfterMs } = this.#setup;
    const askedAtMs = performance.now();
    let list: JobList;
    try {
      await this.#cancelDue();
      list = await commands.jobs(jobPrefix);
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      onContact(detail);
      this.#silentSinceMs ??= askedAtMs;
      if (performance.now() - this.#silentSinceMs >= giveBackAfterMs) this.#giveBackUnstarted(detail);
      return;
    }
    this.#silentSinceMs = null;
    onContact(null);
    for (const name of this.#cancels.keys()) this.#noteCancelled(name, list);
    for (const watched of this.#watched.values()) {
      if (this.#isClosed) return;
      try {
        await this.#conclude(watched, list);
      } catch (error) {
        this.#problem(`Attempt ${watched.attemptId}`, error);
      }
    }
  }

  /**
   * Claims what no supervisor has claimed, so that it runs elsewhere: a job that Slurm starts later finds the claim and ends. Work
   * that has started goes on.
   */
  #giveBackUnstarted(detail: string): void {
    const unstarted = [...this.#watched.values()].filter(({ files }) => readState(files).kind === "unclaimed");
    if (unstarted.length > 0) this.#setup.onSilence(detail);
    for (const { name, files } of unstarted)
      if (voidAttempt(files, "Slurm did not answer before it started.")) {
        this.#cancels.set(this.jobName(name), 0);
        this.notice(name);
      }
  }

  async #cancelDue(): Promise<void> {
    const nowMs = performance.now();
    for (const { host, cancelAtMs } of this.#watched.values())
      if (cancelAtMs !== null && nowMs >= cancelAtMs && !this.#cancels.has(this.jobName(host)))
        this.#cancels.set(this.jobName(host), 0);
    for (const jobName of this.#cancels.keys()) await this.#setup.commands.cancel(jobName);
  }

  #noteCancelled(jobName: string, { jobs, isComplete }: JobList): void {
    const job = jobs.get(jobName);
    const isQuiet = job === undefined ? isComplete : job.phase === "ended";
    const count = isQuiet ? (this.#cancels.get(jobName) ?? 0) + 1 : 0;
    if (count >= CANCEL_QUIET_POLLS) this.#cancels.delete(jobName);
    else this.#cancels.set(jobName, count);
  }

  async #conclude(watched: WatchedJob, list: JobList): Promise<void> {
    const state = readState(watched.files);
    if (state.kind !== "unclaimed" && state.kind !== "starting" && state.kind !== "running") return;
    const claim = state.kind === "unclaimed" ? null : claimOf(watched);
    const jobName = this.jobName(watched.host);
    if (claim !== null && list.jobs.get(jobName)?.phase !== "active") noteSigns(watched, partsOf(state.launch).length);
    const conclusion = judge(watched, list, jobName, this.#setup.rules, claim);
    await this.#act(watched, conclusion);
  }

  async #act(watched: WatchedJob, conclusion: Conclusion): Promise<void> {
    const { name, files } = watched;
    switch (conclusion.kind) {
      case "wait":
        return;
      case "submit":
        return this.#setup.submitAgain(watched);
      case "void": {
        const detail = conclusion.isSupervisor ? conclusion.detail + supervisorLastWords(files) : conclusion.detail;
        if (!voidAttempt(files, detail, conclusion.isSupervisor ? "supervisor" : undefined)) return;
        this.cancel(name);
        return this.notice(name);
      }
      case "checkNodes":
        return this.#checkNodes(watched, conclusion.detail);
      case "fence":
        files.create("fence.json", { detail: conclusion.detail });
        return;
      case "lost":
        recordLost(files, { detail: conclusion.detail });
        this.cancel(name);
        return this.notice(name);
    }
  }

  async #checkNodes(watched: WatchedJob, detail: string): Promise<void> {
    const nowMs = performance.now();
    if (nowMs < watched.checkNodesAtMs) return;
    watched.checkNodesAtMs = nowMs + CHECK_NODES_MS;
    const outOfService = await this.#setup.outOfService();
    for (const node of nodesOf(watched)) {
      const reason = outOfService.get(node);
      if (reason !== undefined) this.#leaveNode(node, reason, detail);
    }
  }

  /**
   * Reports that a node takes no work, before the attempts that waited for it are lost, so that none is placed there again. The engine
   * takes all its attempts on the node for lost, so the node must run none, and none may start there.
   */
  #leaveNode(node: string, reason: string, detail: string): void {
    const here = [...this.#watched.values()].filter((each) => nodesOf(each).includes(node));
    if (here.some(({ files }) => ["starting", "running"].includes(readState(files).kind))) return;
    const isLeft = here.map(({ files }) => voidAttempt(files, detail)).every(Boolean);
    const nodeId = this.#setup.nodeIdOf(node);
    if (isLeft) this.#setup.reporter.tell({ kind: "nodeUnreachable", nodeId, detail: reason });
    for (const { name } of here) {
      if (readState(this.#setup.store.files(name)).kind === "ended") this.cancel(name);
      this.notice(name);
    }
  }

  #problem(what: string, error: unknown): void {
    this.#setup.onProblem(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The user of a job can forge its records, so reports are for the attempt with this name, whatever the record of the launch says. */
export const progressOf = (
  { files, attemptId, isAdopted }: Pick<WatchedJob, "files" | "attemptId" | "isAdopted">,
  launch: LaunchRecord,
  reporter: Reporter,
  transfers: JobTransfers | null,
): ProgressReports =>
  new ProgressReports(files, { ...launch, attemptId }, reporter, isAdopted, (reported) =>
    transfers?.offer(files.key.name, reported),
  );

/** Notes the job that runs the attempt. Attempts of other users run in their own jobs: their users can forge claims. */
function claimOf(watched: WatchedJob): Claim {
  const claim = watched.files.readIfSound("claim.json");
  if (claim?.kind !== "supervised") return {};
  if (claim.host !== undefined && runAsOf(watched.files) === null) watched.host = claim.host;
  return { jobId: claim.jobId };
}

const nodesOf = ({ files }: WatchedJob): readonly string[] => {
  const launch = files.readIfSound("launch.json");
  return launch === null ? [] : partsOf(launch).map(({ node }) => node);
};

/** Parts whose signs one look reads. The next look reads the next ones. */
const SIGNS_READ_MAX = 500;

/**
 * Reads the signs of life of parts; one part that lives is a sign of the whole gang. Opening a file shows its newest content, also on NFS
 * (close-to-open).
 */
function noteSigns(watched: WatchedJob, partCount: number): void {
  const first = watched.signsFrom < partCount ? watched.signsFrom : 0;
  const read = Math.min(SIGNS_READ_MAX, partCount - first);
  const counts = Array.from({ length: read }, (_, index) => {
    const own = partFiles(watched.files.key, first + index);
    return `${own.readIfSound("alive.json")?.count ?? 0}${own.has("exit.json") ? "!" : ""}`;
  });
  watched.signsFrom = first + read;
  const signs = counts.join(" ");
  if (signs === watched.signs.get(first)) return;
  watched.signs.set(first, signs);
  watched.signChangedAtMs = performance.now();
}
