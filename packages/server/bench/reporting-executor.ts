/** An executor whose attempts run for hours and report their progress every two seconds, evenly spread over the time. */
import { draw, nodeId, poolName, siteName } from "@headroom/model";
import type { AttemptId, Effect } from "@headroom/model";
import type { AttemptUsage, Executor, ExecutorInput, ExecutorListener, Inventory, LogChunk } from "@headroom/executors";

const ACCELERATORS_PER_NODE = 8;
const REPORT_EVERY_MS = 2_000;
const TURN_MS = 20;
/** Number of progress reports for each report of utilization; so utilization is reported every 30 s. */
const REPORTS_PER_UTILIZATION = 15;
const STEP_MEAN_MS = 1_000;
/** Shortest run time in ms. Run times reach ten hours, and some runs come near their end within the measured hour. */
const RUN_MIN_MS = 1_800_000;
const RUN_SPREAD_MS = 34_200_000;

interface Reporter {
  readonly attemptId: AttemptId;
  readonly totalSteps: number;
  reports: number;
  /** Steps done, in thousandths of a step. */
  stepsMilli: number;
}

export class ReportingExecutor implements Executor {
  readonly id = "simulated";
  readonly kind = "simulated";
  readonly capabilities = { checkpointOnRequest: false, resize: false, replaceWorkers: false, logs: false };
  readonly #attempts: number;
  readonly #reporters: Reporter[] = [];
  #listener: ExecutorListener = () => undefined;
  #timer: NodeJS.Timeout | null = null;
  #next = 0;
  #dueReports = 0;
  #lastTurnMs = 0;
  reportCount = 0;

  readonly #acceleratorsEach: number;

  /** `acceleratorsEach`: accelerators of an attempt; there are as many nodes as hold them all. */
  constructor(attempts: number, acceleratorsEach = 1) {
    this.#attempts = attempts;
    this.#acceleratorsEach = acceleratorsEach;
  }

  get attemptIds(): readonly AttemptId[] {
    return this.#reporters.map(({ attemptId }) => attemptId);
  }

  inventory(): Promise<Inventory> {
    const site = { name: siteName("bench"), fabricLevels: [] };
    const pool = {
      name: poolName("bench"),
      site: site.name,
      executor: this.id,
      acceleratorType: "H100",
      priceMicroUsdPerHour: 0,
    } as const;
    const nodes = Array.from(
      { length: Math.ceil((this.#attempts * this.#acceleratorsEach) / ACCELERATORS_PER_NODE) },
      (_, index) => ({
        id: nodeId(`node-${index}`),
        pool: pool.name,
        fabric: [],
        acceleratorCount: ACCELERATORS_PER_NODE,
        coresMilli: 128_000,
        memoryMib: 1_048_576,
      }),
    );
    return Promise.resolve({ sites: [site], pools: [pool], nodes });
  }

  attempts(): Promise<never[]> {
    return Promise.resolve([]);
  }

  perform(effect: Effect): void {
    if (effect.kind !== "launchGang") return;
    const { attemptId } = effect;
    const runMs = RUN_MIN_MS + (draw(7, this.#reporters.length, "run") % RUN_SPREAD_MS);
    this.#reporters.push({ attemptId, totalSteps: Math.round(runMs / STEP_MEAN_MS), reports: 0, stepsMilli: 0 });
    setImmediate(() => void this.#listener({ kind: "attemptRunning", attemptId }));
  }

  watch(listener: ExecutorListener): void {
    this.#listener = listener;
  }

  begin(): void {
    this.#lastTurnMs = performance.now();
    this.#timer = setInterval(() => this.#turn(), TURN_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  async *logs(): AsyncGenerator<LogChunk> {}

  usage(): Promise<AttemptUsage | null> {
    return Promise.resolve(null);
  }

  forget(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.stop();
    return Promise.resolve();
  }

  /** Sends the reports that are due since the last turn, even if the turn is late. */
  #turn(): void {
    const nowMs = performance.now();
    this.#dueReports += ((nowMs - this.#lastTurnMs) / REPORT_EVERY_MS) * this.#reporters.length;
    this.#lastTurnMs = nowMs;
    for (; this.#dueReports >= 1; this.#dueReports--) this.#report();
  }

  #report(): void {
    const reporter = this.#reporters[this.#next++ % this.#reporters.length];
    if (reporter === undefined) return;
    const { attemptId, totalSteps } = reporter;
    reporter.reports++;
    this.reportCount++;
    // The speed of an attempt varies by 20% from report to report.
    const pace = 800 + (draw(11, reporter.reports, attemptId) % 401);
    reporter.stepsMilli += (pace * REPORT_EVERY_MS) / STEP_MEAN_MS;
    const step = Math.min(totalSteps, Math.floor(reporter.stepsMilli / 1_000));
    const metrics = { loss: 2 + 8 / (1 + (14 * step) / totalSteps), tokensPerSecond: 3 * pace };
    this.#tell({ kind: "progressReported", attemptId, step, totalSteps, metrics });
    if (reporter.reports % REPORTS_PER_UTILIZATION !== 0) return;
    const use = { accelerators: 1, busyAccelerators: 1, busyMilli: 900, peakMemoryMib: 61_440, capacityMib: 81_920 };
    this.#tell({ kind: "utilizationReported", attemptId, ...use });
  }

  #tell(input: ExecutorInput): void {
    void this.#listener(input);
  }
}
