/** Carries out effects: writes the launch record, starts the supervisor, requests stops. Every effect is idempotent. */
import path from "node:path";
import type { CheckpointGang, LaunchGang, LossCause, StopGang } from "@headroom/model";
import { attemptEnvironments, checkpointDirOf } from "../job-protocol/attempt-environments.ts";
import type { EnvironmentSetup } from "../job-protocol/attempt-environments.ts";
import type { LaunchRecord, LogLimits } from "../job-protocol/attempt-records.ts";
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";
import { syncDirectory } from "../job-protocol/attempt-files.ts";
import { supervisorLastWords } from "../job-protocol/supervisor-words.ts";
import { inspectAttempt, killAttempt, ringSupervisor } from "./attempt-inspection.ts";
import type { Inspection } from "./attempt-inspection.ts";
import type { AttemptMonitor } from "./attempt-monitor.ts";
import type { AttemptStore } from "../job-protocol/attempt-store.ts";
import { requestCheckpoint, requestedUntilMs } from "../job-protocol/checkpoint-request.ts";
import type { ReadingRules } from "../job-protocol/input-rules.ts";
import { refuseInputs } from "../job-protocol/input-rules.ts";
import { voidAttempt } from "../job-protocol/lost-attempt.ts";
import { requestStop } from "../job-protocol/stop-request.ts";
import { makeAttemptDirectories } from "../job-protocol/attempt-directories.ts";
import type { Isolation } from "../processes/isolation/isolation.ts";
import { StagingFailure } from "../job-protocol/input-staging.ts";
import type { InputStaging } from "../job-protocol/input-staging.ts";
import type { CheckpointDrain } from "../job-protocol/checkpoint-drain.ts";
import { isRestored, restoreCheckpoint } from "../job-protocol/checkpoint-restore.ts";
import type { PreparedLaunch } from "../job-protocol/checkpoint-restore.ts";
import { drainOf } from "../job-protocol/drain-record.ts";
import { uploadOf } from "../job-protocol/upload-record.ts";
import { loginOf } from "../processes/system-users.ts";
import { withNetwork } from "../processes/isolation/isolation-record.ts";
import { RefusedGang } from "../job-protocol/refused-gang.ts";
import { withImageEnv } from "../processes/images/local-images.ts";
import type { LocalImages, PreparedImage } from "../processes/images/local-images.ts";
import type { StartSlots } from "./start-slots.ts";
import { SupervisorPool } from "./supervisor-pool.ts";

export interface LauncherSetup extends EnvironmentSetup {
  readonly store: AttemptStore;
  readonly bootId: string;
  readonly log: LogLimits;
  readonly monitor: AttemptMonitor;
  readonly slots: StartSlots;
  readonly isolation: Isolation;
  /** `null`: no stores are declared for this executor. */
  readonly staging: InputStaging | null;
  /** Rules of inputs where nothing is staged. Absent: no stores are declared. */
  readonly readingRules?: ReadingRules | undefined;
  /** `null`: no stores are declared for this executor. */
  readonly drain: CheckpointDrain | null;
  /** `null`: this machine runs no images. */
  readonly images: LocalImages | null;
}

export class Launcher {
  readonly #setup: LauncherSetup;
  readonly #supervisors: SupervisorPool;

  constructor(setup: LauncherSetup) {
    this.#setup = setup;
    this.#supervisors = new SupervisorPool(path.join(setup.homeDir, "cache"));
  }

  async launch(effect: LaunchGang): Promise<void> {
    const files = this.#setup.store.filesOf(effect.attemptId);
    try {
      await this.#launchIn(files, effect);
    } catch (error) {
      this.#setup.slots.release(files.key.name);
      this.#giveUp(files, effect, giveUpOf(error));
    }
  }

