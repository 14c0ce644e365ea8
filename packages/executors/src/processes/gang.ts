/**
 * One gang from its start to its end, inside the supervisor. Either all workers start or none does. When a worker
 * fails, the others are stopped, so that the gang can restart as a whole. When a worker succeeds, the others continue.
 * Workers can be added and removed while the gang runs (`gang-size.ts`).
 */
import type { WorkerExit } from "@headroom/model";
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";
import type { ExitRecord, LaunchRecord } from "../job-protocol/attempt-records.ts";
import { ringBell } from "../job-protocol/attempt-files.ts";
import { dropPipes } from "./fifo.ts";
import type { PipeSource } from "./fifo.ts";
import { chooseFreePort } from "./free-port.ts";
import { GangSize } from "./gang-size.ts";
import type { WorkerLimits } from "./isolation/cgroups.ts";
import { removeScratch } from "./isolation/scratch.ts";
import type { ProcessIdentity } from "./process-table.ts";
import { readChildrenCpuMs } from "./process-table.ts";
import type { Joiner } from "../job-protocol/resize-records.ts";
import { UsageSampler } from "./usage.ts";
import { findSurvivors, killSurvivors } from "./worker-processes.ts";
import { TIMER_MAX_MS, WorkerProcess } from "./worker-process.ts";

/** Time limit in ms, at the end, for killing processes that left their worker's group, and for closing their pipes. */
const SURVIVOR_TIMEOUT_MS = 5_000;

/** Limits of a worker whose launch or join was recorded by an older release. */
const NO_LIMITS: WorkerLimits = { memoryMib: 0, coresMilli: 0, pids: 0 };

/** A worker to start. */
interface Wanted {
  readonly rank: number;
  readonly environment: LaunchRecord["environments"][number];
  readonly limits?: WorkerLimits | undefined;
}

export class Gang {
  readonly ended: Promise<ExitRecord>;
  readonly files: AttemptFiles;
  readonly #launch: LaunchRecord;
  readonly #pipes: PipeSource;
  /** Current workers by rank. */
  readonly workers: WorkerProcess[] = [];
  readonly #size: GangSize;
  readonly #settled = new Set<WorkerProcess>();
  readonly #exits: WorkerExit[] = [];
  readonly #cpuMs: number[] = [];
  /** CPU time by rank as control groups count it. They also count processes that nobody has waited for. */
  readonly #groupCpuMs: number[] = [];
  readonly #resolveEnded: (record: ExitRecord) => void;
  readonly #sampler = new UsageSampler();
  #masterPort = 0;
  /** Port of the HTTP server of a replica; `null`: the gang is none. */
  #servicePort: number | null = null;
  #startedAtMs = 0;
  #cpuMsCounted = 0;
  #killAtMs: number | null = null;
  #killTimer: NodeJS.Timeout | null = null;
  #allLeftNothing = true;
  #leftNothing = false;
  #isEnding = false;

  constructor(files: AttemptFiles, launch: LaunchRecord, pipes: PipeSource) {
    this.files = files;
    this.#launch = launch;
    this.#pipes = pipes;
    this.#size = new GangSize(this, launch.graceTimeoutMs);
    const { promise, resolve } = Promise.withResolvers<ExitRecord>();
    this.ended = promise;
    this.#resolveEnded = resolve;
  }

  /** Valid after the end. True: no process of the gang runs, and no other process has the gang's output open. */
  get leftNothing(): boolean {
    return this.#leftNothing;
  }

  /** Pid and start time of each spawned worker, by rank. */
  get identities(): readonly ProcessIdentity[] {
    return identitiesOf(this.workers);
  }

  /** Whether the workers were asked to stop, or have ended. */
  get isStopping(): boolean {
    return this.#killAtMs !== null || this.#isEnding;
  }

  /** Whether a worker has ended without success so far. */
  get hasFailed(): boolean {
    return this.#exits.some((exit) => exit.kind === "signalled" || exit.code !== 0);
  }

  /** Reason why no worker can join any more; `null`: workers can join. */
  get closedFor(): string | null {
    const [first] = this.#exits;
    return first === undefined ? null : `worker ${first.worker} has ended already`;
  }

