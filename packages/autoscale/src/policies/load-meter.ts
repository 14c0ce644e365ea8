/**
 * Measures traffic as the number of replicas that keep its queue short. Work of W seconds on n replicas waits at most a
 * seconds if no window of length w brings more than n × (w + a) of work, so the load is the largest work(w) ÷ (w + a)
 * over the windows that end now (the arrival curve of network calculus).
 */
import type { WorkModel } from "../capacity.ts";
import type { EndpointSample } from "../contract.ts";

const WINDOWS_S = [1, 2, 4, 8, 16] as const;
const RING_S = 16;
/** Weight of a second in the running means of the traffic. */
const TRAFFIC_WEIGHT = 1 / 60;
/** Weight of one request in the running means of lengths. */
const LENGTH_WEIGHT = 0.01;
const LENGTH_WEIGHT_MAX = 0.2;
const OUTPUT_TOKENS_FIRST = 200;

/** The part of a sample that the meter reads. */
export type MeteredTraffic = Pick<
  EndpointSample,
  "tickMs" | "arrivals" | "arrivedPromptTokens" | "ended" | "endedOutputTokens"
>;

export class LoadMeter {
  readonly #capacity: WorkModel;
  readonly #toleranceS: number;
  readonly #ring = new Float64Array(RING_S);
  #second = 0;
  #requestsPerS = 0;
  #promptTokensPerS = 0;
  #promptTokens = 0;
  #outputTokens = OUTPUT_TOKENS_FIRST;
  /** `#decodingFactor` of the traffic so far; `null`: not computed. */
  #factor: number | null = null;

  /** `toleranceS`: time in s that work may wait. */
  constructor(capacity: WorkModel, toleranceS: number) {
    this.#capacity = capacity;
    this.#toleranceS = toleranceS;
  }

  /** Work in ms of one replica for prompts of so many tokens, with the decoding that follows them. */
  workMs(promptTokens: number): number {
    if (promptTokens === 0) return 0;
    this.#factor ??= this.#decodingFactor();
    return promptTokens * this.#capacity.promptTokenMs(this.#promptTokens) * this.#factor;
  }

  /** Adds what arrived in a tick, and returns the load in replicas. */
  add(sample: MeteredTraffic): number {
    const seconds = sample.tickMs / 1000;
    this.#learn(sample, seconds);
    const workS = this.workMs(sample.arrivedPromptTokens) / 1000;
    const ticks = Math.max(1, Math.round(seconds));
    for (let tick = 0; tick < ticks; tick += 1) {
      this.#ring[this.#second % RING_S] = workS / ticks;
      this.#second += 1;
    }
    let sum = 0;
    let most = 0;
    let at = 0;
    for (const window of WINDOWS_S) {
      for (; at < window; at += 1) sum += this.#ring[(this.#second - 1 - at + 2 * RING_S) % RING_S] ?? 0;
      most = Math.max(most, sum / (window + this.#toleranceS));
    }
    return most;
  }

  #learn({ arrivals, arrivedPromptTokens, ended, endedOutputTokens }: MeteredTraffic, seconds: number): void {
    this.#factor = null;
    const share = Math.min(1, TRAFFIC_WEIGHT * seconds);
    this.#requestsPerS += share * (arrivals / seconds - this.#requestsPerS);
    this.#promptTokensPerS += share * (arrivedPromptTokens / seconds - this.#promptTokensPerS);
    if (arrivals > 0) {
      const mean = arrivedPromptTokens / arrivals;
      if (this.#promptTokens === 0) this.#promptTokens = mean;
      this.#promptTokens += Math.min(LENGTH_WEIGHT_MAX, LENGTH_WEIGHT * arrivals) * (mean - this.#promptTokens);
    }
    if (ended > 0) {
      const mean = endedOutputTokens / ended;
      this.#outputTokens += Math.min(LENGTH_WEIGHT_MAX, LENGTH_WEIGHT * ended) * (mean - this.#outputTokens);
    }
  }

  /** How much more than its prompts the traffic of the last minute needs. */
  #decodingFactor(): number {
    const promptShare = (this.#promptTokensPerS / 1000) * this.#capacity.promptTokenMs(this.#promptTokens);
    if (!(promptShare > 1e-6)) return 1;
    const filled = this.#capacity.replicasFilled({
      requestsPerS: this.#requestsPerS,
      promptTokensPerS: this.#promptTokensPerS,
      promptTokens: this.#promptTokens,
      outputTokens: this.#outputTokens,
    });
    return Math.max(1, filled / promptShare);
  }
}
