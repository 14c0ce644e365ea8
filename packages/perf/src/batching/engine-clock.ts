import { BatchingKernel } from "./kernel.ts";
import type { Step } from "./kernel.ts";
import type { BatchingLimits } from "./limits.ts";
import type { BatchedRequest } from "./requests.ts";
import { stepMs } from "./step-costs.ts";
import type { StepCosts } from "./step-costs.ts";

/** Receives events of requests while an engine advances. Times are in ms on the engine's clock and never decrease. */
export interface BatchingObserver {
  /** Reports that the first step with tokens of the request was scheduled. */
  started(id: number, atMs: number): void;
  firstToken(id: number, atMs: number): void;
  finished(id: number, atMs: number): void;
}

export interface TimedEngineOptions {
  readonly limits: BatchingLimits;
  readonly costs: StepCosts;
  /** Number of tokens of a prefix page. The default is the number of tokens of a block. */
  readonly pageTokens?: number;
  /**
   * If true, the next step is scheduled while one runs, as vLLM does since 0.14 and SGLang with its overlap scheduler.
   */
  readonly isScheduledAhead: boolean;
}

/**
 * A batching kernel with a clock. Each step takes the time that `costs` gives, and steps follow one another while there
 * is work.
 */
export class TimedEngine {
  readonly kernel: BatchingKernel;
  readonly #costs: StepCosts;
  readonly #isScheduledAhead: boolean;
  #running: Step | undefined;
  #ahead: Step | undefined;
  /** Time in ms at which the running step ends. If the engine is idle: the time at which new work can start. */
  #atMs = 0;
  #busyMs = 0;

  constructor(options: TimedEngineOptions) {
    this.kernel = new BatchingKernel(options.limits, options.pageTokens);
    this.#costs = options.costs;
    this.#isScheduledAhead = options.isScheduledAhead;
  }

  /** Total time of all steps so far in ms. A running step counts in full from its start. */
  get busyMs(): number {
    return this.#busyMs;
  }

  get isIdle(): boolean {
    return this.#running === undefined && this.kernel.isIdle;
  }

  /** Time of the engine's next event in ms; infinite if it is idle. */
  get nextMs(): number {
    return this.isIdle ? Infinity : this.#atMs;
  }

  /**
   * Queues a request at the time `nowMs`. The engine must have been advanced to this time. Throws RangeError if the
   * request can never run.
   */
  add(request: BatchedRequest, nowMs: number): void {
    if (this.isIdle) this.#atMs = Math.max(this.#atMs, nowMs);
    this.kernel.add(request);
  }

  /** Runs all events before `untilMs`. Events at exactly that time wait for arrivals at the same time. */
  advanceTo(untilMs: number, observer: BatchingObserver): void {
    while (this.#atMs < untilMs && !this.isIdle) {
      this.#coast(untilMs);
      if (this.#atMs < untilMs) this.advance(observer);
    }
  }

  /** Runs the next steps, as long as no sequence begins or ends in them. */
  #coast(untilMs: number): void {
    const last = this.#isScheduledAhead ? this.#ahead : this.#running;
    if (last === undefined || this.#running === undefined || !isPlain(last) || !isPlain(this.#running)) return;
    const aheadMs = stepMs(this.#costs, last.load);
    const clock = { atMs: this.#atMs, aheadMs, busyMs: this.#busyMs, isAhead: this.#isScheduledAhead };
    this.kernel.coast(last, clock, untilMs, this.#costs);
    this.#atMs = clock.atMs;
    this.#busyMs = clock.busyMs;
  }

  /** Runs the next event: the end of a step and the start of the next one. The engine must not be idle. */
  advance(observer: BatchingObserver): void {
    if (this.#running === undefined) this.#begin(this.#schedule(observer), observer);
    else this.#end(this.#running, observer);
  }

  #schedule(observer: BatchingObserver): Step | undefined {
    const step = this.kernel.schedule();
    if (step !== undefined) for (const id of step.started) observer.started(id, this.#atMs);
    return step;
  }

  #begin(step: Step | undefined, observer: BatchingObserver): void {
    this.#running = step;
    if (step === undefined) return;
    if (this.#isScheduledAhead) this.#ahead = this.#schedule(observer);
    const takesMs = stepMs(this.#costs, step.load);
    this.#atMs += takesMs;
    this.#busyMs += takesMs;
  }

  #end(step: Step, observer: BatchingObserver): void {
    for (const id of step.firsts) observer.firstToken(id, this.#atMs);
    for (const id of step.finished) observer.finished(id, this.#atMs);
    this.kernel.complete(step);
    const next = this.#ahead;
    this.#ahead = undefined;
    this.#begin(next ?? this.#schedule(observer), observer);
  }
}

/** Whether the step only advances decoding sequences, with no prompt and no sequence that starts or ends. */
function isPlain({ load, firsts, finished }: Step): boolean {
  return load.promptTokens === 0 && firsts.length === 0 && finished.length === 0;
}
