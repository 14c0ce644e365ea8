/** Carries out effects: records a launch, submits its job, requests stops and checkpoints. Every effect is idempotent. */
import type { CheckpointGang, LaunchGang, NodeId, StopGang } from "@headroom/model";
import { acceleratorIndices } from "@headroom/model";
import { attemptEnvironments, checkpointDirOf } from "../../job-protocol/attempt-environments.ts";
import { makeAttemptDirectories } from "../../job-protocol/attempt-directories.ts";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import type { LaunchRecord, LogLimits, RunAsRecord } from "../../job-protocol/attempt-records.ts";
import { OWNED_LAUNCH_MAX_BYTES, syncDirectory } from "../../job-protocol/attempt-files.ts";
import { partFiles, partsOf } from "../../job-protocol/attempt-parts.ts";
import type { AttemptStore } from "../../job-protocol/attempt-store.ts";
import { requestCheckpoint, requestedUntilMs } from "../../job-protocol/checkpoint-request.ts";
import type { PreparedLaunch } from "../../job-protocol/checkpoint-restore.ts";
import type { ReadingRules } from "../../job-protocol/input-rules.ts";
import { refuseInputs } from "../../job-protocol/input-rules.ts";
import { StagingFailure } from "../../job-protocol/input-staging.ts";
import type { InputStaging } from "../../job-protocol/input-staging.ts";
import { recordLost, voidAttempt } from "../../job-protocol/lost-attempt.ts";
import { readState } from "../../job-protocol/recorded-state.ts";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import { loginOf } from "../../processes/system-users.ts";
import { requestStop } from "../../job-protocol/stop-request.ts";
import { refusedExit } from "../../processes/attempt-end.ts";
import type { SlurmCommands } from "../commands/slurm-commands.ts";
import type { SlurmSettings } from "../settings.ts";
import type { AttemptWatch } from "./attempt-watch.ts";
import type { ClusterNode } from "./cluster-nodes.ts";
import { runAsOf } from "./job-owners.ts";
import type { JobTransfers } from "../../job-protocol/job-transfers.ts";
import { writeSecret } from "./secret-file.ts";
import type { ReusableJobs } from "./reusable-jobs.ts";
import { jobReuse } from "./reusable-jobs.ts";
import type { WatchedJob } from "./slurm-attempt.ts";
import type { NodeShare, SubmissionUser } from "./submission.ts";
import { partsOfShares, sharesOf, submissionArgs } from "./submission.ts";
import { accountName, accountOf } from "./submitters.ts";
import { supervisorFile, writeJobScript } from "./job-script.ts";

/** Time in ms after the grace period of a stop after which the job is cancelled in Slurm. */
const STOP_SLACK_MS = 60_000;
/** Waits in ms between submissions whose outcome is unknown. */
const RETRY_FIRST_MS = 2_000;
const RETRY_MAX_MS = 60_000;

/** Most bytes of a record beside its body. */
const ENVELOPE_BYTES = 1_024;

export interface JobLauncherSetup {
  readonly store: AttemptStore;
  readonly commands: SlurmCommands;
  readonly settings: SlurmSettings;
  /** Directory on this machine, out of reach of jobs. */
  readonly stateDir: string;
  readonly log: LogLimits;
  readonly watch: AttemptWatch;
  /** Called when the launch of an attempt is recorded. */
  readonly onRecorded: (name: string) => void;
  /** Nodes of the last inventory; the inventory is read if there is none. */
  readonly nodes: () => Promise<ReadonlyMap<NodeId, ClusterNode>>;
  /** Absent: no stores are declared. */
  readonly stores?: ReadingRules | undefined;
  /** Brings inputs to the shared directory before a job is submitted. Absent: paths and URIs are passed on. */
  readonly staging?: InputStaging | undefined;
  /** `null`: nothing is uploaded, and checkpoints are not brought back. */
  readonly transfers: JobTransfers | null;
  readonly reusable: ReusableJobs;
  readonly onProblem: (message: string) => void;
}

