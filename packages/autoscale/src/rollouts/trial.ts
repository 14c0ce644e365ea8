/**
 * A generated rollout, to measure the verdict: conversations whose prompts grow, replicas with prefix caches of their
 * own, a baseline whose caches are warm and a canary that starts with cold ones. Deterministic by its seed.
 */
import type { Moments, RevisionReading } from "./reading.ts";

/** A fault of the canary. */
export interface Regression {
  readonly errorRate: number;
  readonly ttft: number;
  readonly tpot: number;
}

export const noRegression: Regression = { errorRate: 0, ttft: 1, tpot: 1 };

const CONVERSATIONS = 240;
const CACHED_MAX = 120;
const BASE_ERROR_RATE = 0.002;
/** Spread of the logarithm of latencies of requests that are alike. */
const TTFT_SPREAD = 0.35;
const TPOT_SPREAD = 0.2;
const BASELINE_CACHES = 3;

class Counters implements RevisionReading {
  requests = 0;
  errors = 0;
  readonly ttft = new Map<number, Moments>();
  readonly tpot = new Map<number, Moments>();
}

export interface TrialSetting {
  readonly seed: number;
  readonly regression: Regression;
  /** Share of requests that the canary gets. */
  readonly weight: number;
  /** False: requests with warm and cold caches are compared with each other. */
  readonly isStratified: boolean;
}

/** One rollout. `play` sends requests until the canary has got so many. */
export class Trial {
  readonly canary: RevisionReading = new Counters();
  readonly baseline: RevisionReading = new Counters();
  readonly #setting: TrialSetting;
  readonly #caches: readonly Map<number, number>[] = Array.from({ length: BASELINE_CACHES + 1 }, () => new Map());
  #state: number;
  #turns = new Uint16Array(CONVERSATIONS);

  constructor(setting: TrialSetting) {
    this.#setting = setting;
    this.#state = (setting.seed * 0x9e3779b1) >>> 0;
    // Conversations are under way, and the caches of the baseline hold them.
    for (let id = 0; id < CONVERSATIONS; id++) {
      this.#turns[id] = Math.floor(this.#uniform() * 8);
      this.#caches[1 + (id % BASELINE_CACHES)]?.set(id, promptOf(this.#turns[id]!));
    }
  }

  play(canaryRequests: number): void {
    while (this.canary.requests < canaryRequests) this.#request();
  }

  #request(): void {
    const id = Math.floor(this.#uniform() * CONVERSATIONS);
    // A session stays with its revision, as in the gateway.
    const isCanary = id < this.#setting.weight * CONVERSATIONS;
    const turn = this.#turns[id]!;
    this.#turns[id] = turn >= 12 ? 0 : turn + 1;
    const prompt = promptOf(turn);
    const cache = this.#caches[isCanary ? 0 : 1 + (id % BASELINE_CACHES)]!;
    const uncached = Math.max(16, prompt - Math.min(turn === 0 ? 0 : (cache.get(id) ?? 0), prompt));
    cache.delete(id);
    cache.set(id, prompt);
    if (cache.size > CACHED_MAX) for (const oldest of cache.keys()) if (cache.delete(oldest)) break;
    this.#observe(isCanary, uncached);
  }

  #observe(isCanary: boolean, uncached: number): void {
    const { regression, isStratified } = this.#setting;
    const counters = (isCanary ? this.canary : this.baseline) as Counters;
    const worse = isCanary ? regression : noRegression;
    counters.requests++;
    const errorRate = Math.max(BASE_ERROR_RATE, worse.errorRate);
    if (this.#uniform() < errorRate) return void counters.errors++;
    const ttft = Math.log((15 + uncached * 0.08) * worse.ttft) + TTFT_SPREAD * this.#normal();
    const tpot = Math.log(18 * worse.tpot) + TPOT_SPREAD * this.#normal();
    add(counters.ttft, isStratified ? Math.floor(2 * Math.log2(uncached)) : 0, ttft);
    add(counters.tpot, 0, tpot);
  }

  /** mulberry32. */
  #uniform(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.#uniform())) * Math.cos(2 * Math.PI * this.#uniform());
  }
}

const promptOf = (turn: number): number => 200 + turn * 350;

function add(strata: Map<number, Moments>, key: number, value: number): void {
  const { count, sum, sumOfSquares } = strata.get(key) ?? { count: 0, sum: 0, sumOfSquares: 0 };
  strata.set(key, { count: count + 1, sum: sum + value, sumOfSquares: sumOfSquares + value * value });
}
