/**
 * One gang from its start to its end, inside the supervisor. All workers start or none does; when one fails, the others are
 * stopped, so that the gang can start again as a whole; one that is done lets the others finish.
 */
import type { WorkerExit } from "@headroom/engine";
import type { ExitRecord, LaunchRecord } from "./attempt-files.ts";
import { environmentMarkOf, ringBell, workerDirOf, writeRecord } from "./attempt-files.ts";
import type { PipeSource } from "./fifo.ts";
import { chooseFreePort } from "./free-port.ts";
import type { ProcessIdentity } from "./process-table.ts";
import { readChildrenCpuMs } from "./process-table.ts";
import { UsageSampler } from "./usage.ts";
import { killSurvivors } from "./worker-processes.ts";
import { WorkerProcess } from "./worker-process.ts";

/** Timers beyond this fire at once (setTimeout(…) takes a signed 32-bit number of milliseconds); 24 days is long enough. */
const TIMER_MAX_MS = 2_147_483_647;
/** At the end, processes that left their worker's group are killed; this long is waited for them and for their pipes. */
const SURVIVOR_TIMEOUT_MS = 5_000;

export class Gang {
  readonly ended: Promise<ExitRecord>;
  readonly #attemptDir: string;
  readonly #launch: LaunchRecord;
  readonly #pipes: PipeSource;
  readonly #workers: WorkerProcess[] = [];
  readonly #exits: WorkerExit[] = [];
  readonly #cpuMs: number[];
  readonly #resolveEnded: (record: ExitRecord) => void;
  readonly #sampler = new UsageSampler();
  #startedAtMs = 0;
  #cpuMsCounted = 0;
  #settledCount = 0;
  #killAtMs: number | null = null;
  #killTimer: NodeJS.Timeout | null = null;
  #leftNothing = false;

  constructor(attemptDir: string, launch: LaunchRecord, pipes: PipeSource) {
    this.#attemptDir = attemptDir;
    this.#launch = launch;
    this.#pipes = pipes;
    this.#cpuMs = launch.environments.map(() => 0);
    const { promise, resolve } = Promise.withResolvers<ExitRecord>();
    this.ended = promise;
    this.#resolveEnded = resolve;
  }

  /** Once it has ended: whether all that it started is gone, and no stranger holds on to its output. */
  get leftNothing(): boolean {
    return this.#leftNothing;
  }

  /** By rank, as far as they were spawned. */
  get identities(): readonly ProcessIdentity[] {
    return this.#workers.map(({ identity }) => identity);
  }

  /**
   * Spawns every worker behind a gate, writes down their pids, and only then lets them go. If this process dies before, the
   * gates close and none of them executes anything; if it dies after, the record says whom to kill.
   */
  async start(): Promise<void> {
    const masterPort = await chooseFreePort(this.#launch.attemptId);
    const workerDirs = this.#launch.environments.map((_, worker) => workerDirOf(this.#attemptDir, worker));
    const pipes = await this.#pipes.pipesFor(workerDirs);
    for (const [index, environment] of this.#launch.environments.entries()) {
      const own = pipes[index];
      if (own === undefined) throw new Error(`no pipes for worker ${index}`);
      const worker = new WorkerProcess(own, {
        index,
        workerDir: workerDirOf(this.#attemptDir, index),
        launch: this.#launch,
        environment: { ...environment, MASTER_PORT: String(masterPort) },
        onExit: (exit) => this.#workerExited(worker, exit),
        onSettled: () => this.#workerSettled(),
      });
      this.#workers.push(worker);
    }
    await Promise.all(this.#workers.map(({ spawned }) => spawned));
    writeRecord(this.#attemptDir, "workers.json", { version: 1, workers: this.identities });
    this.#cpuMsCounted = readChildrenCpuMs();
    this.#startedAtMs = Date.now();
    for (const worker of this.#workers) worker.letGo();
    writeRecord(this.#attemptDir, "running.json", { version: 1, startedAtMs: this.#startedAtMs, masterPort });
    ringBell(this.#attemptDir);
    this.#sampler.start(this.#workers.map(({ identity }) => identity.pid));
  }

  /** Asked more than once, the earliest end of the grace holds. */
  stop(graceTimeoutMs: number): void {
    const graceMs = Math.min(graceTimeoutMs, TIMER_MAX_MS);
    const killAtMs = performance.now() + graceMs;
    if (this.#killAtMs !== null && this.#killAtMs <= killAtMs) return;
    const first = this.#killAtMs === null;
    this.#killAtMs = killAtMs;
    if (this.#killTimer !== null) clearTimeout(this.#killTimer);
    this.#killTimer = setTimeout(() => this.#kill(), graceMs);
    if (first) for (const worker of this.#workers) worker.askToStop();
  }

  #kill(): void {
    for (const worker of this.#workers) worker.kill();
  }

  #workerExited(worker: WorkerProcess, exit: WorkerExit): void {
    this.#exits.push(exit);
    const cpuMs = readChildrenCpuMs();
    this.#cpuMs[worker.index] = cpuMs - this.#cpuMsCounted;
    this.#cpuMsCounted = cpuMs;
    const failed = exit.kind === "signalled" || exit.code !== 0;
    if (this.#killAtMs === null) {
      // It was not asked to stop: what it left behind has nothing to finish.
      worker.kill();
      if (failed) this.stop(this.#launch.graceTimeoutMs);
    }
  }

  #workerSettled(): void {
    this.#settledCount += 1;
    if (this.#settledCount === this.#workers.length) void this.#finish();
  }

  async #finish(): Promise<void> {
    if (this.#killTimer !== null) clearTimeout(this.#killTimer);
    const peakRssMib = this.#sampler.stop();
    // The engine is about to give the accelerators to somebody else: nothing that this gang started may still hold them.
    const gone = await killSurvivors(this.identities, environmentMarkOf(this.#attemptDir), SURVIVOR_TIMEOUT_MS);
    const closed = await Promise.all(this.#workers.map((worker) => worker.closeLogs(SURVIVOR_TIMEOUT_MS)));
    this.#leftNothing = gone && closed.every(Boolean);
    if (this.#leftNothing) this.#pipes.recycle();
    const usage = this.#workers.map(({ index }) => ({
      worker: index,
      cpuMs: this.#cpuMs[index] ?? 0,
      rssMib: 0,
      peakRssMib: peakRssMib[index] ?? 0,
    }));
    this.#resolveEnded({
      version: 1,
      kind: "exited",
      startedAtMs: this.#startedAtMs,
      endedAtMs: Date.now(),
      exits: this.#exits,
      usage,
    });
  }
}
