/**
 * Accuracy of start estimates. A trace is run, every waiting job gets an estimate at its submission from the state of
 * that moment alone, and the estimate is compared with the real start. No walltimes are given, because the true run
 * time is the only walltime a trace has; so run times are known only for ended work.
 */
import type { Engine } from "@headroom/engine";
import type { Policy } from "@headroom/model";
import { topologyFreePool } from "../run/fleet-spec.ts";
import type { Simulation } from "../run/simulation.ts";
import type { TraceJob } from "../trace/trace.ts";
import { RangeCalibration, type WaitRange } from "./calibration.ts";
import { estimateStarts, usualEstimateOptions } from "./estimate-starts.ts";
import { PastWaits, pinballLoss, type WaitQuantiles } from "./past-waits.ts";
import { traceStarts, type StartLedger } from "./trace-starts.ts";

export interface StartValidationOptions {
  /** Jobs in the order of submission; jobs larger than the pool are left out. */
  readonly jobs: readonly TraceJob[];
  readonly accelerators: number;
  readonly policy: Policy;
  readonly seed: number;
  /**
   * Number of workloads to simulate for one estimate of the whole queue, counted over all scenarios; see
   * `EstimateOptions.effort`.
   */
  readonly effort: number;
}

/** Times are in seconds. Shares refer to the jobs that waited longer than `waited_longer_than_s`. */
export interface StartValidationResult {
  readonly policy: string;
  readonly accelerators: number;
  readonly jobs: number;
  readonly started_at_once: number;
  readonly waited_longer_than_s: number;
  readonly waited: number;
  /**
   * Share of real starts within the range from the 10% to the 90% quantile; the following fields hold the shares before
   * and after the range.
   */
  readonly within_share: number;
  readonly earlier_share: number;
  readonly later_share: number;
  /** Share of real starts within the uncalibrated ranges. */
  readonly uncalibrated_within_share: number;
  /** Share of starts before the median; one half is ideal. */
  readonly before_median_share: number;
  /** Sum of the mean pinball losses at 10% and at 90%. */
  readonly pinball_s: number;
  readonly past_waits_pinball_s: number;
  readonly pinball_ratio: number;
  readonly mean_wait_s: number;
  readonly mean_range_s: number;
}

/** Wait in ms below which a start counts as immediate. */
const longWaitMs = 60_000;

interface EstimatedRange {
  readonly raw: WaitRange;
  readonly range: WaitRange;
  readonly pastWaits: WaitQuantiles;
}

/** One validation: call `advance` until it returns false, then read `result`. */
export class StartValidation {
  readonly #options: StartValidationOptions;
  readonly #ledger: StartLedger;
  readonly #simulation: Simulation<StartLedger>;
  readonly #calibration = new RangeCalibration();
  readonly #pastWaits = new PastWaits();
  readonly #ranges = new Map<number, EstimatedRange>();
  /** Jobs started at the current instant. For work submitted at the same instant they do not count as past. */
  #startedNow: number[] = [];
  #nowMs = 0;

  constructor(options: StartValidationOptions) {
    this.#options = options;
    const jobs = options.jobs.filter(({ accelerators }) => accelerators <= options.accelerators);
    this.#simulation = traceStarts({ jobs, fleet: topologyFreePool(options.accelerators), policy: options.policy });
    this.#ledger = this.#simulation.observer;
  }

  get progress(): number {
    return this.#simulation.scriptedCount / this.#ledger.jobs.length;
  }