  /**
   * Claims an attempt that no supervisor has claimed, so that it never starts. Otherwise asks the supervisor to stop
   * it.
   */
  async stop(effect: StopGang): Promise<void> {
    const files = this.#setup.store.filesOf(effect.attemptId);
    const { name } = files.key;
    const seen = inspectAttempt(files, this.#setup.bootId);
    if (seen.kind === "absent") {
      // The records can have been removed while the attempt ran.
      if (!(await killAttempt(files, null, this.#setup.bootId)))
        throw new Error("its processes do not end; the engine asks again after a restart");
      this.#setup.monitor.tellLost(name, effect.attemptId, "It was never launched here.");
      return;
    }
    this.#setup.monitor.track(name);
    if (seen.kind === "ended" || seen.kind === "orphaned") return;
    if (seen.kind === "unclaimed" && voidAttempt(files, "It was stopped before it started.")) {
      this.#setup.monitor.notice(name);
      return;
    }
    requestStop(files, effect);
    ringSupervisor(files, this.#setup.bootId);
  }

  /** The workers read the request from one file and answer in another; the supervisor takes no part. */
  requestCheckpoint({ attemptId, untilMs }: CheckpointGang): void {
    const files = this.#setup.store.filesOf(attemptId);
    if (inspectAttempt(files, this.#setup.bootId).kind !== "running") return;
    this.#setup.monitor.track(files.key.name);
    // A request that is repeated after a restart must not extend the deadline.
    if (requestedUntilMs(files) === null) requestCheckpoint(files, untilMs);
  }

  /** Supervisors that have recorded the end of their attempt exit. The others continue. */
  close(): Promise<void> {
    return this.#supervisors.close(
      (name) => inspectAttempt(this.#setup.store.files(name), this.#setup.bootId).kind === "ended",
    );
  }

  /** The record and its directory names are on disk before any process starts. */
  async #launchIn(files: AttemptFiles, effect: LaunchGang): Promise<void> {
    const { name } = files.key;
    const { monitor, slots, store } = this.#setup;
    const seen = this.#inspectForLaunch(files);
    const mayStart = seen.kind === "unclaimed" || (seen.kind === "absent" && !monitor.knows(name));
    if (mayStart && !this.#supervisors.holds(name)) {
      // Before the slot: other attempts start while inputs arrive.
      const staged = seen.kind === "absent" ? await this.#stage(effect, name) : null;
      if (seen.kind === "unclaimed") await this.#checkResume(effect, seen.launch);
      const image = staged === null ? null : await this.#imageOf(effect);
      if (!(await slots.acquire(name))) return;
      if (staged !== null) await this.#recordLaunch(files, staged, image);
      // A control plane that was killed at this point may not have synced the name.
      else await syncDirectory(files.recordsDir);
      await syncDirectory(store.attemptsDir);
      this.#supervisors.assign(files, (how) => this.#supervisorLeft(files, effect, how));
    }
    monitor.track(name);
  }

  async #stage(effect: LaunchGang, name: string): Promise<PreparedLaunch> {
    const { staging, drain, homeDir } = this.#setup;
    if (staging === null || drain === null) {
      refuseInputs(effect, this.#setup.readingRules);
      return { launch: effect, staged: [], resume: null };
    }
    const { also: resume, ...staged } = await staging.stage(effect, name, (bring) =>
      effect.resume === undefined
        ? Promise.resolve(null)
        : restoreCheckpoint(
            effect,
            {
              checkpointDir: checkpointDirOf(homeDir, effect),
              homes: { homeDir },
              isSound: (checkpoint) => drain.isSound(checkpoint),
            },
            bring,
          ),
    );
    return { ...staged, resume };
  }

  /** The record of a launch that was interrupted names a checkpoint. Without it, the next attempt finds another one: no mistake of the work. */
  async #checkResume(effect: LaunchGang, { environments }: LaunchRecord): Promise<void> {
    const at = environments[0]?.["HEADROOM_RESUME_CHECKPOINT"];
    const { drain, homeDir } = this.#setup;
    if (at === undefined || drain === null) return;
    const checkpointDir = checkpointDirOf(homeDir, effect);
    if (await isRestored(effect, at, { checkpointDir, isSound: (checkpoint) => drain.isSound(checkpoint) })) return;
    throw new StagingFailure(`The checkpoint ${at} was removed or changed before the attempt started.`, "store");
  }

  /** Throws a `RefusedGang` if the image is not here. */
  async #imageOf({ spec: { image } }: LaunchGang): Promise<PreparedImage | null> {
    if (image === undefined) return null;
    if (this.#setup.images === null)
      throw new RefusedGang("this machine runs no images: install podman and bubblewrap, and start with isolation");
    return this.#setup.images.prepare(image);
  }

  /**
   * Records that exist without a launch and a claim of this control plane were put there in advance, by a job that is not
   * isolated. They must not cost the attempt.
   */
  #inspectForLaunch(files: AttemptFiles): Inspection {
    const seen = inspectAttempt(files, this.#setup.bootId);
    const isPlanted = (seen.kind === "orphaned" || seen.kind === "ended") && seen.launch === null && !files.wasClaimed;
    if (!isPlanted || this.#supervisors.holds(files.key.name)) return seen;
    this.#setup.monitor.forget(files.key.name);
    return { kind: "absent" };
  }

  /**
   * Records the launch with the boot id. After a power cut the boot id differs, and the attempt is not started again.
   */
  async #recordLaunch(
    files: AttemptFiles,
    { launch, staged, resume }: PreparedLaunch,
    image: PreparedImage | null,
  ): Promise<void> {
    const effect = image === null ? launch : withImageEnv(launch, image.env);
    const { spec, attemptId, workloadId, sequence } = effect;
    const { isolation } = this.#setup;
    // Refuses before anything exists.
    const user = await isolation.userFor(effect);
    makeAttemptDirectories(files, effect.workers.length, user, null);
    const checkpointDir = checkpointDirOf(this.#setup.homeDir, effect, user);
    const upload = uploadOf(effect);
    const drain = drainOf(effect);
    const own = user === null ? {} : { owner: user, login: loginOf(user.login, spec.env) };
    const record: LaunchRecord = {
      attemptId,
      workloadId,
      sequence,
      bootId: this.#setup.bootId,
      run: spec.run,
      workingDir: spec.dir ?? files.jobDir,
      checkpointDir,
      graceTimeoutMs: spec.graceTimeoutMs,
      log: this.#setup.log,
      environments: await attemptEnvironments({ ...this.#setup, ...own }, files, effect, { resume }),
      isolation: withNetwork(
        isolation.recordFor(files, effect, { checkpointDir, staged, imageRoot: image?.rootDir ?? null, user }),
        await isolation.networkFor(effect),
      ),
      ...(image === null ? {} : { imageEnv: image.env }),
      ...(upload === null ? {} : { upload }),
      ...(drain === null ? {} : { drain }),
      ...(spec.kind === "serve" ? { readyPath: spec.ready.path } : {}),
    };
    await files.writeDurably("launch.json", record);
  }

  /** A supervisor records the end of its attempt, unless it dies before it has claimed the attempt. */
  #supervisorLeft(files: AttemptFiles, effect: LaunchGang, how: string): void {
    const { name } = files.key;
    this.#setup.slots.release(name);
    try {
      const seen = inspectAttempt(files, this.#setup.bootId);
      if (seen.kind === "unclaimed")
        voidAttempt(files, `Its supervisor did not start (${how}).${supervisorLastWords(files)}`);
      this.#setup.monitor.notice(name);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#giveUp(files, effect, { detail: `Its supervisor did not start (${how}), and ${reason}.` });
    }
  }

  /** The attempt is reported as lost only when it can no longer start. */
  #giveUp(files: AttemptFiles, effect: LaunchGang, { detail, cause }: GivenUp): void {
    const { name } = files.key;
    try {
      const seen = inspectAttempt(files, this.#setup.bootId);
      if (seen.kind === "unclaimed") voidAttempt(files, detail, cause);
      if (seen.kind !== "absent") {
        this.#setup.monitor.track(name);
        return;
      }
    } catch {
      // The claim cannot be written either. This is harmless: no supervisor is starting, and the engine does not launch
      // a lost attempt again.
    }
    this.#setup.monitor.tellLost(name, effect.attemptId, detail, cause);
  }
}

interface GivenUp {
  readonly detail: string;
  readonly cause?: LossCause;
}

function giveUpOf(error: unknown): GivenUp {
  if (error instanceof RefusedGang) return { detail: `${error.message}.`, cause: error.lossCause };
  if (!(error instanceof StagingFailure))
    return { detail: `It could not be launched: ${error instanceof Error ? error.message : String(error)}.` };
  return { detail: error.message, ...(error.lossCause === null ? {} : { cause: error.lossCause }) };
}
