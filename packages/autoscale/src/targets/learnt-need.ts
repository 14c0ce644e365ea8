/**
 * The rule that an endpoint's own traffic chose (`policies/predictive.ts`), for endpoints whose targets are latencies: it
 * sees what gateways report, and knows neither the accelerator nor the tokens of a request.
 */
import type { LatencyQuantiles } from "../contract.ts";
import { PredictiveScaler } from "../policies/predictive.ts";
import type { RuleVerdict } from "../policies/rule-choice.ts";
import { lateShare, type LoadReading } from "./load-reading.ts";
import type { Latency, Targets } from "./targets.ts";

/** Time that requests may wait where only the time per token has a target. */
const TTFT_MS = 1_000;
/** Time over which gateways take quantiles. */
const QUANTILES_S = 60;
/** Part of the allowed share that the rules may use. */
const KEPT_SHARE = 0.9;
/** Every request counts as so many: their work is learnt as a multiple of it. */
const REQUEST_TOKENS = 1_000;

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
  #scaler: PredictiveScaler | null = null;
  #key = "";
  #last: { readonly atMs: number; readonly arrived: number } | null = null;

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
    const { arrived } = reading;
    this.#last = { atMs: nowMs, arrived };
    if (last === null || arrived < last.arrived || nowMs <= last.atMs) return null;
    const seconds = (nowMs - last.atMs) / 1000;
    const arrivals = arrived - last.arrived;
    const late = Math.max(shareOf(reading.ttft, ttft), shareOf(reading.tpot, tpot));
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
      arrivedPromptTokens: REQUEST_TOKENS * arrivals,
      ended: 0,
      endedOutputTokens: 0,
      inFlight: reading.running + reading.held,
      waiting,
      waitingPromptTokens: REQUEST_TOKENS * waiting,
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
      this.#scaler = new PredictiveScaler(null, objectives, { missedShare });
    this.#key = key;
    return this.#scaler;
  }
}

const shareOf = (latency: LatencyQuantiles | null, limit: Limit | null): number =>
  latency === null || limit === null ? 0 : lateShare(latency, limit.limitMs);

/**
 * Requests to which the quantiles apply: those that ended in their time, or that arrived where these are more. An overloaded
 * endpoint ends fewer than arrive, and gateways keep the newest figures only.
 */
function endedInWindow({ ttft, tpot, requestsPerSecond }: LoadReading): number {
  const known = Math.max(ttft?.requests ?? 0, tpot?.requests ?? 0);
  return known === 0 ? 0 : Math.max(known, requestsPerSecond * QUANTILES_S);
}
