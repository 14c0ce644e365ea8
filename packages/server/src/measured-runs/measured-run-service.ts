/**
 * Compares measured steps with predictions. Every minute a separate thread measures attempts of workloads that name
 * their model, by their telemetry. The resulting correction applies to every later sizing, and owners of slow runs are
 * notified once. Failures never stop the control plane: a failed measurement is logged and tried again.
 */
import { existsSync } from "node:fs";
import { acceleratorCount } from "@headroom/model";
import type { AttemptId, WorkloadId } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { measuredWindowMinMs } from "@headroom/perf";
import type { FleetCorrection, SizingQuestion } from "@headroom/perf";
import { ThreadCalls } from "@headroom/platform";
import { refuse } from "@headroom/protocol";
import type { AttemptMetrics, FleetPredictions, WorkloadModel, WorkloadPredictions } from "@headroom/protocol";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type {
  MeasuredRunAnswer,
  MeasuredRunRequest,
  MeasuredRunThreadData,
  ObservedAttempt,
  OwnedRun,
} from "./measured-run-messages.ts";

export interface MeasuredRunRules {
  /** Interval between measurements in ms. */
  readonly lookEveryMs: number;
  /** Minimum period in ms over which steps are counted. */
  readonly windowMinMs: number;
}

export const measuredRunDefaults: MeasuredRunRules = { lookEveryMs: 60_000, windowMinMs: measuredWindowMinMs };

/**
 * Maximum number of attempts read in one measurement, at a few milliseconds each. Attempts whose last measurement is
 * longest ago come first.
 */
const ATTEMPTS_PER_LOOK = 256;
const POINTS_READ = 600;
const WAITING_MAX = 64;

interface Watched {
  readonly workloadId: string;
  lookedAtMs: number;
}

interface Options {
  readonly file: string;
  readonly rules: MeasuredRunRules;
  readonly driver: Pick<Driver, "read">;
  readonly telemetry: Pick<Telemetry, "read">;
  readonly log: Pick<DriverLog, "warn">;
  nowMs(): number;
  /** Resolves when the owner has been notified, or when no notification rule matches. */
  tellOwner(run: OwnedRun): Promise<void>;
}

type MeasuringThread = ThreadCalls<MeasuredRunRequest, MeasuredRunAnswer>;

export class MeasuredRunService {
  readonly #options: Options;
  #thread: MeasuringThread | null = null;
  readonly #timer: NodeJS.Timeout;
  readonly #watched = new Map<AttemptId, Watched>();
  #modelled: ReadonlySet<string> = new Set();
  #correction: FleetCorrection = { kind: "fleet-correction", version: 1, types: [] };
  #waitingCount = 0;
  #isClosed = false;
  #looking: Promise<void> | null = null;
  readonly #telling = new Set<string>();

  constructor(options: Options) {
    this.#options = options;
    this.#timer = setInterval(() => this.#lookAgain(), options.rules.lookEveryMs);
    this.#timer.unref();
    // The thread starts with the first model, because most control planes have none.
    if (existsSync(options.file)) void this.#begin();
  }

  /** Correction of predictions that the fleet's runs have given so far. */
  get correction(): FleetCorrection {
    return this.#correction;
  }

  /** Adds the fleet's correction to a question that does not state one. */
  corrected(question: SizingQuestion): SizingQuestion {
    if (question.kind !== "training" || question.training.correction !== undefined) return question;
    return { ...question, training: { ...question.training, correction: this.#correction } };
  }

  async declare(workloadId: string, { training }: WorkloadModel): Promise<void> {
    const about = await this.#options.driver.read(({ state }) => {
      const workload = state.workloads.get(workloadId as WorkloadId);
      return workload === undefined
        ? null
        : { workload: workload.spec.name, team: String(workload.spec.team), owner: workload.actor };
    });
    if (about === null)
      throw refuse("unknownWorkload", `There is no workload ${workloadId}; it may have ended long ago.`);
    const model = { workloadId, ...about, training };
    const { workloadIds } = await this.#ask({ kind: "declare", model, nowMs: this.#options.nowMs() });
    this.#modelled = new Set(workloadIds);
  }

  async predictions(workloadId: string): Promise<WorkloadPredictions> {
    const { predictions } = await this.#ask({ kind: "predictions", workloadId });
    return predictions ?? { items: [], unpredicted: null };
  }

  async report(): Promise<FleetPredictions> {
    const { report } = await this.#ask({ kind: "report" });
    return report ?? { correction: this.#correction, kinds: [], runs: [] };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#looking;
    await this.#thread?.call({ kind: "close" }).catch(() => undefined);
    await this.#thread?.ended();
  }

  async #begin(): Promise<void> {
    try {
      const { workloadIds, unfinished } = await this.#call({ kind: "begin" });
      this.#modelled = new Set([...this.#modelled, ...(workloadIds ?? [])]);
      for (const { attemptId, workloadId } of unfinished ?? [])
        this.#watched.set(attemptId as AttemptId, { workloadId, lookedAtMs: 0 });
    } catch (error) {
      this.#warn(error);
    }
  }