export class JobLauncher {
  readonly #setup: JobLauncherSetup;
  /** Launches that this process got. After a restart the engine repeats those that have not started. */
  readonly #effects = new Map<string, LaunchGang>();
  #killWaitMs: Promise<number> | null = null;

  constructor(setup: JobLauncherSetup) {
    this.#setup = setup;
  }

  async launch(effect: LaunchGang): Promise<void> {
    const { store, watch } = this.#setup;
    const files = store.filesOf(effect.attemptId);
    const { name } = files.key;
    if (watch.hasEnded(name)) return;
    const state = readState(files);
    if (state.kind === "absent" && watch.knows(name)) return;
    if (state.kind === "absent" || state.kind === "unclaimed") {
      this.#effects.set(name, effect);
      try {
        const staged =
          state.kind === "absent" ? await this.#stage(effect, name) : { launch: effect, staged: [], resume: null };
        const shares = sharesOf(effect, await this.#setup.nodes());
        if (state.kind === "absent") await this.#recordLaunch(files, staged, shares);
      } catch (error) {
        return this.#cannotLaunch(files, effect, error);
      }
    }
    const watched = watch.track(effect.attemptId, files);
    if (watched === null || state.kind === "ended") return;
    if (state.kind === "absent") {
      if (!this.#passJobOn(watched)) await this.submit(watched);
    }
    // A job may exist: the poll looks for it first.
    else if (state.kind === "unclaimed") await this.#submitUnlessListed(watched);
  }

  /** Whether a job that waits takes the attempt. If it ends before, the poll finds no job, and submits one. */
  #passJobOn(watched: WatchedJob): boolean {
    const { reusable } = this.#setup;
    const launch = watched.files.readIfSound("launch.json");
    if (launch === null) return false;
    const host = reusable.passOn(watched.name, launch);
    watched.host = host ?? watched.name;
    watched.passedOnAtMs = host === null ? null : performance.now();
    if (host !== null) return true;
    reusable.endOn(new Set(partsOf(launch).map(({ node }) => node)));
    return false;
  }

  /** The launch with paths in the shared directory in the places of URIs. Throws a `StagingFailure` or a `RefusedGang`. */
  async #stage(effect: LaunchGang, name: string): Promise<PreparedLaunch> {
    const { staging, stores, transfers, store } = this.#setup;
    if (staging === undefined) {
      refuseInputs(effect, stores);
      return { launch: effect, staged: [], resume: null };
    }
    const { also: resume, ...staged } = await staging.stage(effect, name, async (bring) =>
      transfers === null ? null : transfers.restore(effect, checkpointDirOf(store.homeDir, effect), bring),
    );
    return { ...staged, resume };
  }

  /** Submits the job of an attempt that no job has claimed. A second job does no harm, and none is submitted twice at once. */
  async submit(watched: WatchedJob): Promise<void> {
    const effect = this.#effects.get(watched.name);
    if (effect === undefined || watched.isSubmitting) return;
    watched.isSubmitting = true;
    try {
      await this.#submit(watched, effect);
    } finally {
      watched.isSubmitting = false;
    }
  }

  /** Submits a job for an attempt whose job seems to be missing. */
  async submitAgain(watched: WatchedJob): Promise<void> {
    const { commands, watch } = this.#setup;
    if (await commands.isOverlooked(watch.jobName(watched.name))) {
      watched.goneSinceMs = null;
      watched.goneCount = 0;
    } else await this.submit(watched);
  }

  async stop(effect: StopGang): Promise<void> {
    const { store, watch } = this.#setup;
    const files = store.filesOf(effect.attemptId);
    const { name } = files.key;
    const state = readState(files);
    if (state.kind === "absent") {
      if (!watch.hasEnded(name)) watch.tellLost(name, effect.attemptId, "It was never launched here.");
      return;
    }
    const watched = watch.track(effect.attemptId, files);
    if (state.kind === "ended") return;
    if (state.kind === "unclaimed" && voidAttempt(files, "It was stopped before it started.")) {
      watch.cancel(name);
      watch.notice(name);
      return;
    }
    requestStop(files, effect);
    const cancelAtMs = performance.now() + effect.graceTimeoutMs + STOP_SLACK_MS;
    if (watched !== null) watched.cancelAtMs = Math.min(watched.cancelAtMs ?? Infinity, cancelAtMs);
  }

