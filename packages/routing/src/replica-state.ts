import { Calibration, type Exposure } from "./calibration.ts";
import type {
  BatchLimits,
  LatencyCoefficients,
  MeasuredTimes,
  ReplicaHealth,
  ReplicaMetrics,
  ReplicaSpec,
} from "./contract.ts";
import { hashText } from "./prefix-hash.ts";

/**
 * Coefficients for a replica that states none: an 8B model on one accelerator of 1 PFLOP/s and 3 TB/s, in round
 * numbers.
 */
export const defaultCoefficients: LatencyCoefficients = {
  stepMs: 8,
  stepMsPerSequence: 0.03,
  stepMsPerKvToken: 0.00005,
  prefillMsPerToken: 0.03,
  requestMs: 2,
};

/** Limits for a replica that states none: vLLM's defaults, and the KV cache of an 8B model on an 80 GB accelerator. */
export const defaultLimits: BatchLimits = {
  maxSequences: 256,
  maxBatchedTokens: 8192,
  kvCapacityTokens: 400_000,
  maxAdapters: 8,
};

/** Number of sequences in a batch for which the cost of decoding is computed. They share the fixed cost of a step. */
const REFERENCE_BATCH = 16;
/** Fewer measured durations leave the given coefficients nearly as they were. */
const MEASURED_MIN = 20;

const ROUND_TRIPS_MAX = 8;

/** Length in ms of the window in which the rates of prefill and of assigned work are measured. */
const WINDOW_MS = 60_000;

/** Mean lengths of requests. They are assumed for requests that other routers sent. */
export interface MeanLengths {
  promptTokens: number;
  outputTokens: number;
}

export class ReplicaState {
  readonly id: string;
  readonly slot: number;
  readonly idHash: number;
  spec: ReplicaSpec;
  health: ReplicaHealth = "ready";
  zone = 0;
  region = 0;
  weight = 1;
  maxSequences = 0;
  maxBatchedTokens = 0;
  kvCapacityTokens = 0;
  maxAdapters = 0;
  /**
   * Accelerator time of a prefill token according to the given coefficients. The next field is that of an output token
   * in the reference batch.
   */
  prefillWorkMs = 0;
  outputWorkMs = 0;
  /** Measured cost of a request divided by its cost according to the given coefficients. */
  slowness = 1;
  /** Network round trip in ms. Negative if it is not known. */
  roundTripMs = -1;
  readonly #roundTrips: number[] = [];
  readonly calibration: Calibration;
  /** Adapters expected to be loaded, least recently used first. */
  readonly adapters: Set<string> = new Set();

  // Number of requests on the replica. Requests of other routers are included.
  sequences = 0;
  waiting = 0;
  pendingPrefillTokens = 0;
  waitingPromptTokens = 0;
  residentTokens = 0;
  /** Number of output tokens still expected from decoding requests. The next field counts those of all requests. */
  remainingOutputTokens = 0;
  outstandingOutputTokens = 0;

  // The parts of the fields above that belong to requests of other routers.
  #foreignSequences = 0;
  #foreignWaiting = 0;
  #foreignResident = 0;
  #foreignPrompt = 0;
  #foreignRemaining = 0;
  #foreignOutput = 0;

  // Sums over time and over prefills, from which `exposure` computes the amounts behind a measured duration.
  #atMs = 0;
  sequenceTimeMs = 0;
  tokenTimeMs = 0;
  prefilledTokens = 0;

  // Two windows: the current and the previous one. They are weighted by their overlap with the last `WINDOW_MS`.
  #windowStartMs = 0;
  #readySinceMs = Infinity;
  #prefillNow = 0;
  #prefillBefore = 0;
  #workNow = 0;
  #workBefore = 0;
  prefillTokensPerMs = 0;
  /** Work in ms that was assigned within the last window. */
  recentWorkMs = 0;

