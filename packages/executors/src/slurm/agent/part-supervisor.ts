/**
 * Supervises the workers of a gang on one node of a Slurm job. It obeys the records of the attempt on the shared file system, because
 * a process on another machine can signal nobody here: it polls them, and writes again and again that it is alive.
 */
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import type { ExitRecord, LaunchRecord } from "../../job-protocol/attempt-records.ts";
import { ringBell } from "../../job-protocol/attempt-files.ts";
import { lostEnd, partFiles, partsOf } from "../../job-protocol/attempt-parts.ts";
import type { PipeSource } from "../../processes/fifo.ts";
import { isRefusedCommand, messageOf, recordEnd, refusedExit } from "../../processes/attempt-end.ts";
import { Gang } from "../../processes/gang.ts";
import { identityOf, readBootId } from "../../processes/process-table.ts";
import { sampleUsage } from "../../processes/usage.ts";
import { killSurvivors } from "../../processes/worker-processes.ts";
import { slurmDevices, withDevices } from "./devices.ts";

/** Interval in ms for reading requests. */
const POLL_MS = 250;
/** Interval in ms between two signs of life. Each samples the usage of the workers, a few ms of processor time. */
export const ALIVE_MS = 3_000;
/** Time in ms after a failed start in which the processes of the part must be gone. */
const CLEAN_UP_TIMEOUT_MS = 5_000;

export interface PartOrder {
  /** Records of the attempt. */
  readonly files: AttemptFiles;
  readonly launch: LaunchRecord;
  readonly part: number;
  readonly masterPort: number;
  /** Time in ms that Slurm leaves between SIGTERM and SIGKILL (`KillWait`), less what an end takes. */
  readonly slurmGraceMs: number;
  readonly pipes: PipeSource;
  /** Environment of this process, in which Slurm names the devices of the job. */
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * Runs the part to its end and records the end. Does nothing if the part was claimed before. Returns whether the part has ended by
 * itself and left nothing behind.
 */
export async function supervisePart(order: PartOrder): Promise<boolean> {
  const own = partFiles(order.files.key, order.part);
  const supervisor = identityOf(process.pid);
  if (supervisor === null) throw new Error("/proc does not show this process");
  if (!own.create("claim.json", { kind: "supervised", bootId: readBootId(), supervisor })) return false;
  const part = new PartSupervisor(order, own);
  const end = await part.run();
  if (failed(end)) order.files.create("failure.json", { part: order.part });
  await recordEnd(own, end);
  return part.leftNothing && !failed(end);
}

const failed = (end: ExitRecord): boolean =>
  end.kind === "lost" || end.exits.some((exit) => exit.kind === "signalled" || exit.code !== 0);

class PartSupervisor {
  readonly #order: PartOrder;
  readonly #own: AttemptFiles;
  readonly #launch: LaunchRecord;
  readonly #gang: Gang;
  #isStopRequested = false;
  #aliveCount = 0;
  #complaint = "";

  constructor(order: PartOrder, own: AttemptFiles) {
    this.#order = order;
    this.#own = own;
    this.#launch = partLaunch(order, own);
    this.#gang = new Gang(own, this.#launch, order.pipes);
  }

  /** Valid after the end. */
  get leftNothing(): boolean {
    return this.#gang.leftNothing && !this.#isStopRequested;
  }

  async run(): Promise<ExitRecord> {
    const onTerm = (): void => this.#endedBySlurm();
    process.on("SIGTERM", onTerm);
    const poll = setInterval(() => this.#guarded(() => this.#obey()), POLL_MS);
    const alive = setInterval(() => this.#guarded(() => this.#showLife()), ALIVE_MS);
    try {
      this.#obey();
      await this.#gang.start();
      ringBell(this.#order.files);
      this.#showLife();
      return await this.#gang.ended;
    } catch (error) {
      return await this.#notStarted(error);
    } finally {
      clearInterval(poll);
      clearInterval(alive);
      process.off("SIGTERM", onTerm);
    }
  }

  #obey(): void {
    const { files } = this.#order;
    const graceMs = requestedGraceMs(files, this.#launch);
    if (graceMs !== null) this.#stop(graceMs);
    if (!this.#isStopRequested && this.#gang.hasFailed) {
      this.#isStopRequested = true;
      files.create("failure.json", { part: this.#order.part });
      ringBell(files);
    }
  }

  #stop(graceMs: number): void {
    this.#isStopRequested = true;
    this.#gang.stop(graceMs);
  }

  /** Slurm kills the job after `KillWait`, so a longer grace period would lose the record of the end. */
  #endedBySlurm(): void {
    const { files, slurmGraceMs } = this.#order;
    this.#guarded(() => fenceUnlessStopped(files, this.#order.environment));
    this.#stop(Math.min(this.#launch.graceTimeoutMs, slurmGraceMs));
  }

  #showLife(): void {
    this.#aliveCount += 1;
    const usage = sampleUsage(this.#gang.identities.map(({ pid }) => pid));
    this.#own.write("alive.json", { count: this.#aliveCount, usage });
  }

  /** The shared file system may fail for a while; the next turn tries again. The log gets each complaint once. */
  #guarded(act: () => void): void {
    try {
      act();
    } catch (error) {
      const complaint = messageOf(error).replace(/\.[0-9a-f-]{36}/, "");
      if (complaint !== this.#complaint) process.stderr.write(`${complaint}\n`);
      this.#complaint = complaint;
    }
  }

  async #notStarted(error: unknown): Promise<ExitRecord> {
    const groups = this.#gang.workers.flatMap(({ group }) => group ?? []);
    const processes = { workers: this.#gang.identities, marks: [this.#own.environmentMark], groups };
    await killSurvivors(processes, CLEAN_UP_TIMEOUT_MS);
    if (this.#gang.isStopping) return lostEnd("It was stopped before it started.");
    if (isRefusedCommand(error)) return refusedExit(this.#own, this.#launch, error.message);
    return lostEnd(`Its workers could not be started: ${messageOf(error)}.`);
  }
}

/**
 * The grace period of a stop that the records ask for; `null`: none does. Jobs of other attempts can write to the directory, so
 * only authentic records count.
 */
export function requestedGraceMs(files: AttemptFiles, { graceTimeoutMs }: LaunchRecord): number | null {
  // The attempt counts as lost, so its successor may run already.
  if (files.readIfSound("exit.json") !== null) return 0;
  const isEnding = files.readIfSound("fence.json") !== null || files.readIfSound("failure.json") !== null;
  const requests = [files.readIfSound("stop.json")?.graceTimeoutMs ?? null, isEnding ? graceTimeoutMs : null];
  const graces = requests.filter((each) => each !== null);
  return graces.length === 0 ? null : Math.min(...graces);
}

/** Someone ended the job in Slurm: `scancel`, a time limit, preemption, a drained node. */
export function fenceUnlessStopped(files: AttemptFiles, environment: NodeJS.ProcessEnv): void {
  if (files.readIfSound("stop.json") !== null) return;
  files.create("fence.json", { detail: `Slurm ended the job ${environment["SLURM_JOB_ID"] ?? ""} of the attempt.` });
}

function partLaunch({ launch, part, masterPort, environment }: PartOrder, own: AttemptFiles): LaunchRecord {
  const { ranks } = partsOf(launch)[part] ?? { ranks: [] };
  const environments = ranks.map((rank) => ({
    ...launch.environments[rank],
    HEADROOM_PROGRESS_FILE: own.progressFile,
  }));
  return { ...launch, environments: withDevices(environments, slurmDevices(environment)), masterPort };
}
