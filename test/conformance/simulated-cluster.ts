/**
 * The simulated executor behind the contract of executors, on the real clock, for the conformance cases. The cluster goes on while no
 * instance of its executor is open. Like Slurm and Kubernetes, it keeps records of attempts, which the simulator does not need: the engine
 * never launches an attempt again that has ended.
 */
import type { AttemptId, Effect, LaunchGang } from "../../packages/model/src/index.ts";
import { EventQueue } from "../../packages/sim/src/clock/event-queue.ts";
import type { RunPlan } from "../../packages/sim/src/executor/run-plan.ts";
import { SimulatedExecutor } from "../../packages/sim/src/executor/simulated-executor.ts";
import type {
  AttemptUsage,
  Executor,
  ExecutorInput,
  ExecutorListener,
  Inventory,
  KnownAttempt,
  KnownAttemptPhase,
  LogChunk,
} from "../../packages/executors/src/executor.ts";
import { Reporter } from "../../packages/executors/src/job-protocol/reporter.ts";
import { OperationalError } from "../../packages/platform/src/index.ts";

const STARTUP_MS = 5;
/** Longer than the grace of the cases in which a worker is killed, and shorter than that of the others. */
const STOP_MS = 300;

interface SimulatedRecord {
  readonly launch: LaunchGang | null;
  phase: KnownAttemptPhase;
  hasRun: boolean;
}

export class SimulatedCluster {
  readonly records = new Map<AttemptId, SimulatedRecord>();
  readonly #queue = new EventQueue();
  readonly #simulated: SimulatedExecutor;
  readonly #instances = new Set<SimulatedInstance>();
  readonly #beganMs = performance.now();
  #timer: NodeJS.Timeout | undefined;

  constructor(plan: (launch: LaunchGang) => RunPlan) {
    this.#simulated = new SimulatedExecutor({ startupMs: STARTUP_MS, stopMs: STOP_MS, plan }, this.#queue);
  }

  open(): Executor {
    const instance = new SimulatedInstance(this, () => this.#instances.delete(instance));
    this.#instances.add(instance);
    return instance;
  }

  perform(effect: Effect): void {
    const record = this.records.get(effect.attemptId);
    // The simulator itself answers a repeated launch of an attempt that has not ended.
    if (effect.kind === "launchGang" && record !== undefined && isOver(record)) return;
    if (effect.kind === "launchGang" && record === undefined)
      this.records.set(effect.attemptId, { launch: effect, phase: { kind: "launching" }, hasRun: false });
    if (effect.kind === "stopGang" && record === undefined) return this.#lose(effect.attemptId);
    this.#simulated.perform([effect], this.#nowMs());
    this.#proceed();
  }

  /** A stop of an attempt that was never launched: none of its workers ever starts. */
  #lose(attemptId: AttemptId): void {
    const detail = "It was never launched here.";
    const phase: KnownAttemptPhase = { kind: "lost", endedAtMs: Date.now(), detail };
    this.records.set(attemptId, { launch: null, phase, hasRun: false });
    this.#tell({ kind: "attemptLost", attemptId, detail });
  }

  /** Reports what is due, and waits for the next entry of the queue. */
  #proceed(): void {
    clearTimeout(this.#timer);
    while (this.#queue.size > 0 && this.#queue.nextAtMs <= this.#nowMs()) {
      const input = this.#simulated.observeNext();
      this.#queue.drop();
      if (input === null) continue;
      this.#note(input);
      this.#tell(input);
    }
    if (this.#queue.size > 0)
      this.#timer = setTimeout(() => this.#proceed(), this.#queue.nextAtMs - this.#nowMs()).unref();
  }

  #note(input: ExecutorInput): void {
    const record = "attemptId" in input ? this.records.get(input.attemptId) : undefined;
    if (record === undefined) return;
    if (input.kind === "attemptRunning") {
      record.phase = { kind: "running" };
      record.hasRun = true;
    } else if (input.kind === "attemptExited")
      record.phase = { kind: "ended", endedAtMs: Date.now(), exits: input.exits };
  }

  #tell(input: ExecutorInput): void {
    for (const instance of this.#instances) instance.tell(input);
  }

  #nowMs(): number {
    return Math.floor(performance.now() - this.#beganMs);
  }
}

const isOver = ({ phase }: SimulatedRecord): boolean => phase.kind === "ended" || phase.kind === "lost";

class SimulatedInstance implements Executor {
  readonly id = "simulated";
  readonly kind = "simulated";
  readonly capabilities = { checkpointOnRequest: true, resize: true, replaceWorkers: true, logs: false };
  readonly #cluster: SimulatedCluster;
  readonly #reporter = new Reporter();
  readonly #onClose: () => void;
  #told: Promise<void> = Promise.resolve();
  #isWatched = false;

  constructor(cluster: SimulatedCluster, onClose: () => void) {
    this.#cluster = cluster;
    this.#onClose = onClose;
  }

  tell(input: ExecutorInput): void {
    if (!this.#isWatched) return;
    this.#told = this.#told.then(async () => {
      await this.#reporter.untilRoom();
      this.#reporter.tell(input);
    });
  }

  async inventory(): Promise<Inventory> {
    return await Promise.resolve({ sites: [], pools: [], nodes: [] });
  }

  async attempts(): Promise<readonly KnownAttempt[]> {
    const known = [...this.#cluster.records].map(([attemptId, { launch, phase }]) => {
      const { workloadId = null, sequence = 0 } = launch ?? {};
      return { attemptId, workloadId, sequence, phase };
    });
    return await Promise.resolve(known);
  }

  perform(effect: Effect): void {
    this.#cluster.perform(effect);
  }

  watch(listener: ExecutorListener): void {
    void this.#reporter.listen(listener);
    this.#isWatched = true;
    for (const [attemptId, { phase, hasRun }] of this.#cluster.records) {
      if (hasRun) this.tell({ kind: "attemptRunning", attemptId });
      if (phase.kind === "ended") this.tell({ kind: "attemptExited", attemptId, exits: phase.exits });
      if (phase.kind === "lost") this.tell({ kind: "attemptLost", attemptId, detail: phase.detail });
    }
  }

  async *logs(attemptId: AttemptId): AsyncGenerator<LogChunk> {
    if (!this.#cluster.records.has(attemptId))
      throw new OperationalError("unknownAttempt", `Attempt ${attemptId} has no logs here.`, { retryable: false });
    yield* [];
  }

  async usage(attemptId: AttemptId): Promise<AttemptUsage | null> {
    const usage = { workers: [], progressSkippedCount: 0 };
    return await Promise.resolve(this.#cluster.records.has(attemptId) ? usage : null);
  }

  async forget(attemptId: AttemptId): Promise<void> {
    const phase = this.#cluster.records.get(attemptId)?.phase.kind;
    if (phase === "launching" || phase === "running")
      throw new OperationalError("attemptActive", `Attempt ${attemptId} has not ended.`, { retryable: true });
    await Promise.resolve(this.#cluster.records.delete(attemptId));
  }

  async close(): Promise<void> {
    this.#onClose();
    await Promise.resolve(this.#reporter.close());
  }
}
