/**
 * Headroom's own rule. Many simple rules are judged on the traffic so far, and the cheapest one that had at most the
 * allowed share of late requests decides (`calibrated-choice.ts`). One of them is a forecast: replicas are kept for the
 * load that is not exceeded with a wanted probability at the time when a start that begins now would be ready. Its
 * probability follows the requests that missed their objectives, by adaptive conformal inference (Gibbs and Candès,
 * 2021). It decides alone in the first quarter of an hour.
 */
import { nominalWork, type Objectives, type WorkModel } from "../capacity.ts";
import type { Autoscaler, EndpointSample, ScaleDecision } from "../contract.ts";
import { LoadForecast, type Coverage } from "./load-forecast.ts";
import { Beginning } from "./beginning.ts";
import { LoadMeter } from "./load-meter.ts";
import { Recent } from "./recent.ts";
import { WAITED_SHARE } from "./waited-share.ts";
import { REGRET_MS, Settling } from "./settling.ts";
import { CalibratedChoice, MEASURED_WORK, MODELLED_WORK, UNKNOWN_WORK } from "./calibrated-choice.ts";
import { FirstReplicas } from "./first-replicas.ts";
import type { RuleVerdict } from "./rule-choice.ts";

const BIN_MS = 5000;
/** Allowed share of requests outside the objectives, a little below what is promised. */
const MISSED_SHARE = 0.009;
const UNCOVERED_START = 0.02;
/** Shares of the forecasts that are judged beside it. */
const UNCOVERED = [0.2, 0.1, 0.05, 0.02, 0.01, 0.003] as const;
const UNCOVERED_MIN = 0.0005;
const UNCOVERED_MAX = 0.6;
/** Change of the uncovered share for the misses of a whole hour's budget. */
const LEARNING = 25;
const HOUR_MS = 3_600_000;
const REQUESTS_MIN = 1000;
/** Less than this part of a replica starts no further one. */
const SLACK = 0.02;
/** The shortest time for which replicas are held. */
const HOLD_MIN_MS = 20_000;
/** Longest start in bins that forecasts and shadows know: ten minutes. Their memory grows with it. */
const AHEAD_MAX = 120;
/** Bins for which a forecast is held where the load follows a pattern. */
const SEASON_HOLD_BINS = 2;

/** A number of replicas, and the rule that decides it. */
export interface PredictedReplicas extends ScaleDecision {
  /** The rule that the traffic chose, with the late requests that it would have had; absent: too little is known. */
  readonly chosen?: RuleVerdict;
  /** The number grew because requests were late, whatever the load. */
  readonly isGuess?: boolean;
}

interface PredictiveSettings {
  readonly name?: string;
  /** Allowed share of requests outside the objectives. */
  readonly missedShare?: number;
  /** The capacity comes from latencies of the endpoint (`targets/measured-capacity.ts`), not from a model. */
  readonly isMeasured?: boolean;
}

export class PredictiveScaler implements Autoscaler {
  readonly name: string;
  readonly #isModelled: boolean;
  /** A model of the accelerator, which counts as it is for forecasts. */
  readonly #isExact: boolean;
  readonly #missedShare: number;
  readonly #first: FirstReplicas;
  readonly #meter: LoadMeter;
  readonly #forecast = new LoadForecast();
  readonly #hourly = new Recent(HOUR_MS);
  readonly #beginning = new Beginning();
  readonly #choice: CalibratedChoice;
  #uncovered = UNCOVERED_START;
  readonly #forecastSettled = new Settling();
  readonly #settled = new Settling();
  #bin = { load: 0, workS: 0, seconds: 0, endMs: Number.NaN };
  #coverage: Coverage = { load: 1, method: "the first minutes", isSeason: false };
  #forecastReplicas = 1;
  /** The last forecasts of each coverage. */
  readonly #held: number[][] = [];

