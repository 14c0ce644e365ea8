/**
 * Headroom's own rule. The traffic of each bin of 5 s becomes the number of replicas that it fills, by the capacity of a
 * replica within its objectives. Replicas are kept for the load that is not exceeded with a wanted probability at the
 * time when a start that begins now would be ready. The probability follows the requests that missed their objectives,
 * by adaptive conformal inference (Gibbs and Candès, 2021): it rises with every miss beyond the allowed share and sinks
 * while there are none, so the allowed share is what is used.
 */
import type { Objectives, ReplicaCapacity } from "../capacity.ts";
import type { Autoscaler, EndpointSample, ScaleDecision } from "../contract.ts";
import { LoadForecast } from "./load-forecast.ts";
import { Beginning } from "./beginning.ts";
import { LoadMeter } from "./load-meter.ts";
import { Recent } from "./recent.ts";

const BIN_MS = 5000;
/** Share of the objective for the first token that a request may spend waiting. */
const WAITED_SHARE = 0.85;
/** Allowed share of requests outside the objectives, a little below what is promised. */
const MISSED_SHARE = 0.009;
const UNCOVERED_START = 0.02;
const UNCOVERED_MIN = 0.0005;
const UNCOVERED_MAX = 0.6;
/** Change of the uncovered share for the misses of a whole hour's budget. */
const LEARNING = 25;
const HOUR_MS = 3_600_000;
const REQUESTS_MIN = 1000;
/** A scale-up that follows a scale-down within this time doubles the time for which replicas are held. */
const REGRET_MS = 600_000;
const HOLD_MAX_MS = 300_000;

export class PredictiveScaler implements Autoscaler {
  readonly name: string;
  readonly #meter: LoadMeter;
  readonly #forecast = new LoadForecast();
  readonly #hourly = new Recent(HOUR_MS);
  readonly #beginning = new Beginning();
  #uncovered = UNCOVERED_START;
  #bin = { load: 0, endMs: BIN_MS };
  #replicas: number | undefined;
  #neededSinceMs = 0;
  #neededMax = 0;
  #downMs = -Infinity;
  #holdMs = 0;

  constructor(capacity: ReplicaCapacity, objectives: Objectives, name = "headroom") {
    this.#meter = new LoadMeter(capacity, (objectives.ttftMs * WAITED_SHARE) / 1000);
    this.name = name;
  }

  decide(sample: EndpointSample): ScaleDecision {
    const { nowMs, ready, starting, coldStartMs, tickMs } = sample;
    this.#replicas ??= ready + starting;
    // Unknown figures change nothing: neither the number of replicas nor the knowledge so far.
    if (!isSound(sample)) return { replicas: this.#replicas, reason: "metrics are missing or contradict each other" };
    this.#learn(sample);
    this.#beginning.add(sample);
    this.#bin.load = Math.max(this.#bin.load, this.#meter.add(sample));
    const ahead = Math.max(1, Math.ceil((coldStartMs + tickMs) / BIN_MS));
    if (nowMs >= this.#bin.endMs) this.#closeBin(ahead);
    const { load: covered, method, isSeason } = this.#forecast.covering(ahead, 1 - this.#uncovered);
    const load = covered * this.#beginning.margin(nowMs);
    const backlog = this.#backlog(sample);
    const needed = Math.max(load, backlog);
    const replicas = this.#settled(Math.ceil(needed - 0.02), sample, isSeason);
    const percent = (100 * (1 - this.#uncovered)).toFixed(1);
    const reason = `${load.toFixed(2)} replicas cover the load in ${ahead * (BIN_MS / 1000)} s with ${percent}% (${method})`;
    return { replicas, reason };
  }

  #learn({ nowMs, met, missed }: EndpointSample): void {
    const known = met + missed;
    this.#hourly.add(nowMs, known);
    const scale = LEARNING / Math.max(REQUESTS_MIN, this.#hourly.sum);
    this.#uncovered += scale * (MISSED_SHARE * known - missed);
    this.#uncovered = Math.min(UNCOVERED_MAX, Math.max(UNCOVERED_MIN, this.#uncovered));
  }

  #closeBin(ahead: number): void {
    this.#forecast.add(this.#bin.load, ahead, 1 - this.#uncovered);
    this.#bin = { load: 0, endMs: this.#bin.endMs + BIN_MS };
  }

  /** Replicas that work off what waits in the time that a start takes, where that is more than they have now. */
  #backlog({ waitingPromptTokens, coldStartMs, ready }: EndpointSample): number {
    const workMs = this.#meter.workMs(waitingPromptTokens);
    return workMs > coldStartMs * ready ? ready + workMs / (coldStartMs + BIN_MS) : 0;
  }

  /** Up at once; down when fewer were enough for the whole time of the hold. */
  #settled(needed: number, { nowMs, coldStartMs }: EndpointSample, isSeason: boolean): number {
    const current = this.#replicas ?? needed;
    const holdMs = isSeason ? 2 * BIN_MS : Math.max(coldStartMs, BIN_MS * 4, this.#holdMs);
    if (needed >= current) {
      if (needed > current && nowMs - this.#downMs < REGRET_MS) this.#holdMs = Math.min(HOLD_MAX_MS, 2 * holdMs);
      this.#replicas = needed;
      this.#neededSinceMs = nowMs;
      this.#neededMax = 0;
      return needed;
    }
    this.#neededMax = Math.max(this.#neededMax, needed);
    if (nowMs - this.#neededSinceMs < holdMs) return current;
    this.#replicas = Math.max(1, this.#neededMax);
    if (this.#replicas < current) this.#downMs = nowMs;
    this.#holdMs /= 2;
    this.#neededSinceMs = nowMs;
    this.#neededMax = 0;
    return this.#replicas;
  }
}

function isSound(sample: EndpointSample): boolean {
  const { ttftMs: _, ...numbers } = sample;
  if (!Object.values(numbers).every((value) => Number.isFinite(value) && value >= 0)) return false;
  return sample.arrivals > 0 || sample.arrivedPromptTokens === 0;
}
