/**
 * The rule that an endpoint's own traffic chose (`policies/predictive.ts`), for endpoints whose targets are latencies: it
 * sees what gateways report. While readings are broken, the rule by targets keeps the number.
 */
import type { ReplicaCapacity } from "../capacity.ts";
import { PredictiveScaler } from "../policies/predictive.ts";
import type { RuleVerdict } from "../policies/rule-choice.ts";
import { lateShare, type LoadReading, type Quantiles } from "./load-reading.ts";
import type { Latency, Targets } from "./targets.ts";

/** Time that requests may wait where only the time per token has a target. */
const TTFT_MS = 1_000;
/** Time over which gateways take quantiles. */
const QUANTILES_S = 60;
/** Part of the allowed share that the rules may use. */
const KEPT_SHARE = 0.9;
/** A request of which no tokens are known counts as so many; outputs, unknown at the arrival, as so many prompt tokens. */
const REQUEST_TOKENS = 1_000;
const OUTPUT_TOKENS = 200;

interface Limit {
  readonly limitMs: number;
  readonly allowedShare: number;
}

/** The limit of a target of latency: its highest quantile counts. */
function limitOf(target: Latency | null): Limit | null {
  if (target === null) return null;
  if (target.p99Ms !== null) return { limitMs: target.p99Ms, allowedShare: 0.01 };
  return target.p95Ms === null ? null : { limitMs: target.p95Ms, allowedShare: 0.05 };
}

interface NeedSample {
  readonly nowMs: number;
  readonly replicas: number;
  readonly ready: number;
  readonly coldStartMs: number;
}

export interface LearntReplicas {
  readonly replicas: number;
  /** The rule, in words. */
  readonly reason: string;
  readonly chosen: RuleVerdict | null;
  /** Most requests of the last minute exceeded a target. */
  readonly isUrgent: boolean;
}

export class LearntNeed {
  readonly #capacity: ReplicaCapacity | null;
  #scaler: PredictiveScaler | null = null;
  #key = "";
  #last: { readonly atMs: number; readonly arrived: number; readonly promptTokens: number | null } | null = null;
  /** Tokens of a request, a running mean. */
  #usualTokens = 0;

  /** `capacity`: of a replica, by a model of its accelerator; `null`: unknown. */
  constructor(capacity: ReplicaCapacity | null) {
    this.#capacity = capacity;
  }

  /** Whether all targets are latencies. */
  isFor({ ttft, tpot, concurrency, requestsPerSecond, queueTimeMs }: Targets): boolean {
    const hasOthers = concurrency !== null || requestsPerSecond !== null || queueTimeMs !== null;
    return !hasOthers && (limitOf(ttft) !== null || limitOf(tpot) !== null);
  }

  /** The time until the next reading is unknown. */
  pause(): void {
    this.#last = null;
  }

  /** Replicas by the chosen rule; `null`: the time since the last reading is unknown. For endpoints of `isFor` only. */
  needed(sample: NeedSample, reading: LoadReading, targets: Targets): LearntReplicas | null {
    const [ttft, tpot] = [limitOf(targets.ttft), limitOf(targets.tpot)];
    const scaler = this.#scalerOf(ttft, tpot);
    const last = this.#last;
    const { nowMs, replicas, ready, coldStartMs } = sample;
    const { arrived, promptTokens } = reading;
    this.#last = { atMs: nowMs, arrived, promptTokens };
    if (last === null || arrived < last.arrived || nowMs <= last.atMs) return null;
    const seconds = (nowMs - last.atMs) / 1000;
    const arrivals = arrived - last.arrived;
    const tokens = this.#tokensOf(
      arrivals,
      promptTokens === null ? null : promptTokens - (last.promptTokens ?? promptTokens),
    );
    const late = reading.lateShare ?? Math.max(shareOf(reading.ttft, ttft), shareOf(reading.tpot, tpot));
    const ended = (endedInWindow(reading) * seconds) / QUANTILES_S;
    const waiting = reading.queued + reading.held;
    const {
      reason,
      chosen = null,
      ...decision
    } = scaler.decide({
      nowMs,
      tickMs: 1000 * seconds,
      ready,
      starting: Math.max(0, replicas - ready),
      arrivals,
      arrivedPromptTokens: tokens,
      ended: 0,
      endedOutputTokens: 0,
      inFlight: reading.running + reading.held,
      waiting,
      waitingPromptTokens: waiting * this.#usualTokens,
      met: (1 - late) * ended,
      missed: late * ended,
      ttftMs: Number.NaN,
      coldStartMs,
    });
    return { replicas: decision.replicas, reason, chosen, isUrgent: late > 0.5 };
  }

  #scalerOf(ttft: Limit | null, tpot: Limit | null): PredictiveScaler {
    const missedShare = KEPT_SHARE * Math.min(ttft?.allowedShare ?? 1, tpot?.allowedShare ?? 1);
    const objectives = { ttftMs: ttft?.limitMs ?? TTFT_MS, tpotMs: tpot?.limitMs ?? Infinity };
    const key = `${objectives.ttftMs} ${objectives.tpotMs} ${missedShare}`;
    if (this.#scaler === null || key !== this.#key)
      this.#scaler = new PredictiveScaler(this.#capacity, objectives, { missedShare });
    this.#key = key;
    return this.#scaler;
  }

  #tokensOf(arrivals: number, promptTokens: number | null): number {
    if (arrivals <= 0) return 0;
    const outputs = this.#capacity === null ? OUTPUT_TOKENS * arrivals : 0;
    const tokens = promptTokens === null || promptTokens <= 0 ? REQUEST_TOKENS * arrivals : promptTokens + outputs;
    const share = this.#usualTokens === 0 ? 1 : Math.min(0.2, 0.01 * arrivals);
    this.#usualTokens += share * (tokens / arrivals - this.#usualTokens);
    return tokens;
  }
}

const shareOf = (latency: Quantiles | null, limit: Limit | null): number =>
  latency === null || limit === null ? 0 : lateShare(latency, limit.limitMs);

/**
 * Requests to which the quantiles apply: those that ended in their time, or that arrived where these are more. An overloaded
 * endpoint ends fewer than arrive, and gateways keep the newest figures only.
 */
function endedInWindow({ ttft, tpot, requestsPerSecond }: LoadReading): number {
  const known = Math.max(ttft?.requests ?? 0, tpot?.requests ?? 0);
  return known === 0 ? 0 : Math.max(known, requestsPerSecond * QUANTILES_S);
}