  #lookAgain(): void {
    this.#looking ??= this.#look()
      .catch((error: unknown) => this.#warn(error))
      .finally(() => (this.#looking = null));
  }

  async #look(): Promise<void> {
    if (this.#modelled.size === 0) return;
    const { driver, nowMs } = this.#options;
    await driver.read(({ state }) => {
      for (const { id, workloadId, startedAtMs } of state.attempts.values()) {
        if (startedAtMs !== null && this.#modelled.has(workloadId) && !this.#watched.has(id))
          this.#watched.set(id, { workloadId, lookedAtMs: 0 });
      }
    });
    const due = [...this.#watched].toSorted(([, left], [, right]) => left.lookedAtMs - right.lookedAtMs);
    const attempts: ObservedAttempt[] = [];
    for (const [id, watched] of due.slice(0, ATTEMPTS_PER_LOOK)) {
      const observed = await this.#observe(id, watched.workloadId);
      watched.lookedAtMs = nowMs();
      if (observed === null || observed.hasEnded) this.#watched.delete(id);
      if (observed !== null) attempts.push(observed);
    }
    if (attempts.length === 0) return;
    const { slow } = await this.#call({ kind: "observe", attempts, nowMs: nowMs() });
    for (const run of slow ?? []) void this.#tell(run);
  }

  /** An attempt's placement and telemetry; `null`: its workload no longer exists, or its workers are not alike. */
  async #observe(id: AttemptId, workloadId: string): Promise<ObservedAttempt | null> {
    const { driver, telemetry } = this.#options;
    const placed = await driver.read((engine) => placementOf(engine, id, workloadId as WorkloadId));
    if (placed === null) return null;
    const page = await telemetry.read({ workloadId, attemptId: id, after: 0, limit: 1, points: POINTS_READ });
    const metrics = page.items[0];
    return {
      attemptId: id,
      workloadId,
      ...placed,
      points: metrics?.progress ?? [],
      idleShare: metrics === undefined ? null : idleShareOf(metrics),
    };
  }

  /**
   * Notifies the owner at most once for each attempt, even if the attempt is found slow again while the message is
   * being sent.
   */
  async #tell(run: OwnedRun): Promise<void> {
    const { attemptId } = run;
    if (this.#telling.has(attemptId)) return;
    this.#telling.add(attemptId);
    try {
      await this.#options.tellOwner(run);
      if (!this.#isClosed) await this.#call({ kind: "told", attemptIds: [attemptId] });
    } catch (error) {
      this.#warn(error);
    } finally {
      this.#telling.delete(attemptId);
    }
  }

  /** Sends a request of the API to the thread. The number of waiting requests is limited. */
  async #ask(request: MeasuredRunRequest): Promise<MeasuredRunAnswer> {
    if (this.#isClosed) throw refuse("closing", "The control plane is closing.");
    if (this.#waitingCount >= WAITING_MAX)
      throw refuse(
        "overloaded",
        `${WAITING_MAX} questions about predictions are already waiting; try again in a moment.`,
      );
    this.#waitingCount += 1;
    try {
      return await this.#call(request);
    } finally {
      this.#waitingCount -= 1;
    }
  }

  async #call(request: MeasuredRunRequest): Promise<MeasuredRunAnswer> {
    const answer = await this.#running().call(request);
    for (const problem of answer.problems) this.#options.log.warn(problem);
    this.#correction = answer.correction;
    return answer;
  }

  /** The thread. A thread that has ended (for example out of memory) is replaced for the next request. */
  #running(): MeasuringThread {
    if (this.#thread !== null) return this.#thread;
    const data: MeasuredRunThreadData = { file: this.#options.file, windowMinMs: this.#options.rules.windowMinMs };
    const thread: MeasuringThread = new ThreadCalls(new URL("./measured-run-thread.ts", import.meta.url), data);
    this.#thread = thread;
    void thread.ended().then(() => {
      if (this.#thread === thread) this.#thread = null;
    });
    return thread;
  }

  #warn(error: unknown): void {
    if (this.#isClosed) return;
    this.#options.log.warn(`runs were not measured: ${error instanceof Error ? error.message : String(error)}`);
  }
}

type Placement = Pick<ObservedAttempt, "acceleratorType" | "acceleratorsPerWorker" | "workers" | "hasEnded">;

function placementOf({ state }: Engine, id: AttemptId, workloadId: WorkloadId): Placement | null {
  const active = state.attempts.get(id);
  const attempt = active ?? state.workloads.get(workloadId)?.endedAttempts.find((ended) => ended.id === id);
  if (attempt === undefined) return null;
  const counts = attempt.workers.map(({ accelerators }) => acceleratorCount(accelerators)).filter((count) => count > 0);
  const [acceleratorsPerWorker] = counts;
  if (acceleratorsPerWorker === undefined || counts.some((count) => count !== acceleratorsPerWorker)) return null;
  const { acceleratorType } = attempt;
  return { acceleratorType, acceleratorsPerWorker, workers: counts.length, hasEnded: active === undefined };
}

function idleShareOf({ utilization }: AttemptMetrics): number | null {
  const reports = utilization.reduce((sum, point) => sum + point.reports, 0);
  if (reports === 0) return null;
  const busy =
    utilization.reduce((sum, { busyMilli, reports: count }) => sum + (busyMilli / 1000) * count, 0) / reports;
  return Math.min(1, Math.max(0, 1 - busy));
}
