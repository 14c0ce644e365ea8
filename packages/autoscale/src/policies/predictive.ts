/**
 * Headroom's own rule. Many simple rules are judged on the traffic so far, and the cheapest one that had at most the
 * allowed share of late requests decides (`calibrated-choice.ts`). One of them is a forecast: replicas are kept for the
 * load that is not exceeded with a wanted probability at the time when a start that begins now would be ready. Its
 * probability follows the requests that missed their objectives, by adaptive conformal inference (Gibbs and Candès,
 * 2021). It decides alone in the first quarter of an hour.
 */
import type { Objectives, ReplicaCapacity } from "../capacity.ts";
import type { Autoscaler, EndpointSample, ScaleDecision } from "../contract.ts";
import { LoadForecast, type Coverage } from "./load-forecast.ts";
import { Beginning } from "./beginning.ts";
import { LoadMeter } from "./load-meter.ts";
import { Recent } from "./recent.ts";
import { WAITED_SHARE } from "./waited-share.ts";
import { REGRET_MS, Settling } from "./settling.ts";
import { CalibratedChoice } from "./calibrated-choice.ts";

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

export class PredictiveScaler implements Autoscaler {
  readonly name: string;
  readonly #meter: LoadMeter;
  readonly #forecast = new LoadForecast();
  readonly #hourly = new Recent(HOUR_MS);
  readonly #beginning = new Beginning();
  readonly #choice: CalibratedChoice;
  #uncovered = UNCOVERED_START;
  readonly #forecastSettled = new Settling();
  readonly #settled = new Settling();
  #bin = { load: 0, workS: 0, endMs: BIN_MS };
  #coverage: Coverage = { load: 1, method: "the first minutes", isSeason: false };
  #forecastReplicas = 1;
  readonly #covered = UNCOVERED.map(() => new Settling());

  constructor(capacity: ReplicaCapacity, objectives: Objectives, name = "headroom") {
    this.#meter = new LoadMeter(capacity, (objectives.ttftMs * WAITED_SHARE) / 1000);
    this.#choice = new CalibratedChoice((objectives.ttftMs * WAITED_SHARE) / 1000, [
      "forecast",
      ...UNCOVERED.map((share) => `forecast of ${100 * (1 - share)}%`),
    ]);
    this.name = name;
  }

  decide(sample: EndpointSample): ScaleDecision {
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
    if (nowMs >= this.#bin.endMs) this.#closeBin(sample);
    const needed = (replicas: number): number => Math.ceil(Math.max(replicas, this.#backlog(sample)) - SLACK);
    const hold = {
      usualMs: Math.max(coldStartMs, HOLD_MIN_MS),
      shortMs: 2 * BIN_MS,
      isKnown: this.#coverage.isSeason,
      turnMs: 0,
    };
    const { load: covered, method } = this.#coverage;
    this.#forecastReplicas = this.#forecastSettled.settle(needed(covered), nowMs, hold);
    const beginning = this.#beginning.load(nowMs);
    const choice = this.#choice.verdict;
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
    };
  }

  /** The coverage follows the misses while the forecast decides: those of other rules say nothing about it. */
  #learn({ nowMs, met, missed }: EndpointSample): void {
    const known = met + missed;
    this.#hourly.add(nowMs, known);
    const scale = LEARNING / Math.max(REQUESTS_MIN, this.#hourly.sum);
    if (this.#choice.verdict?.isForecast === false) return;
    this.#uncovered += scale * (MISSED_SHARE * known - missed);
    this.#uncovered = Math.min(UNCOVERED_MAX, Math.max(UNCOVERED_MIN, this.#uncovered));
  }

  #closeBin({ nowMs, coldStartMs, tickMs }: EndpointSample): void {
    const ahead = Math.max(1, Math.ceil((coldStartMs + tickMs) / BIN_MS));
    const { load, workS } = this.#bin;
    this.#forecast.add(load, ahead, 1 - this.#uncovered);
    this.#coverage = this.#forecast.covering(ahead, 1 - this.#uncovered);
    const hold = {
      usualMs: Math.max(coldStartMs, HOLD_MIN_MS),
      shortMs: 2 * BIN_MS,
      isKnown: this.#coverage.isSeason,
      turnMs: 0,
    };
    const forecasts = UNCOVERED.map((share, index) => {
      const { load: covered } = this.#forecast.covering(ahead, 1 - share);
      return this.#covered[index]?.settle(Math.ceil(covered - SLACK), nowMs, hold) ?? 1;
    });
    const measured = { load, mean: workS / (BIN_MS / 1000) };
    this.#choice.closeBin(measured, [this.#forecastReplicas, ...forecasts], ahead);
    this.#choice.choose(MISSED_SHARE);
    this.#bin = { load: 0, workS: 0, endMs: this.#bin.endMs + BIN_MS };
  }

  /** Work of the traffic in times of what the capacity says, as far as misses showed. */
  get workFactor(): number {
    return this.#choice.factor;
  }

  /** Replicas that work off what waits in the time that a start takes, where that is more than they have now. */
  #backlog({ waitingPromptTokens, coldStartMs, ready }: EndpointSample): number {
    const workMs = this.#meter.workMs(waitingPromptTokens);
    return workMs > coldStartMs * ready ? ready + workMs / (coldStartMs + BIN_MS) : 0;
  }
}

function isSound(sample: EndpointSample): boolean {
  const { ttftMs: _, ...numbers } = sample;
  if (!Object.values(numbers).every((value) => Number.isFinite(value) && value >= 0)) return false;
  return sample.arrivals > 0 || sample.arrivedPromptTokens === 0;
}