  requestCheckpoint({ attemptId, untilMs }: CheckpointGang): void {
    const files = this.#setup.store.filesOf(attemptId);
    if (readState(files).kind !== "running") return;
    this.#setup.watch.track(attemptId, files);
    // A request that is repeated after a restart must not extend the deadline.
    if (requestedUntilMs(files) === null) requestCheckpoint(files, untilMs);
  }

  forget(name: string): void {
    this.#effects.delete(name);
  }

  async #submitUnlessListed(watched: WatchedJob): Promise<void> {
    const { commands, watch } = this.#setup;
    try {
      const jobName = watch.jobName(watched.name);
      const { jobs, isComplete } = await commands.jobsByCommand(jobName);
      if (isComplete && !jobs.has(jobName)) await this.submit(watched);
    } catch {
      // The poll goes on asking, and submits the job if it does not exist.
    }
  }

  async #submit(watched: WatchedJob, effect: LaunchGang): Promise<void> {
    const { commands, settings, stateDir, watch, store } = this.#setup;
    const { files, name } = watched;
    const shares = sharesOf(effect, await this.#setup.nodes());
    const killWaitMs = String(await this.#readKillWait());
    const script = writeJobScript(stateDir);
    const names = {
      jobName: watch.jobName(name),
      comment: `headroom:${name}`,
      outputFile: files.supervisorLog.replaceAll("%", "%%"),
      script,
      scriptArgs: [
        settings.node ?? process.execPath,
        supervisorFile(settings.program),
        store.homeDir,
        name,
        killWaitMs,
      ],
    };
    watched.submissions += 1;
    watched.host = name;
    watched.passedOnAtMs = null;
    const user = this.#userOf(files, effect);
    if (user === null) return;
    const result = await commands.submit(submissionArgs(effect, shares, names, settings, user));
    watched.goneSinceMs = null;
    watched.goneCount = 0;
    const backoffMs = Math.min(RETRY_FIRST_MS * 2 ** Math.min(watched.submissions - 1, 10), RETRY_MAX_MS);
    watched.submitAtMs = performance.now() + backoffMs;
    if (result.kind === "unknown") this.#setup.onProblem(`Attempt ${watched.attemptId}: sbatch: ${result.reason}`);
    if (result.kind === "refused") this.#refuse(files, effect, result.reason);
  }

  /** `null`: the attempt is refused, because the team has lost its account since the launch was recorded. */
  #userOf(files: AttemptFiles, { spec }: LaunchGang): SubmissionUser | null {
    try {
      const account = accountName(spec.team, this.#setup.settings);
      return { runAs: runAsOf(files), account };
    } catch (error) {
      if (!(error instanceof RefusedGang)) throw error;
      voidAttempt(files, `${error.message}.`, error.lossCause);
      this.#setup.watch.notice(files.key.name);
      return null;
    }
  }

  /** The workload fails with the reason in its log, so that its retries are bounded. */
  #refuse(files: AttemptFiles, effect: LaunchGang, reason: string): void {
    const launch = files.read("launch.json");
    if (launch === null || !files.create("claim.json", { kind: "void", detail: reason })) return;
    // Root must not write logs in directories that the user of a job can exchange for links.
    if (runAsOf(files) !== null) {
      recordLost(files, { detail: `Slurm refused the job: ${reason}.`, cause: "records" });
      return this.#setup.watch.notice(files.key.name);
    }
    const own = { ...launch, environments: effect.workers.map(() => ({})) };
    const first = partFiles(files.key, 0);
    files.createDurably("exit.json", refusedExit(first, own, `Slurm refused the job: ${reason}`));
    this.#setup.watch.notice(files.key.name);
  }

  #cannotLaunch(files: AttemptFiles, effect: LaunchGang, error: unknown): void {
    const detail = error instanceof Error ? error.message : String(error);
    this.#setup.staging?.release(files.key.name);
    if (error instanceof StagingFailure && error.lossCause !== null) {
      recordLost(files, { detail: error.message, cause: error.lossCause });
      this.#setup.watch.track(effect.attemptId, files);
      return;
    }
    if (!(error instanceof RefusedGang)) {
      const known = readState(files);
      if (known.kind === "absent")
        this.#setup.watch.tellLost(files.key.name, effect.attemptId, `It could not be launched: ${detail}.`);
      else if (known.kind === "unclaimed") voidAttempt(files, `It could not be launched: ${detail}.`);
      return;
    }
    recordLost(files, { detail: `${detail}.`, cause: error.lossCause });
    this.#setup.watch.track(effect.attemptId, files);
  }

  /** The record and its names are on disk before the job is submitted. */
  async #recordLaunch(
    files: AttemptFiles,
    { launch: effect, resume }: PreparedLaunch,
    shares: readonly NodeShare[],
  ): Promise<void> {
    const { store, log, transfers } = this.#setup;
    const { spec, attemptId, workloadId, sequence } = effect;
    const { runAs } = await accountOf(effect, this.#setup.settings);
    makeAttemptDirectories(files, 0, runAs);
    for (const [part, { ranks }] of shares.entries())
      makeAttemptDirectories(partFiles(files.key, part), ranks.length, runAs);
    const environmentSetup = {
      homeDir: store.homeDir,
      devicesOf: (worker: LaunchGang["workers"][number]) =>
        Promise.resolve({ vendor: "none" as const, indices: acceleratorIndices(worker.accelerators) }),
      ...(runAs === null ? {} : { owner: runAs }),
    };
    const environments = await attemptEnvironments(environmentSetup, files, effect, { resume });
    const reuse = runAs === null ? jobReuse(effect, shares, this.#setup.settings) : null;
    const masterAddress = shares[0]?.node.address ?? "127.0.0.1";
    const record: LaunchRecord = {
      attemptId,
      workloadId,
      sequence,
      // Jobs outlive this machine.
      bootId: "",
      run: spec.run,
      workingDir: spec.dir ?? files.jobDir,
      checkpointDir: checkpointDirOf(store.homeDir, effect, runAs),
      graceTimeoutMs: spec.graceTimeoutMs,
      log,
      environments: environments.map((environment) => ({
        ...environment,
        ...(runAs === null ? {} : loginOf({ ...runAs, name: runAs.user }, spec.env)),
        MASTER_ADDR: masterAddress,
      })),
      parts: partsOfShares(shares),
      ...(reuse === null ? {} : { reuse }),
      ...(runAs === null ? {} : { runAs: recordOf(runAs) }),
    };
    if (runAs !== null && Buffer.byteLength(JSON.stringify(record)) > OWNED_LAUNCH_MAX_BYTES - ENVELOPE_BYTES)
      throw new RefusedGang(
        "the environments of its workers are too large together; use fewer workers or fewer variables",
      );
    transfers?.order(files, effect);
    writeSecret(files);
    await files.writeDurably("launch.json", record);
    await syncDirectory(store.attemptsDir);
    this.#setup.onRecorded(files.key.name);
  }

  /** `KillWait` of the cluster: the time between SIGTERM and SIGKILL when Slurm ends a job. */
  #readKillWait(): Promise<number> {
    this.#killWaitMs ??= this.#setup.commands.show("config").then(
      (text) => Number(/^KillWait\s*=\s*(\d+)/m.exec(text)?.[1] ?? 30) * 1_000,
      () => {
        this.#killWaitMs = null;
        return 30_000;
      },
    );
    return this.#killWaitMs;
  }
}

const recordOf = ({ user, submitter, uid, gid }: RunAsRecord): RunAsRecord => ({ user, submitter, uid, gid });
