/**
 * Turns pods and records into observations. An attempt is examined when one of its pods changes, and once a second. A silent API server
 * changes nothing.
 */
import type { AttemptId, LossCause, NodeId, ReportedArtifact } from "@headroom/model";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import type { ExitRecord, LaunchRecord } from "../../job-protocol/attempt-records.ts";
import { attemptIdOfName } from "../../job-protocol/attempt-names.ts";
import { gangEnd, partFiles, partsOf } from "../../job-protocol/attempt-parts.ts";
import type { AttemptStore } from "../../job-protocol/attempt-store.ts";
import { recordLost } from "../../job-protocol/lost-attempt.ts";
import { ProgressReports } from "../../job-protocol/progress-reports.ts";
import type { RecordedState } from "../../job-protocol/recorded-state.ts";
import { readState } from "../../job-protocol/recorded-state.ts";
import type { JobTransfers } from "../../job-protocol/job-transfers.ts";
import type { Reporter } from "../../job-protocol/reporter.ts";
import { refusedExit } from "../../processes/attempt-end.ts";
import { messageOf } from "../api/connection.ts";
import type { KubernetesPod } from "../api/objects.ts";
import { HeldPods, recordAdoptedLoss } from "../adoption/held-pods.ts";
import type { PodApi } from "../api/pod-api.ts";
import type { ClusterCopy } from "../cluster-copy.ts";
import type { GangConclusion, GangFacts, GangRules } from "./gang-judge.ts";
import { DENIALS_MIN, endRecords, judge, statesOf } from "./gang-judge.ts";
import { LogCollector } from "./log-collector.ts";
import { PodActions } from "./pod-actions.ts";
import { CONTAINER } from "./pod-names.ts";
import type { PodState } from "./pod-state.ts";
import { isOver } from "./pod-state.ts";
import type { PodPlace, WatchedGang } from "./watched-gang.ts";
import { delayRetry, podAt, readPlace, watchedGang } from "./watched-gang.ts";

const SWEEP_MS = 1_000;
const READ_BATCH = 25;
/** A look that takes longer is followed by a pause of this many times its length, at most `PAUSE_MAX_MS`. Times are in ms. */
const SLOW_LOOK_MS = 3;
const SLOW_LOOK_PAUSES = 10;
const PAUSE_MAX_MS = 500;
/** Logs that are followed at a time. Each has a connection. Those of further workers are read when they end. */
const LOGS_MAX = 2_000;

export interface GangWatchSetup {
  readonly store: AttemptStore;
  readonly api: PodApi;
  readonly copy: ClusterCopy;
  readonly reporter: Reporter;
  readonly rules: GangRules;
  /** Records, logs and requests of a job: in the shared directory, if there is one. */
  readonly jobFiles: (files: AttemptFiles) => AttemptFiles;
  /** False: reports are lines of the logs. */
  readonly hasDirectory: boolean;
  readonly startPods: (watched: WatchedGang) => Promise<void>;
  readonly nodeIdOf: (name: string) => NodeId;
  /** `null`: nothing is uploaded. */
  readonly outputs: JobTransfers | null;
  readonly onProblem: (message: string) => void;
}

type Active = Extract<RecordedState, { kind: "starting" | "running" }>;

/** One look at an attempt whose pods may have nodes. */
interface Look {
  readonly watched: WatchedGang;
  readonly launch: LaunchRecord;
  readonly place: PodPlace;
  readonly facts: GangFacts;
  readonly states: readonly (PodState | null)[];
}

