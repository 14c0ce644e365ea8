/**
 * Changes the size of a running gang inside its supervisor: reads `resize.json` and writes the result to `size.json`.
 * First, surplus workers are stopped. Then new workers are started, each only once and never again under the same
 * number.
 */
import type { WorkerExit } from "@headroom/model";
import { ringBell, UnreadableRecord } from "../job-protocol/attempt-files.ts";
import type { Gang } from "./gang.ts";
import type { FailedJoin, Joiner, ResizeRecord } from "../job-protocol/resize-records.ts";
import { TIMER_MAX_MS } from "./worker-process.ts";
import type { WorkerProcess } from "./worker-process.ts";

/**
 * Time in ms after the start within which a worker that fails counts as not joined: loading a framework and connecting
 * takes tens of seconds.
 */
const JOIN_TIMEOUT_MS = 60_000;

export class GangSize {
  readonly #gang: Gang;
  /** Grace period in ms of workers that must stop because a worker with a lower rank failed to join. */
  readonly #graceTimeoutMs: number;
  /** Workers that must end but still run (stopped, or failed to join), each with the timer of its grace period. */
  readonly #leaving = new Map<WorkerProcess, NodeJS.Timeout>();
  /** Time at which each joining worker was started. */
  readonly #joinedAtMs = new Map<WorkerProcess, number>();
  /** Number of the newest joining worker that is not started again, and so are all before it. */
  #triedNumber = 0;
  #failure: FailedJoin | null = null;
  #told = "";
  #isJoining = false;

  constructor(gang: Gang, graceTimeoutMs: number) {
    this.#gang = gang;
    this.#graceTimeoutMs = graceTimeoutMs;
  }

  get leaving(): readonly WorkerProcess[] {
    return [...this.#leaving.keys()];
  }

  /** Takes the next step of the resize. Called after each completed step, and whenever there can be a new request. */
  pursue(): void {
    if (this.#isJoining || this.#gang.isStopping) return;
    const wanted = this.#wanted();
    if (wanted === null) return;
    this.#sendAwayFrom(wanted.size, wanted.graceTimeoutMs);
    if (this.#leaving.size > 0) return;
    const joiners = wanted.joiners.filter(({ number }) => number > this.#triedNumber);
    if (joiners.length === 0) return this.#tell(wanted);
    this.#isJoining = true;
    void this.#join(joiners).finally(() => {
      this.#isJoining = false;
      this.pursue();
    });
  }

  /** A damaged request ends the attempt, because the requested size is unknown. */
  #wanted(): ResizeRecord | null {
    try {
      return this.#gang.files.read("resize.json");
    } catch (error) {
      if (!(error instanceof UnreadableRecord)) throw error;
      this.#gang.stop(this.#graceTimeoutMs);
      return null;
    }
  }

  /** Whether the worker that exited was being stopped or failed to join. In both cases the gang continues. */
  tookLeave(worker: WorkerProcess, exit: WorkerExit): boolean {
    if (this.#leaving.has(worker)) return true;
    const joinedAtMs = this.#joinedAtMs.get(worker);
    this.#joinedAtMs.delete(worker);
    const hasFailed = exit.kind === "signalled" || exit.code !== 0;
    if (joinedAtMs === undefined || !hasFailed || this.#gang.isStopping) return false;
    const afterMs = performance.now() - joinedAtMs;
    if (afterMs >= JOIN_TIMEOUT_MS) return false;
    const how = exit.kind === "exited" ? `exited with code ${exit.code}` : `was killed by ${exit.signal}`;
    this.#giveUp(worker.index, `worker ${worker.index} ${how} ${Math.round(afterMs / 1000)} s after it was started`);
    // The worker exited without a stop, so its remaining processes get no grace period.
    worker.kill();
    return true;
  }

  /**
   * Called when no process of the worker's group runs any more. Returns false if the worker still belongs to the gang.
   */
  settled(worker: WorkerProcess): boolean {
    const timer = this.#leaving.get(worker);
    if (timer === undefined) return false;
    clearTimeout(timer);
    void this.#gang.clearAway(worker).then(() => {
      this.#leaving.delete(worker);
      this.#gang.recordWorkers();
      this.pursue();
      this.#gang.endIfSettled();
    });
    return true;
  }

  async #join(joiners: readonly Joiner[]): Promise<void> {
    const gang = this.#gang;
    const from = gang.workers.length;
    this.#triedNumber = Math.max(...joiners.map(({ number }) => number));
    const isNext = joiners.every(({ rank }, index) => rank === from + index);
    const closed = isNext ? gang.closedFor : `worker ${from}, before them, did not come`;
    if (closed !== null) return this.#giveUp(from, closed);
    try {
      await gang.join(joiners);
      this.#failure = null;
      for (const worker of gang.workers.slice(from)) this.#joinedAtMs.set(worker, performance.now());
    } catch (error) {
      this.#giveUp(from, `it could not be started: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** The gang continues without the worker with this rank and all workers after it. */
  #giveUp(rank: number, detail: string): void {
    this.#failure = { number: this.#triedNumber, workers: rank, detail };
    this.#sendAwayFrom(rank, this.#graceTimeoutMs);
  }

  #sendAwayFrom(rank: number, graceTimeoutMs: number): void {
    const workers = this.#gang.workers.splice(rank);
    for (const worker of workers) this.#sendAway(worker, graceTimeoutMs);
    if (workers.length > 0) this.#gang.recordWorkers();
  }

  #sendAway(worker: WorkerProcess, graceTimeoutMs: number): void {
    const graceMs = Math.min(graceTimeoutMs, TIMER_MAX_MS);
    this.#leaving.set(
      worker,
      setTimeout(() => worker.kill(), graceMs),
    );
    this.#joinedAtMs.delete(worker);
    worker.askToStop();
    if (!worker.isThere || this.#gang.hasSettled(worker)) this.settled(worker);
  }

  #tell({ request }: ResizeRecord): void {
    const record = { request, size: this.#gang.workers.length, failure: this.#failure } as const;
    const text = JSON.stringify(record);
    if (text === this.#told) return;
    this.#told = text;
    this.#gang.files.write("size.json", record);
    ringBell(this.#gang.files);
  }
}