  /**
   * Spawns every worker behind a gate, records their pids, and then opens the gates. If this process dies before, the
   * gates close and no worker executes its command; if it dies after, the record says which processes to kill. Throws if
   * a stop comes before the workers exist.
   */
  async start(): Promise<void> {
    this.#masterPort = this.#launch.masterPort ?? (await chooseFreePort(this.#launch.attemptId));
    // Another search than that of the rendezvous port, so that both differ.
    if (this.#launch.readyPath !== undefined)
      this.#servicePort = await chooseFreePort(`${this.#launch.attemptId} service`, this.#masterPort);
    const limits = this.#launch.isolation?.limits ?? [];
    await this.#spawn(
      this.#launch.environments.map((environment, rank) => ({ rank, environment, limits: limits[rank] })),
    );
    this.#cpuMsCounted = readChildrenCpuMs();
    this.#startedAtMs = Date.now();
    // The control plane may have claimed the attempt as lost in the meantime. A lost attempt must not run.
    if (this.files.has("exit.json")) throw new Error("its end is recorded already");
    for (const worker of this.workers) worker.letGo();
    this.files.write("running.json", {
      startedAtMs: this.#startedAtMs,
      masterPort: this.#masterPort,
      ...(this.#servicePort === null ? {} : { servicePort: this.#servicePort }),
      resizes: true,
    });
    ringBell(this.files);
    this.#sampler.start(() => this.identities.map(({ pid }) => pid));
  }

  /** Applies the requested size while the gang runs. */
  resize(): void {
    if (this.#startedAtMs > 0) this.#size.pursue();
  }

  /** Adds workers with the ranks after the existing ones. If this fails, none of them has run its command. */
  async join(joiners: readonly Joiner[]): Promise<void> {
    const joining = await this.#spawn(joiners);
    for (const worker of joining) worker.letGo();
  }

  recordWorkers(): void {
    const leaving = identitiesOf(this.#size.leaving);
    const record = { workers: this.identities, ...(leaving.length > 0 ? { leaving } : {}) } as const;
    this.files.write("workers.json", record);
  }

  /** If a stop is requested several times, the earliest end of a grace period counts. */
  stop(graceTimeoutMs: number): void {
    const graceMs = Math.min(graceTimeoutMs, TIMER_MAX_MS);
    const killAtMs = performance.now() + graceMs;
    if (this.#killAtMs !== null && this.#killAtMs <= killAtMs) return;
    const first = this.#killAtMs === null;
    this.#killAtMs = killAtMs;
    if (this.#killTimer !== null) clearTimeout(this.#killTimer);
    this.#killTimer = setTimeout(() => this.#kill(), graceMs);
    if (first) for (const worker of this.workers) worker.askToStop();
  }

  /** Kills the remaining processes of a worker that has left the gang; its rank may then be used again. */
  async clearAway(worker: WorkerProcess): Promise<void> {
    const marks = [this.files.environmentMark, worker.mark];
    await this.#killUntilGone([worker], marks);
    if (!(await worker.closeLogs(SURVIVOR_TIMEOUT_MS))) this.#allLeftNothing = false;
  }

  hasSettled(worker: WorkerProcess): boolean {
    return this.#settled.has(worker);
  }

  /** Ends the gang when all its workers are gone, including those that are being removed. */
  endIfSettled(): void {
    if (this.#isEnding || this.#size.leaving.length > 0) return;
    if (!this.workers.every((worker) => this.#settled.has(worker))) return;
    this.#isEnding = true;
    void this.#finish();
  }

  async #spawn(wanted: readonly Wanted[]): Promise<WorkerProcess[]> {
    const workerDirs = wanted.map(({ rank }) => this.files.workerDir(rank));
    const pipes = await this.#pipes.pipesFor(workerDirs);
    // A stop request reaches only workers that exist, so no worker may be added after it.
    if (this.isStopping) {
      for (const own of pipes) dropPipes(own);
      throw new Error("the gang was stopped or has ended");
    }
    const spawned: WorkerProcess[] = [];
    for (const [index, { rank, environment, limits }] of wanted.entries()) {
      const own = pipes[index];
      if (own === undefined) throw new Error(`no pipes for worker ${rank}`);
      const worker = new WorkerProcess(own, {
        index: rank,
        workerDir: this.files.workerDir(rank),
        launch: this.#launch,
        attempt: this.files.key.name,
        limits: limits ?? NO_LIMITS,
        environment: {
          ...environment,
          MASTER_PORT: String(this.#masterPort),
          ...(this.#servicePort === null ? {} : { PORT: String(this.#servicePort) }),
        },
        onExit: (exit) => this.#workerExited(worker, exit),
        onSettled: () => this.#workerSettled(worker),
      });
      spawned.push(worker);
      this.workers.push(worker);
    }
    await Promise.all(spawned.map((worker) => worker.spawned));
    this.recordWorkers();
    return spawned;
  }

  #kill(): void {
    for (const worker of [...this.workers, ...this.#size.leaving]) worker.kill();
  }

  #workerExited(worker: WorkerProcess, exit: WorkerExit): void {
    const cpuMs = readChildrenCpuMs();
    this.#cpuMs[worker.index] = (this.#cpuMs[worker.index] ?? 0) + cpuMs - this.#cpuMsCounted;
    this.#cpuMsCounted = cpuMs;
    if (this.#size.tookLeave(worker, exit)) return;
    this.#exits.push(exit);
    const failed = exit.kind === "signalled" || exit.code !== 0;
    if (this.#killAtMs === null) {
      // The worker exited without a stop, so its remaining processes get no grace period.
      worker.kill();
      if (failed) this.stop(this.#launch.graceTimeoutMs);
    }
  }

  #workerSettled(worker: WorkerProcess): void {
    this.#settled.add(worker);
    const cpuMs = worker.group?.cpuMs ?? null;
    if (cpuMs !== null) this.#groupCpuMs[worker.index] = (this.#groupCpuMs[worker.index] ?? 0) + cpuMs;
    if (!this.#size.settled(worker)) this.endIfSettled();
  }

  /**
   * The accelerators become free only when no process can use them any more. A process in uninterruptible I/O, as in a
   * driver that hangs, keeps them, and the supervisor's log says so.
   */
  async #killUntilGone(workers: readonly WorkerProcess[], marks: readonly string[]): Promise<void> {
    const own = identitiesOf(workers);
    const groups = workers.flatMap(({ group }) => group ?? []);
    for (let tries = 0; !(await killSurvivors({ workers: own, marks, groups }, SURVIVOR_TIMEOUT_MS)); tries++) {
      this.#allLeftNothing = false;
      if (tries > 0) continue;
      const pids = [...findSurvivors(own, marks).map(({ pid }) => pid), ...groups.flatMap((group) => group.pids)];
      process.stderr.write(`processes ${pids.join(", ")} do not end when killed; the accelerators stay held\n`);
    }
    for (const group of groups) group.remove();
  }

  async #finish(): Promise<void> {
    if (this.#killTimer !== null) clearTimeout(this.#killTimer);
    const { peakRssMib, cpuMs: sampledCpuMs } = this.#sampler.stop();
    // The engine is about to assign the accelerators to other work, so no process of this gang may use them any more.
    const marks = [this.files.environmentMark];
    await this.#killUntilGone(this.workers, marks);
    const closed = await Promise.all(this.workers.map((worker) => worker.closeLogs(SURVIVOR_TIMEOUT_MS)));
    this.#leftNothing = closed.every(Boolean) && this.#allLeftNothing;
    if (this.#leftNothing) this.#pipes.recycle();
    const usage = Array.from({ length: Math.max(this.workers.length, this.#cpuMs.length) }, (_, worker) => ({
      worker,
      cpuMs: this.#groupCpuMs[worker] ?? Math.max(this.#cpuMs[worker] ?? 0, sampledCpuMs[worker] ?? 0),
      rssMib: 0,
      peakRssMib: peakRssMib[worker] ?? 0,
    }));
    await removeScratch(this.#launch);
    this.#resolveEnded({
      kind: "exited",
      startedAtMs: this.#startedAtMs,
      endedAtMs: Date.now(),
      exits: this.#exits,
      usage,
    });
  }
}

const identitiesOf = (workers: readonly WorkerProcess[]): readonly ProcessIdentity[] =>
  workers.filter(({ isThere }) => isThere).map(({ identity }) => identity);