export class GangWatch {
  readonly #setup: GangWatchSetup;
  readonly #actions: PodActions;
  readonly #watched = new Map<string, WatchedGang>();
  readonly #byBase = new Map<string, string>();
  readonly #ended = new Set<string>();
  readonly #examining = new Map<string, Promise<void>>();
  readonly #again = new Set<string>();
  /** Attempts whose last look took long. Until its timer ends, none is looked at again. */
  readonly #pauses = new Map<string, NodeJS.Timeout>();
  readonly #held = new HeldPods();
  #isComplete = false;
  #logCount = 0;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(setup: GangWatchSetup) {
    this.#setup = setup;
    this.#actions = new PodActions(setup.api);
  }

  /** Reports existing attempts. Resolves when all are reported. */
  async start(): Promise<void> {
    const { store } = this.#setup;
    this.#timer = setInterval(() => this.noticeAll(), SWEEP_MS);
    for (const [position, name] of store.names().entries()) {
      if (this.#isClosed) return;
      const attemptId = attemptIdOfName(name);
      if (attemptId === null) continue;
      if (!this.knows(name)) this.#watched.set(name, watchedGang(attemptId, store.files(name), true));
      // The others do not wait for its upload.
      await Promise.race([this.#examine(name), this.#watched.get(name)?.uploading.promise]);
      if (position % READ_BATCH === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    this.#isComplete = true;
  }

  /** Whether the attempts of earlier processes are known. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  track(attemptId: AttemptId, files: AttemptFiles): WatchedGang | null {
    const { name } = files.key;
    if (this.#ended.has(name)) return null;
    const known = this.#watched.get(name) ?? watchedGang(attemptId, files, false);
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

  /** Examines an attempt now, or once more after the examination in progress. */
  notice(name: string): void {
    if (this.#isClosed || !this.#watched.has(name)) return;
    if (this.#examining.has(name) || this.#pauses.has(name)) this.#again.add(name);
    else void this.#examine(name);
  }

  noticeBase(base: string): void {
    const name = this.#byBase.get(base);
    if (name !== undefined) this.notice(name);
  }

  noticeAll(): void {
    for (const name of this.#watched.keys()) this.notice(name);
  }

  forget(name: string): void {
    this.#watched.delete(name);
    this.#ended.delete(name);
    const place = readPlace(this.#setup.store.files(name));
    if (place !== null) this.#byBase.delete(place.base);
  }

  progressSkippedCount(name: string): number {
    return this.#watched.get(name)?.progress?.skippedCount ?? 0;
  }

  tellLost(name: string, attemptId: AttemptId, detail: string, cause?: LossCause): void {
    if (this.#ended.has(name)) return;
    this.#watched.delete(name);
    this.#ended.add(name);
    this.#held.release(name);
    this.#setup.reporter.tell({ kind: "attemptLost", attemptId, detail, ...(cause === undefined ? {} : { cause }) });
  }

  /** The workload fails with the reason in its log, so that its retries are bounded. */
  refuse(files: AttemptFiles, detail: string): void {
    const launch = files.read("launch.json");
    if (launch === null) return;
    files.create("claim.json", { kind: "void", detail });
    files.createDurably("exit.json", refusedExit(partFiles(files.key, 0), launch, detail));
    this.notice(files.key.name);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    for (const timer of this.#pauses.values()) clearTimeout(timer);
    const logs = [...this.#watched.values()].flatMap((each) => [...each.logs.values()]);
    await Promise.all(logs.map((log) => log.close()));
    await Promise.all(this.#examining.values());
  }

  /**
   * Reports that a node takes no work, so that none is placed there again. The engine counts all attempts on the node as lost, so the
   * report is left out while one may run there.
   */
  leaveNode(nodeName: string, detail: string): void {
    const { reporter, nodeIdOf } = this.#setup;
    const mayRun = this.#on(nodeName).some(({ files }) => ["starting", "running"].includes(readState(files).kind));
    if (!mayRun) reporter.tell({ kind: "nodeUnreachable", nodeId: nodeIdOf(nodeName), detail });
  }

  #on(nodeName: string): readonly WatchedGang[] {
    return [...this.#watched.values()].filter(({ files }) => {
      const launch = files.readIfSound("launch.json");
      return launch !== null && partsOf(launch).some(({ node }) => node === nodeName);
    });
  }

  #examine(name: string): Promise<void> {
    const running = this.#examining.get(name);
    const watched = this.#watched.get(name);
    if (running !== undefined || watched === undefined) return running ?? Promise.resolve();
    const beganMs = performance.now();
    let lookMs = 0;
    const examination = this.#examineOnce(watched, () => (lookMs = performance.now() - beganMs))
      .catch((error: unknown) => this.#setup.onProblem(`Attempt ${watched.attemptId}: ${messageOf(error)}`))
      .finally(() => {
        this.#examining.delete(name);
        if (lookMs > SLOW_LOOK_MS && !this.#isClosed)
          this.#pause(name, Math.min(SLOW_LOOK_PAUSES * lookMs, PAUSE_MAX_MS));
        else if (this.#again.delete(name)) this.notice(name);
      });
    this.#examining.set(name, examination);
    return examination;
  }

  /** Each of a thousand pods that get a node in a second would otherwise cause a look at all of them. */
  #pause(name: string, ms: number): void {
    const timer = setTimeout(() => {
      this.#pauses.delete(name);
      if (this.#again.delete(name)) this.notice(name);
    }, ms);
    this.#pauses.set(name, timer);
  }

  /** `onRead`: called when the records are read, the part of a look that grows with the gang and holds up the others. */
  async #examineOnce(watched: WatchedGang, onRead: () => void): Promise<void> {
    if (this.#isClosed) return;
    const state = readState(watched.files, watched.known);
    onRead();
    if (state.kind === "unclaimed" || state.kind === "starting" || state.kind === "running")
      this.#held.hold(watched.files);
    if (state.kind === "unclaimed") return this.#examineUnclaimed(watched);
    if (state.kind === "starting" || state.kind === "running") return this.#examineActive(watched, state);
    if (state.kind === "ended") return this.#tellEnd(watched, state);
    if (state.kind === "unreadable") {
      this.#setup.onProblem(`Attempt ${watched.attemptId} is lost. ${state.detail}`);
      recordLost(watched.files, { detail: state.detail, cause: "records" });
      return this.notice(watched.name);
    }
    // The directory was left by a launch that was interrupted before its record.
    if (watched.isAdopted) this.#watched.delete(watched.name);
  }

  async #examineUnclaimed(watched: WatchedGang): Promise<void> {
    if (performance.now() >= watched.retryAtMs) await this.#setup.startPods(watched);
  }

  async #examineActive(watched: WatchedGang, state: Active): Promise<void> {
    const place = readPlace(watched.files);
    if (place === null) throw new Error("the record of its pods is missing");
    this.#byBase.set(place.base, watched.name);
    const { launch } = state;
    const facts = this.#factsOf(watched, launch, place);
    const states = statesOf(facts);
    const look: Look = { watched, launch, place, facts, states };
    this.#collectLogs(look);
    if (state.kind === "starting") this.#noteRunning(look);
    // Records do not wait for the listener.
    if (!this.#setup.reporter.isFull && readState(watched.files, watched.known).kind === "running")
      await this.#tellRunning(watched, launch);
    await this.#endPods(look);
    await this.#act(look, judge(facts, states, watched.memory, this.#setup.rules));
  }

  #factsOf({ files }: WatchedGang, launch: LaunchRecord, place: PodPlace): GangFacts {
    const { copy } = this.#setup;
    const parts = partsOf(launch);
    return {
      pods: parts.map((_, rank) => this.#podOf(place, rank)),
      nodes: parts.map(({ node }) => copy.healthOf(node)),
      isStopped: files.has("stop.json"),
      failedRank: files.readIfSound("failure.json")?.part ?? null,
      isUpToDate: copy.problem === null,
      isAdopted: place.pods !== undefined,
    };
  }

  #podOf(place: PodPlace, rank: number): KubernetesPod | null {
    const { name, uid } = podAt(place, rank);
    const pod = this.#setup.copy.pod(place.namespace, name);
    return uid !== undefined && pod?.metadata.uid !== uid ? null : pod;
  }

  /** Whether an attempt that has not ended has this pod of others. */
  holds(uid: string): boolean {
    return this.#held.has(uid);
  }

  #noteRunning({ watched, states }: Look): void {
    const hasStarted = (state: PodState | null): boolean => state?.kind === "running" || state?.kind === "exited";
    if (!states.every(hasStarted)) return;
    for (const [rank] of states.entries())
      partFiles(watched.files.key, rank).write("running.json", { startedAtMs: Date.now(), masterPort: 0 });
  }

  #collectLogs({ watched, launch, place, states }: Look): void {
    for (const [rank, state] of states.entries()) {
      if (state?.kind !== "running" && state?.kind !== "exited") continue;
      if (watched.logs.has(rank) || (state.kind === "running" && this.#logCount >= LOGS_MAX)) continue;
      this.#logCount += 1;
      watched.logs.set(rank, this.#collectorOf(watched, launch, place, rank));
    }
  }

  #collectorOf({ files }: WatchedGang, launch: LaunchRecord, place: PodPlace, rank: number): LogCollector {
    const { api, hasDirectory, jobFiles } = this.#setup;
    return new LogCollector({
      api,
      namespace: place.namespace,
      pod: podAt(place, rank).name,
      container: place.pods?.[rank]?.container ?? CONTAINER,
      workerDir: partFiles(files.key, rank).workerDir(0),
      limits: launch.log,
      rule: place.logRule ?? null,
      progressFile: hasDirectory ? null : partFiles(jobFiles(files).key, rank).progressFile,
    });
  }

  async #tellRunning(watched: WatchedGang, launch: LaunchRecord): Promise<void> {
    const { reporter } = this.#setup;
    if (!watched.isRunningTold) {
      watched.isRunningTold = true;
      reporter.tell({ kind: "attemptRunning", attemptId: watched.attemptId });
    }
    watched.progress ??= this.#progressOf(watched, launch);
    await watched.progress.tellDue();
  }

  /** Deletes pods that are to end: all of a stopped attempt, and the others of a gang with a failed worker. */
  async #endPods({ watched, launch, place, facts, states }: Look): Promise<void> {
    const stop = watched.files.readIfSound("stop.json");
    const untilMs = Math.min(
      stop === null ? Infinity : stop.requestedAtMs + stop.graceTimeoutMs,
      facts.failedRank === null ? Infinity : (watched.deletedUntilMs.get(facts.failedRank) ?? Infinity),
    );
    if (facts.failedRank !== null && !watched.deletedUntilMs.has(facts.failedRank))
      watched.deletedUntilMs.set(facts.failedRank, Date.now() + launch.graceTimeoutMs);
    if (untilMs === Infinity) return;
    const ranks = states.flatMap((state, rank) => (state !== null && isOver(state) ? [] : [rank]));
    await this.#actions.end(watched, place, ranks, untilMs);
  }

  async #act(look: Look, conclusion: GangConclusion): Promise<void> {
    const { watched, launch } = look;
    const { files, name } = watched;
    switch (conclusion.kind) {
      case "wait":
        return;
      case "bind":
        return this.#bind(look, conclusion.ranks);
      case "fail":
        files.create("failure.json", { part: conclusion.rank });
        watched.deletedUntilMs.set(conclusion.rank, Date.now() + launch.graceTimeoutMs);
        return this.notice(name);
      case "end":
        return this.#end(look, endRecords(conclusion.ends));
      case "refuse":
        this.refuse(files, conclusion.detail);
        return;
      case "confirmMissing":
        return this.#confirmMissing(look, conclusion.rank);
      case "nodeLost":
        return this.#loseNode(watched, partsOf(launch)[conclusion.rank]?.node ?? "", conclusion.detail);
      case "lost":
        return this.#lose(watched, conclusion.detail);
    }
  }

  async #bind({ watched, place, launch }: Look, ranks: readonly number[]): Promise<void> {
    if (performance.now() < watched.retryAtMs) return;
    const nodes = partsOf(launch).map(({ node }) => node);
    const binding = await this.#actions.bind(place, ranks, nodes);
    if (binding.kind === "impossible") await this.#actions.endAdopted(watched, place);
    if (binding.kind === "impossible") return this.#lose(watched, `Its pods could not be bound: ${binding.detail}.`);
    if (binding.kind === "bound") watched.retries = 0;
    delayRetry(watched);
  }

  /** A single answer may be wrong, so several in a row must deny the pod. */
  async #confirmMissing({ watched, place }: Look, rank: number): Promise<void> {
    const { api, copy } = this.#setup;
    const { name, uid } = podAt(place, rank);
    const pod = await api.find(place.namespace, name);
    if (pod !== null && (uid === undefined || pod.metadata.uid === uid)) {
      watched.memory.denials = 0;
      copy.putPod(pod);
    } else if (++watched.memory.denials >= DENIALS_MIN) this.#lose(watched, `The cluster has no pod ${name} any more.`);
  }

  #lose({ files, name }: WatchedGang, detail: string): void {
    this.#recordLoss(files, detail);
    this.notice(name);
  }

  #recordLoss(files: AttemptFiles, detail: string): void {
    if (!recordAdoptedLoss(files, files.readIfSound("launch.json"), detail)) recordLost(files, { detail });
  }

  /**
   * All attempts on the node are recorded as lost before the node is reported, so that none is placed there again. A kubelet that comes
   * back finds its pods deleted, and ends them. The cluster must confirm the state of the node: a watch that hangs shows an old one.
   */
  async #loseNode({ memory }: WatchedGang, node: string, detail: string): Promise<void> {
    const { api, copy, reporter, nodeIdOf } = this.#setup;
    const wasGone = copy.healthOf(node).kind === "gone";
    const found = await api.findNode(node);
    memory.denials = found === null ? memory.denials + 1 : 0;
    if (found !== null) copy.putNode(found);
    const isConfirmed = found === null ? memory.denials >= DENIALS_MIN : copy.healthOf(node).kind === "notReady";
    if (!isConfirmed || (found !== null && wasGone)) return;
    const here = this.#on(node).filter(({ files }) => readState(files).kind !== "ended");
    for (const { files } of here) this.#recordLoss(files, detail);
    reporter.tell({ kind: "nodeUnreachable", nodeId: nodeIdOf(node), detail });
    for (const { name } of here) this.notice(name);
  }

  async #end({ watched, launch }: Look, ends: readonly ExitRecord[]): Promise<void> {
    await Promise.all([...watched.logs.values()].map((log) => log.drain()));
    if (this.#isClosed) return;
    for (const [rank] of ends.entries())
      if (!partFiles(watched.files.key, rank).has("running.json"))
        partFiles(watched.files.key, rank).write("running.json", { startedAtMs: Date.now(), masterPort: 0 });
    const failed = watched.files.readIfSound("failure.json")?.part ?? null;
    watched.files.createDurably("exit.json", gangEnd(launch, ends, failed));
    this.notice(watched.name);
  }

  async #tellEnd(watched: WatchedGang, { launch, exit }: Extract<RecordedState, { kind: "ended" }>): Promise<void> {
    const { reporter } = this.#setup;
    const { attemptId, name, files } = watched;
    await reporter.untilRoom();
    if (this.#isClosed) return;
    const ran = launch !== null && partsOf(launch).some((_, part) => partFiles(files.key, part).has("running.json"));
    if (exit.kind === "exited" || ran) {
      if (!watched.isRunningTold) reporter.tell({ kind: "attemptRunning", attemptId });
      watched.isRunningTold = true;
      if (launch !== null) watched.progress ??= this.#progressOf(watched, launch);
      await watched.progress?.tellRest();
    }
    await Promise.all([...watched.logs.values()].map((log) => log.close()));
    this.#logCount -= watched.logs.size;
    watched.logs.clear();
    if (this.#isClosed || this.#ended.has(name)) return;
    if (exit.kind === "lost") return this.tellLost(name, attemptId, exit.detail, exit.cause);
    const artifacts = launch === null ? [] : await this.#upload(watched, launch, exit);
    if (this.#isClosed || this.#ended.has(name)) return;
    this.#watched.delete(name);
    this.#ended.add(name);
    this.#held.release(name);
    const made = artifacts.length === 0 ? {} : { artifacts };
    reporter.tell({ kind: "attemptExited", attemptId, exits: exit.exits, ...made });
  }

  async #upload(watched: WatchedGang, launch: LaunchRecord, exit: ExitRecord): Promise<readonly ReportedArtifact[]> {
    const { outputs, jobFiles } = this.#setup;
    if (outputs === null) return [];
    watched.uploading.resolve();
    return outputs.collect(jobFiles(watched.files), launch, exit);
  }

  #progressOf({ files, isAdopted }: WatchedGang, launch: LaunchRecord): ProgressReports {
    const { reporter, jobFiles, outputs } = this.#setup;
    return new ProgressReports(jobFiles(files), launch, reporter, isAdopted, (reported) =>
      outputs?.offer(files.key.name, reported),
    );
  }
}