  /** `capacity`: of a replica by a model of its accelerator; `null`: the misses of the endpoint tell it. */
  constructor(
    capacity: WorkModel | null,
    { ttftMs }: Objectives,
    { name = "headroom", missedShare = MISSED_SHARE, isMeasured = false }: PredictiveSettings = {},
  ) {
    const toleranceS = (ttftMs * WAITED_SHARE) / 1000;
    this.#isModelled = capacity !== null;
    this.#isExact = capacity !== null && !isMeasured;
    this.#missedShare = missedShare;
    this.#first = new FirstReplicas(missedShare);
    this.#meter = new LoadMeter(capacity ?? nominalWork, toleranceS);
    const forecasts = ["the forecast", ...UNCOVERED.map((share) => `the forecast of ${100 * (1 - share)}%`)];
    const work = capacity === null ? UNKNOWN_WORK : isMeasured ? MEASURED_WORK : MODELLED_WORK;
    this.#choice = new CalibratedChoice(toleranceS, forecasts, work);
    this.name = name;
  }

  decide(sample: EndpointSample): PredictedReplicas {
    const { nowMs, ready, starting, coldStartMs, tickMs } = sample;
    const current = this.#settled.current(ready + starting);
    this.#forecastSettled.current(current);
    // Unknown figures change nothing: neither the number of replicas nor the knowledge so far.
    if (!isSound(sample)) return { replicas: current, reason: "metrics are missing or contradict each other" };
    this.#learn(sample);
    const load = this.#meter.add(sample);
    this.#beginning.add(sample, load);
    this.#bin.load = Math.max(this.#bin.load, load);
    const workS = this.#meter.workMs(sample.arrivedPromptTokens) / 1000;
    this.#bin.workS += workS;
    this.#choice.serve(workS, { arrivals: sample.arrivals, seconds: tickMs / 1000, ready, missed: sample.missed });
    this.#bin.seconds += tickMs / 1000;
    if (nowMs >= this.#bin.endMs) this.#closeBin(sample);
    this.#setBin(nowMs);
    const needed = (replicas: number): number => Math.ceil(Math.max(replicas, this.#backlog(sample)) - SLACK);
    const hold = {
      usualMs: Math.max(coldStartMs, HOLD_MIN_MS),
      shortMs: 2 * BIN_MS,
      isKnown: this.#coverage.isSeason,
      turnMs: 0,
    };
    const choice = this.#choice.verdict;
    if (choice === undefined && !this.#isModelled) return this.#firstReplicas(sample, current);
    const covered = this.#coverage.load * this.#workFactor;
    const { method } = this.#coverage;
    this.#forecastReplicas = this.#forecastSettled.settle(needed(covered), nowMs, hold);
    if (choice === undefined && !this.#isExact) {
      // Until misses tell more about the work, too many of them count for themselves.
      const least = this.#first.replicas(sample, current);
      if (least > current)
        return {
          replicas: this.#settled.follow(Math.max(least, needed(covered)), nowMs),
          isGuess: true,
          reason: "too many requests are late",
        };
    }
    const beginning = this.#isModelled ? this.#beginning.load(nowMs) : 0;
    if (beginning > 0) {
      return {
        replicas: this.#settled.settle(needed(Math.max(beginning, covered)), nowMs, { ...hold, isKnown: false }),
        reason: `${beginning.toFixed(2)} replicas for bursts of which few were seen`,
      };
    }
    if (choice === undefined || choice.isForecast) {
      const percent = (100 * (1 - this.#uncovered)).toFixed(1);
      return {
        replicas: this.#settled.follow(this.#forecastReplicas, nowMs),
        reason: `${covered.toFixed(2)} replicas cover the load after a start with ${percent}% (${method})`,
        ...(choice === undefined ? {} : { chosen: choice }),
      };
    }
    const replicas = this.#settled.settle(needed(choice.replicas), nowMs, {
      ...hold,
      isKnown: false,
      turnMs: REGRET_MS,
    });
    const late = (100 * choice.lateShare).toFixed(2);
    return {
      replicas,
      reason: `${choice.rule}: the cheapest rule that had at most the allowed late requests (${late}%)`,
      chosen: choice,
    };
  }

  /** A model counts as it is for forecasts; work of which nothing was known counts as the misses told. */
  get #workFactor(): number {
    return this.#isExact ? 1 : this.#choice.factor;
  }

  /** Nothing is known of the work of a request: the number grows while too many miss their objectives. */
  #firstReplicas(sample: EndpointSample, current: number): PredictedReplicas {
    const replicas = this.#first.replicas(sample, current);
    return {
      replicas: this.#settled.follow(replicas, sample.nowMs),
      reason: "the work of a request is not known yet, so the number grows while requests are late",
    };
  }

  /** The coverage follows the misses while the forecast decides: those of other rules say nothing about it. */
  #learn({ nowMs, met, missed }: EndpointSample): void {
    const known = met + missed;
    this.#hourly.add(nowMs, known);
    const scale = LEARNING / Math.max(REQUESTS_MIN, this.#hourly.sum);
    if (this.#choice.verdict?.isForecast === false) return;
    this.#uncovered += scale * (this.#missedShare * known - missed);
    this.#uncovered = Math.min(UNCOVERED_MAX, Math.max(UNCOVERED_MIN, this.#uncovered));
  }

  /** The first bin begins with the first sample; after a gap, or where the clock was set back, the present bin begins again. */
  #setBin(nowMs: number): void {
    const { endMs } = this.#bin;
    if (!(nowMs > endMs - 2 * BIN_MS && nowMs < endMs + BIN_MS)) this.#bin.endMs = nowMs + BIN_MS;
  }

  #closeBin({ coldStartMs, tickMs }: EndpointSample): void {
    const ahead = Math.min(AHEAD_MAX, Math.max(1, Math.ceil((coldStartMs + tickMs) / BIN_MS)));
    const { load, workS, seconds } = this.#bin;
    this.#forecast.add(load, ahead, 1 - this.#uncovered);
    this.#coverage = this.#forecast.covering(ahead, 1 - this.#uncovered);
    const covered = [this.#coverage, ...UNCOVERED.map((share) => this.#forecast.covering(ahead, 1 - share))];
    const forecasts = covered.map(({ load: forecast }, index) => this.#heldForecast(index, forecast, ahead));
    this.#choice.closeBin({ load, mean: workS / Math.max(BIN_MS / 1000, seconds) }, forecasts, ahead);
    this.#choice.choose(this.#missedShare);
    this.#bin = { load: 0, workS: 0, seconds: 0, endMs: this.#bin.endMs + BIN_MS };
  }

  /** A replica that is given up takes a start to come back, so forecasts are held for one, except where a pattern is known. */
  #heldForecast(index: number, forecast: number, ahead: number): number {
    const held = (this.#held[index] ??= []);
    held.push(forecast);
    held.splice(0, Math.max(0, held.length - (this.#coverage.isSeason ? SEASON_HOLD_BINS : ahead + 1)));
    return Math.max(...held);
  }

  /** Work of the traffic in times of what the capacity says, as far as misses showed. */
  get workFactor(): number {
    return this.#choice.factor;
  }

  /** Replicas that work off what waits in the time that a start takes, where that is more than they have now. */
  #backlog({ waitingPromptTokens, coldStartMs, ready }: EndpointSample): number {
    const workMs = this.#meter.workMs(waitingPromptTokens) * this.#workFactor;
    return workMs > coldStartMs * ready ? ready + workMs / (coldStartMs + BIN_MS) : 0;
  }
}

function isSound(sample: EndpointSample): boolean {
  const { ttftMs: _, latencies: __, ...numbers } = sample;
  if (!Object.values(numbers).every((value) => Number.isFinite(value) && value >= 0)) return false;
  return sample.arrivals > 0 || sample.arrivedPromptTokens === 0;
}