  /** Runs one round of the trace. False: the trace is finished. */
  advance(): boolean {
    if (!this.#simulation.step()) return false;
    const { nowMs, engine } = this.#simulation;
    const { submitted, started, jobs, startedAtMs, idOf } = this.#ledger;
    this.#ledger.submitted = [];
    this.#ledger.started = [];
    if (nowMs > this.#nowMs) {
      for (const job of this.#startedNow)
        this.#pastWaits.started(jobs[job]!.accelerators, startedAtMs[job]! - jobs[job]!.submittedAtMs);
      this.#startedNow = [];
      this.#nowMs = nowMs;
    }
    this.#startedNow.push(...started);
    for (const job of started) this.#calibration.started(idOf[job]!, nowMs);
    this.#calibration.passed(nowMs);
    this.#estimate(
      engine,
      submitted.filter((job) => startedAtMs[job]! < 0),
    );
    return true;
  }

  #estimate(engine: Engine, jobs: readonly number[]): void {
    if (jobs.length === 0) return;
    const nowMs = this.#nowMs;
    const { seed, effort } = this.#options;
    const estimates = estimateStarts(engine, { ...usualEstimateOptions, nowMs, seed, effort, calibration: null });
    const byId = new Map(estimates.map((estimate) => [estimate.workloadId, estimate]));
    const wait = (atMs: number | null): number => (atMs === null ? Number.POSITIVE_INFINITY : atMs - nowMs);
    for (const job of jobs) {
      const id = this.#ledger.idOf[job]!;
      const { p10AtMs, p50AtMs, p90AtMs } = byId.get(id)!;
      const raw = { p10Ms: wait(p10AtMs), p50Ms: wait(p50AtMs), p90Ms: wait(p90AtMs) };
      const range = this.#calibration.range(raw);
      this.#calibration.recordRange(id, nowMs, range);
      this.#ranges.set(job, { raw, range, pastWaits: this.#pastWaits.quantiles(this.#ledger.jobs[job]!.accelerators) });
    }
  }

  result(): StartValidationResult {
    const { policy, accelerators } = this.#options;
    const { jobs, startedAtMs } = this.#ledger;
    const waits = jobs.map(({ submittedAtMs }, job) => startedAtMs[job]! - submittedAtMs);
    const late = [...this.#ranges].filter(([job]) => waits[job]! > longWaitMs);
    const mean = (of: (estimate: EstimatedRange, waitMs: number) => number): number =>
      late.reduce((sum, [job, estimate]) => sum + of(estimate, waits[job]!), 0) / Math.max(1, late.length);
    const share = (of: (estimate: EstimatedRange, waitMs: number) => boolean): number =>
      rounded(
        mean((estimate, waitMs) => (of(estimate, waitMs) ? 1 : 0)),
        4,
      );
    const isWithin = ({ p10Ms, p90Ms }: WaitRange, waitMs: number): boolean => waitMs >= p10Ms && waitMs <= p90Ms;
    const loss = ({ p10Ms, p90Ms }: WaitQuantiles, waitMs: number): number =>
      (pinballLoss(0.1, p10Ms, waitMs) + pinballLoss(0.9, p90Ms, waitMs)) / 1000;
    const pinball = mean(({ range }, waitMs) => loss(range, waitMs));
    const pastWaitsPinball = mean(({ pastWaits }, waitMs) => loss(pastWaits, waitMs));
    return {
      policy: policy.name,
      accelerators,
      jobs: jobs.length,
      started_at_once: jobs.length - this.#ranges.size,
      waited_longer_than_s: longWaitMs / 1000,
      waited: late.length,
      within_share: share(({ range }, waitMs) => isWithin(range, waitMs)),
      earlier_share: share(({ range }, waitMs) => waitMs < range.p10Ms),
      later_share: share(({ range }, waitMs) => waitMs > range.p90Ms),
      uncalibrated_within_share: share(({ raw }, waitMs) => isWithin(raw, waitMs)),
      before_median_share: share(({ range }, waitMs) => waitMs < range.p50Ms),
      pinball_s: rounded(pinball, 1),
      past_waits_pinball_s: rounded(pastWaitsPinball, 1),
      pinball_ratio: rounded(pinball / pastWaitsPinball, 4),
      mean_wait_s: rounded(mean((_, waitMs) => waitMs) / 1000, 1),
      mean_range_s: rounded(mean(({ range }) => range.p90Ms - range.p10Ms) / 1000, 1),
    };
  }
}

function rounded(value: number, decimals: number): number {
  const factor = decimals === 1 ? 10 : 10_000;
  return Math.round(value * factor) / factor;
}
