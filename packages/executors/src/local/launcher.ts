/** Carries out effects: writes the launch record, starts the supervisor, asks it to stop. Does nothing twice. */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import type { CheckpointGang, LaunchGang, StopGang } from "@headroom/engine";
import { attemptEnvironments, checkpointDirOf } from "./attempt-environments.ts";
import type { EnvironmentSetup } from "./attempt-environments.ts";
import type { LaunchRecord, LogLimits } from "./attempt-files.ts";
import {
  readRecord,
  supervisorLastWords,
  syncDirectory,
  workerDirOf,
  writeRecord,
  writeRecordDurably,
} from "./attempt-files.ts";
import { inspectAttempt, ringSupervisor, voidAttempt } from "./attempt-inspection.ts";
import type { AttemptMonitor } from "./attempt-monitor.ts";
import { attemptDirName } from "./attempt-names.ts";
import type { StartSlots } from "./start-slots.ts";
import { SupervisorPool } from "./supervisor-pool.ts";

export interface LauncherSetup extends EnvironmentSetup {
  readonly attemptsDir: string;
  readonly bootId: string;
  readonly log: LogLimits;
  readonly monitor: AttemptMonitor;
  readonly slots: StartSlots;
}

export class Launcher {
  readonly #setup: LauncherSetup;
  readonly #supervisors: SupervisorPool;

  constructor(setup: LauncherSetup) {
    this.#setup = setup;
    this.#supervisors = new SupervisorPool(path.join(setup.homeDir, "cache"));
  }

  async launch(effect: LaunchGang): Promise<void> {
    const name = attemptDirName(effect.attemptId);
    const attemptDir = path.join(this.#setup.attemptsDir, name);
    try {
      await this.#launchIn(attemptDir, effect);
    } catch (error) {
      this.#giveUp(
        name,
        effect,
        `It could not be launched: ${error instanceof Error ? error.message : String(error)}.`,
      );
    }
  }

  /** An attempt that nobody has claimed is claimed here, so that it never starts; a supervisor is asked. */
  stop(effect: StopGang): void {
    const name = attemptDirName(effect.attemptId);
    const attemptDir = path.join(this.#setup.attemptsDir, name);
    const seen = inspectAttempt(attemptDir, this.#setup.bootId);
    if (seen.kind === "absent") {
      this.#setup.monitor.tellLost(name, effect.attemptId, "It was never launched here.");
      return;
    }
    this.#setup.monitor.track(name);
    if (seen.kind === "ended" || seen.kind === "orphaned") return;
    if (seen.kind === "unclaimed" && voidAttempt(attemptDir, "It was stopped before it started.")) {
      this.#setup.monitor.notice(name);
      return;
    }
    requestStop(attemptDir, effect);
    ringSupervisor(attemptDir, this.#setup.bootId);
  }

  /** The workers find the request in a file and answer in another; their supervisor has no part in it. */
  requestCheckpoint({ attemptId, untilMs }: CheckpointGang): void {
    const name = attemptDirName(attemptId);
    const attemptDir = path.join(this.#setup.attemptsDir, name);
    if (inspectAttempt(attemptDir, this.#setup.bootId).kind !== "running") return;
    this.#setup.monitor.track(name);
    // Asked again after a restart, it is the same request.
    if (readRecord(attemptDir, "checkpoint-request.json") !== null) return;
    writeRecord(attemptDir, "checkpoint-request.json", { version: 1, requestedAtMs: Date.now(), untilMs });
  }

  /** Supervisors that have recorded the end of their attempt are as good as gone; the others go on. */
  close(): Promise<void> {
    return this.#supervisors.close((attemptDir) => inspectAttempt(attemptDir, this.#setup.bootId).kind === "ended");
  }

  /** The record, and the way to it, are on disk before anything starts. */
  async #launchIn(attemptDir: string, effect: LaunchGang): Promise<void> {
    const name = path.basename(attemptDir);
    const seen = inspectAttempt(attemptDir, this.#setup.bootId);
    if ((seen.kind === "absent" || seen.kind === "unclaimed") && !this.#supervisors.holds(attemptDir)) {
      if (!(await this.#setup.slots.acquire(name))) return;
      if (seen.kind === "absent") await this.#recordLaunch(attemptDir, effect);
      // Whoever recorded it may have been killed before its name was on the disk.
      else await syncDirectory(attemptDir);
      await syncDirectory(this.#setup.attemptsDir);
      this.#supervisors.assign(attemptDir, (how) => this.#supervisorLeft(name, effect, how));
    }
    this.#setup.monitor.track(name);
  }

  /** With the boot that it belongs to: an attempt that a power cut ended is found as such, and is not started a second time. */
  async #recordLaunch(attemptDir: string, effect: LaunchGang): Promise<void> {
    const { spec, attemptId, workloadId, sequence } = effect;
    for (const worker of effect.workers.keys()) {
      await mkdir(workerDirOf(attemptDir, worker), { recursive: true, mode: 0o700 });
    }
    const record: LaunchRecord = {
      version: 1,
      attemptId,
      workloadId,
      sequence,
      bootId: this.#setup.bootId,
      run: spec.run,
      workingDir: spec.dir ?? attemptDir,
      checkpointDir: checkpointDirOf(this.#setup, effect),
      graceTimeoutMs: spec.graceTimeoutMs,
      log: this.#setup.log,
      environments: await attemptEnvironments(this.#setup, attemptDir, effect),
    };
    await writeRecordDurably(attemptDir, "launch.json", record);
  }

  /** Its end is in the directory, unless the supervisor ended before it claimed the attempt. */
  #supervisorLeft(name: string, effect: LaunchGang, how: string): void {
    const attemptDir = path.join(this.#setup.attemptsDir, name);
    this.#setup.slots.release(name);
    try {
      const seen = inspectAttempt(attemptDir, this.#setup.bootId);
      if (seen.kind === "unclaimed") {
        voidAttempt(attemptDir, `Its supervisor did not start (${how}).${supervisorLastWords(attemptDir)}`);
      }
      this.#setup.monitor.notice(name);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#giveUp(name, effect, `Its supervisor did not start (${how}), and ${reason}.`);
    }
  }

  /** Told as lost only when it is sure that it will not run. */
  #giveUp(name: string, effect: LaunchGang, detail: string): void {
    const attemptDir = path.join(this.#setup.attemptsDir, name);
    try {
      const seen = inspectAttempt(attemptDir, this.#setup.bootId);
      if (seen.kind === "unclaimed") voidAttempt(attemptDir, detail);
      if (seen.kind !== "absent") {
        this.#setup.monitor.track(name);
        return;
      }
    } catch {
      // The disk takes no claim either. No supervisor of ours is on its way, and the engine asks for a lost attempt no more.
    }
    this.#setup.monitor.tellLost(name, effect.attemptId, detail);
  }
}

/** The supervisor may see only the last of several requests, so the one that ends the grace first stays. */
function requestStop(attemptDir: string, { graceTimeoutMs, reason }: StopGang): void {
  const requestedAtMs = Date.now();
  const before = readRecord(attemptDir, "stop.json");
  if (before !== null && before.requestedAtMs + before.graceTimeoutMs <= requestedAtMs + graceTimeoutMs) return;
  writeRecord(attemptDir, "stop.json", { version: 1, requestedAtMs, graceTimeoutMs, reason });
}