  constructor(spec: ReplicaSpec, slot: number) {
    this.id = spec.id;
    this.slot = slot;
    this.idHash = hashText(spec.id);
    this.spec = spec;
    this.calibration = new Calibration(spec.latency ?? defaultCoefficients);
    this.configure(spec);
  }

  /**
   * On a busy machine a measurement can be too long but never too short, so the shortest of the last measurements
   * counts.
   */
  observeRoundTrip(roundTripMs: number): void {
    this.#roundTrips.push(roundTripMs);
    if (this.#roundTrips.length > ROUND_TRIPS_MAX) this.#roundTrips.shift();
    this.roundTripMs = Math.min(...this.#roundTrips);
  }

  configure(spec: ReplicaSpec): void {
    if (spec.latency !== this.spec.latency) this.calibration.reset(spec.latency ?? defaultCoefficients);
    this.spec = spec;
    this.weight = spec.weight ?? 1;
    const limits = spec.limits ?? {};
    this.maxSequences = limits.maxSequences ?? defaultLimits.maxSequences;
    this.maxBatchedTokens = limits.maxBatchedTokens ?? defaultLimits.maxBatchedTokens;
    this.kvCapacityTokens = limits.kvCapacityTokens ?? defaultLimits.kvCapacityTokens;
    this.maxAdapters = limits.maxAdapters ?? defaultLimits.maxAdapters;
    this.roundTripMs = spec.roundTripMs ?? -1;
    const { stepMs, stepMsPerSequence, prefillMsPerToken } = spec.latency ?? defaultCoefficients;
    // Without coefficients, replicas differ only by weight.
    const scale = spec.latency === undefined ? 1 / this.weight : 1;
    this.prefillWorkMs = scale * prefillMsPerToken;
    this.outputWorkMs = scale * (stepMs / Math.min(REFERENCE_BATCH, this.maxSequences) + stepMsPerSequence);
  }

  get requests(): number {
    return this.sequences + this.waiting;
  }

  /** Accelerator time in ms of one request. */
  requestWorkMs(uncachedTokens: number, outputTokens: number): number {
    return uncachedTokens * this.prefillWorkMs + outputTokens * this.outputWorkMs;
  }

  /**
   * Accelerator time in ms that the requests on the replica still need. It is linear in their tokens, so it states the
   * amount of work, not the time at which it ends. (The time to drain hardly grows with the batch and would attract
   * requests to full batches.) It uses the given coefficients, because small errors of measured ones would shift load
   * between equal replicas.
   */
  get workMs(): number {
    return this.requestWorkMs(this.pendingPrefillTokens, this.outstandingOutputTokens);
  }

  /** Computes `slowness` from the measured and the given coefficients, for a request of mean lengths. */
  rate(mean: MeanLengths): void {
    const givenMs = this.requestWorkMs(mean.promptTokens, mean.outputTokens);
    this.slowness = givenMs > 0 ? this.#measuredWorkMs(mean) / givenMs : 1;
  }

  /** Undefined: too few durations were measured. */
  measuredTimes(mean: MeanLengths): MeasuredTimes | undefined {
    const { stepMs, stepMsPerSequence, prefillMsPerToken, measuredCount } = this.calibration;
    if (measuredCount < MEASURED_MIN) return undefined;
    return {
      tokenMs: stepMs + stepMsPerSequence,
      promptMs: mean.promptTokens * prefillMsPerToken,
      workMs: this.#measuredWorkMs(mean),
    };
  }

  /** Accelerator time in ms of a request of mean lengths, in the reference batch. */
  #measuredWorkMs({ promptTokens, outputTokens }: MeanLengths): number {
    const { stepMs, stepMsPerSequence, prefillMsPerToken } = this.calibration;
    const outputMs = stepMs / Math.min(REFERENCE_BATCH, this.maxSequences) + stepMsPerSequence;
    return promptTokens * prefillMsPerToken + outputTokens * outputMs;
  }

  /** Advances sums and windows to `nowMs`. If the clock goes back, no time passes. */
  advance(nowMs: number): void {
    if (this.#readySinceMs === Infinity) this.#readySinceMs = nowMs;
    const elapsedMs = nowMs - this.#atMs;
    if (elapsedMs > 0) {
      this.sequenceTimeMs += elapsedMs * this.sequences;
      this.tokenTimeMs += elapsedMs * this.residentTokens;
      this.#atMs = nowMs;
    }
    const age = nowMs - this.#windowStartMs;
    if (age >= WINDOW_MS) this.#roll(nowMs, age);
    const before = 1 - Math.max(0, nowMs - this.#windowStartMs) / WINDOW_MS;
    this.prefillTokensPerMs = (this.#prefillNow + this.#prefillBefore * before) / WINDOW_MS;
    this.recentWorkMs = this.#workNow + this.#workBefore * before;
  }

  #roll(nowMs: number, age: number): void {
    const isNext = age < 2 * WINDOW_MS;
    this.#prefillBefore = isNext ? this.#prefillNow : 0;
    this.#workBefore = isNext ? this.#workNow : 0;
    this.#prefillNow = 0;
    this.#workNow = 0;
    this.#windowStartMs = isNext ? this.#windowStartMs + WINDOW_MS : nowMs;
  }

  /** Whether the replica has been ready for a whole window. */
  isSettled(nowMs: number): boolean {
    return nowMs - this.#readySinceMs >= WINDOW_MS;
  }

  /** Restarts the replica's window, because it was not ready for a time. */
  unsettle(): void {
    this.#readySinceMs = Infinity;
  }

  assign(workMs: number): void {
    this.#workNow += workMs;
    this.recentWorkMs += workMs;
  }

  prefilled(tokens: number): void {
    this.prefilledTokens += tokens;
    this.#prefillNow += tokens;
  }

  touchAdapter(adapter: string): void {
    this.adapters.delete(adapter);
    this.adapters.add(adapter);
    for (const oldest of this.adapters) {
      if (this.adapters.size <= Math.max(this.maxAdapters, 1)) break;
      this.adapters.delete(oldest);
    }
  }

  observe(metrics: ReplicaMetrics, mean: MeanLengths): void {
    const ownWaiting = this.waiting - this.#foreignWaiting;
    const own = this.sequences - this.#foreignSequences + ownWaiting;
    const waiting = count(metrics.waitingRequests);
    if (metrics.runningRequests !== undefined) {
      const foreign = Math.max(0, count(metrics.runningRequests) + waiting - own);
      const foreignWaiting = Math.min(foreign, Math.max(0, waiting - ownWaiting));
      this.#setForeign(foreign - foreignWaiting, foreignWaiting, mean);
    }
    const { limits } = this.spec;
    if (metrics.maxAdapters !== undefined && metrics.maxAdapters >= 0) {
      this.maxAdapters = limits?.maxAdapters ?? metrics.maxAdapters;
    }
    if (metrics.kvCapacityTokens !== undefined && metrics.kvCapacityTokens > 0) {
      this.kvCapacityTokens = limits?.kvCapacityTokens ?? metrics.kvCapacityTokens;
    }
    if (metrics.kvUsage !== undefined && metrics.kvUsage >= 0 && metrics.kvUsage <= 1) {
      const ownResident = this.residentTokens - this.#foreignResident;
      const foreign = Math.max(0, metrics.kvUsage * this.kvCapacityTokens - ownResident);
      this.residentTokens += foreign - this.#foreignResident;
      this.#foreignResident = foreign;
    }
    if (metrics.adapters !== undefined) {
      this.adapters.clear();
      for (const adapter of metrics.adapters.slice(0, 256)) this.adapters.add(adapter);
    }
  }

  #setForeign(sequences: number, waiting: number, mean: MeanLengths): void {
    const prompt = waiting * mean.promptTokens;
    const remaining = (sequences * mean.outputTokens) / 2;
    const output = remaining + waiting * mean.outputTokens;
    this.sequences += sequences - this.#foreignSequences;
    this.waiting += waiting - this.#foreignWaiting;
    this.pendingPrefillTokens += prompt - this.#foreignPrompt;
    this.waitingPromptTokens += prompt - this.#foreignPrompt;
    this.remainingOutputTokens += remaining - this.#foreignRemaining;
    this.outstandingOutputTokens += output - this.#foreignOutput;
    this.#foreignSequences = sequences;
    this.#foreignWaiting = waiting;
    this.#foreignPrompt = prompt;
    this.#foreignRemaining = remaining;
    this.#foreignOutput = output;
  }
}

function count(value: number | undefined): number {
  return value === undefined || !(value >= 0) ? 0 : Math.min(value, 1e6);
}

/** One request that counts as load on a replica. */
export class InFlight {
  readonly replica: ReplicaState;
  readonly startedMs: number;
  readonly promptTokens: number;
  readonly uncachedTokens: number;
  readonly expectedOutputTokens: number;
  /** Part of the time to the first token, in ms, that the engine does not cause: round trip, adapter, fixed cost. */
  readonly fixedMs: number;
  /**
   * Number of engine steps for the request's prefill and the prefill ahead of it. 0 if the request waits for a slot,
   * because its time then says nothing about the engine's speed.
   */
  readonly prefillSteps: number;
  readonly prefillTokens: number;
  phase: "waiting" | "decoding" | "ended" = "waiting";
  outputTokens = 0;
  // The replica's sums at the start of the current phase.
  phaseStartMs: number;
  sequenceTimeMs: number;
  tokenTimeMs: number;
  prefilledTokens: number;

  constructor(replica: ReplicaState, sizes: InFlightSizes, nowMs: number) {
    this.replica = replica;
    this.startedMs = nowMs;
    this.promptTokens = sizes.promptTokens;
    this.uncachedTokens = sizes.uncachedTokens;
    this.expectedOutputTokens = sizes.expectedOutputTokens;
    this.fixedMs = sizes.fixedMs;
    this.prefillTokens = replica.pendingPrefillTokens + sizes.uncachedTokens;
    const chunk = Math.max(replica.maxBatchedTokens - replica.sequences, 1);
    const queues = replica.requests + 1 > replica.maxSequences;
    this.prefillSteps = queues ? 0 : Math.max(1, this.prefillTokens / chunk) + (replica.sequences > 0 ? 0.5 : 0);
    this.phaseStartMs = nowMs;
    this.sequenceTimeMs = replica.sequenceTimeMs;
    this.tokenTimeMs = replica.tokenTimeMs;
    this.prefilledTokens = replica.prefilledTokens;
  }

  get replicaId(): string {
    return this.replica.id;
  }

  remaining(): number {
    return Math.max(0, this.expectedOutputTokens - this.outputTokens);
  }

  /**
   * Writes into `out` the amounts on which the duration of the phase depends. The phase ends at `nowMs` and had `steps`
   * steps.
   */
  exposure(nowMs: number, steps: number, out: Exposure): void {
    const { replica } = this;
    const elapsedMs = Math.max(nowMs - this.phaseStartMs, 1e-3);
    out.steps = steps;
    out.sequenceSteps = (steps * (replica.sequenceTimeMs - this.sequenceTimeMs)) / elapsedMs;
    out.tokenSteps = (steps * (replica.tokenTimeMs - this.tokenTimeMs)) / elapsedMs;
    out.prefillTokens = replica.prefilledTokens - this.prefilledTokens;
    out.fixedMs = 0;
  }

  beginPhase(nowMs: number): void {
    this.phaseStartMs = nowMs;
    this.sequenceTimeMs = this.replica.sequenceTimeMs;
    this.tokenTimeMs = this.replica.tokenTimeMs;
    this.prefilledTokens = this.replica.prefilledTokens;
  }
}

export interface InFlightSizes {
  readonly promptTokens: number;
  readonly uncachedTokens: number;
  readonly expectedOutputTokens: number;
  readonly fixedMs: number;
}
