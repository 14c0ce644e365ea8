/**
 * The rule that an endpoint's own traffic chose (`policies/predictive.ts`), for endpoints whose targets are latencies: it
 * sees what gateways report. With tokens the work of a replica is measured (`measured-capacity.ts`); gateways that do not report
 * them leave the work of a request to be learnt from misses.
 */
import type { Objectives } from "../capacity.ts";
import type { EndpointSample, LatencyQuantiles } from "../contract.ts";
import { FirstReplicas } from "../policies/first-replicas.ts";
import { PredictiveScaler, type PredictedReplicas } from "../policies/predictive.ts";
import type { RuleVerdict } from "../policies/rule-choice.ts";
import { lateShare, type LoadReading, type TokenReading } from "./load-reading.ts";
import { MeasuredCapacity } from "./measured-capacity.ts";
import { readTraffic, samplesOf, TrafficLog, type SavedTraffic } from "./traffic-log.ts";
import type { Latency, Targets } from "./targets.ts";

/** Time that requests may wait where only the time per token has a target. */
const TTFT_MS = 1_000;
/** Requests of a longer time between two reports say little about the load of now. */
const SILENCE_MAX_MS = 60_000;
/** Time over which gateways take quantiles. */
const QUANTILES_S = 60;
/** Part of the allowed share that the rules may use. */
const KEPT_SHARE = 0.9;
/** A measured time of this share of the one at the beginning means that the latter contained waits. */
const MISJUDGED = 0.75;
/** Samples that are judged again in the same look, 50 ms of them: an endpoint that begins has no more. The rest has turns of `learnAgain`. */
const JUDGED_AT_ONCE = 150;
/** Without tokens every request counts as so many: their work is learnt as a multiple of it. */
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
  /** The work of a replica is measured by tokens. */
  readonly isMeasured: boolean;
  /** The number grew because requests were late, whatever the load. */
  readonly isGuess: boolean;
}

export class LearntNeed {
  #rules: Rules | null = null;
  #last: LoadReading | null = null;
  #needed: LearntReplicas | null = null;
  readonly #log = new TrafficLog();
  #coldStartMs = 0;
  #endedAtMs = 0;
  /** Whether the logged samples have tokens. */
  #isMeasured = false;
  #isAgainMeasured = false;
  #stored: unknown = null;
  #again: Generator<EndpointSample, undefined> | null = null;

  /** Samples from which a later process learns the same; `null`: there are none. */
  saved(): unknown {
    const { rows } = this.#log;
    // Before the first reading, what an earlier process stored is still all that is known.
    if (this.#rules === null || this.#stored !== null || rows.length === 0) return this.#stored;
    return this.#traffic(this.#rules);
  }

  #traffic({ key, capacity }: Rules): SavedTraffic {
    const times = this.#isMeasured ? capacity.times : { promptTokenMs: null, outputTokenMs: null };
    const [endedAtMs, coldStartMs] = [this.#endedAtMs, this.#coldStartMs];
    return { version: 1, key, endedAtMs, coldStartMs, ...times, rows: this.#log.rows };
  }

  /** Takes what `saved` gave to an earlier process. Anything else only means to learn from the beginning. */
  restore(stored: unknown): void {
    this.#stored = stored;
  }

  /** Whether all targets are latencies. */
  isFor({ ttft, tpot, concurrency, requestsPerSecond, queueTimeMs, metrics }: Targets): boolean {
    const hasOthers = concurrency !== null || requestsPerSecond !== null || queueTimeMs !== null || metrics.length > 0;
    return !hasOthers && (limitOf(ttft) !== null || limitOf(tpot) !== null);
  }

  /**
   * Replicas by the chosen rule; `null`: the requests since the last reading are unknown. For endpoints of `isFor` only. A sample
   * takes the time between two reports, so that the requests of a short silence count as those of all of it.
   */
  needed(sample: NeedSample, reading: LoadReading, targets: Targets): LearntReplicas | null {
    const [ttft, tpot] = [limitOf(targets.ttft), limitOf(targets.tpot)];
    const rules = this.#rulesOf(ttft, tpot);
    const last = this.#last;
    const { nowMs, replicas, ready, coldStartMs } = sample;
    this.#begin(rules, nowMs);
    if (last !== null && reading.atMs === last.atMs) return this.#needed;
    this.#last = reading;
    this.#needed = null;
    rules.capacity.learn(nowMs, reading);
    if (last === null || reading.arrived < last.arrived || !(reading.atMs > last.atMs)) return null;
    if (reading.atMs - last.atMs > SILENCE_MAX_MS) return null;
    const seconds = (reading.atMs - last.atMs) / 1000;
    const arrivals = reading.arrived - last.arrived;
    // Held requests arrived, and their tokens count when they are sent: until others arrive, these wait.
    if (arrivals === 0) this.#last = { ...reading, tokens: last.tokens };
    const late = Math.max(shareOf(reading.ttft, ttft), shareOf(reading.tpot, tpot));
    const known = (endedInWindow(reading) * seconds) / QUANTILES_S;
    const waiting = reading.queued + reading.held;
    const isCounted = rules.capacity.isKnown && last.tokens !== null && this.#last.tokens !== null;
    const tokens = isCounted ? tokensBetween(last.tokens, this.#last.tokens) : null;
    // A gateway started again, or began to count again.
    if (isCounted && tokens === null) return null;
    const promptTokens = tokens?.prompt ?? REQUEST_TOKENS * arrivals;
    if (arrivals > 0) rules.promptTokens += 0.05 * (promptTokens / arrivals - rules.promptTokens);
    const seen: EndpointSample = {
      nowMs,
      tickMs: 1000 * seconds,
      ready,
      starting: Math.max(0, replicas - ready),
      arrivals,
      arrivedPromptTokens: promptTokens,
      ended: tokens?.ended ?? 0,
      endedOutputTokens: tokens?.output ?? 0,
      inFlight: reading.running + reading.held,
      waiting,
      waitingPromptTokens: (tokens === null ? REQUEST_TOKENS : rules.promptTokens) * waiting,
      met: (1 - late) * known,
      missed: late * known,
      ttftMs: Number.NaN,
      coldStartMs,
    };
    if (tokens !== null && this.#again === null && rules.isMisjudged) this.#judgeAgain(rules);
    this.#logged(seen, tokens !== null);
    const { reason, chosen = null, isGuess = false, ...decision } = this.#decision(rules, seen, tokens !== null);
    this.#needed = {
      replicas: decision.replicas,
      reason,
      chosen,
      isUrgent: late > 0.5,
      isMeasured: tokens !== null,
      isGuess,
    };
    return this.#needed;
  }

  /** While earlier samples are learnt again, the number only rises, by half for late requests. */
  #decision(rules: Rules, sample: EndpointSample, isMeasured: boolean): PredictedReplicas {
    if (this.#again === null) return rules.of(isMeasured).decide(sample);
    const replicas = rules.meanwhile.replicas(sample, sample.ready + sample.starting);
    return { replicas, reason: "the traffic before the restart is learnt again", isGuess: true };
  }

  /**
   * Judges the logged samples again by the capacity that is measured now. The times of an endpoint that begins overloaded contain waits,
   * and work that is taken for several times of what it is makes every cheap rule look late for the next hours.
   */
  #judgeAgain(rules: Rules): void {
    rules.forgetMeasured();
    if (!this.#isMeasured) return;
    this.#isAgainMeasured = true;
    this.#again = samplesOf(this.#traffic(rules));
    this.learnAgain(JUDGED_AT_ONCE);
  }

  /** Samples with and without tokens do not go together. */
  #logged(sample: EndpointSample, isMeasured: boolean): void {
    if (isMeasured !== this.#isMeasured) this.#log.clear();
    this.#isMeasured = isMeasured;
    this.#coldStartMs = sample.coldStartMs;
    this.#endedAtMs = sample.nowMs;
    this.#log.add(sample);
  }

  #begin(rules: Rules, nowMs: number): void {
    if (this.#stored === null) return;
    const saved = readTraffic(this.#stored, rules.key, nowMs);
    this.#stored = null;
    if (saved === null) return;
    this.#isMeasured = saved.promptTokenMs !== null;
    this.#isAgainMeasured = this.#isMeasured;
    rules.capacity.restore(saved);
    this.#log.restore(saved.rows);
    this.#coldStartMs = saved.coldStartMs;
    this.#endedAtMs = saved.endedAtMs;
    this.#again = samplesOf(saved);
  }

  /** Whether requests were late while stored samples are still to be learnt. */
  get isUrgent(): boolean {
    return this.#again !== null && this.#needed?.isUrgent === true;
  }

  /** Learns from so many stored samples at most; returns the number of those that it learnt from. */
  learnAgain(most: number): number {
    for (let count = 0; count < most; count += 1) {
      const value = this.#again?.next().value;
      if (value === undefined || this.#rules === null) {
        this.#again = null;
        return count;
      }
      this.#rules.of(this.#isAgainMeasured).decide(value);
    }
    return most;
  }

  #rulesOf(ttft: Limit | null, tpot: Limit | null): Rules {
    const missedShare = KEPT_SHARE * Math.min(ttft?.allowedShare ?? 1, tpot?.allowedShare ?? 1);
    const objectives = { ttftMs: ttft?.limitMs ?? TTFT_MS, tpotMs: tpot?.limitMs ?? Infinity };
    const key = `${objectives.ttftMs} ${objectives.tpotMs} ${missedShare}`;
    if (this.#rules?.key === key) return this.#rules;
    this.#log.clear();
    this.#again = null;
    this.#rules = new Rules(key, objectives, missedShare);
    return this.#rules;
  }
}

/** The rules for one set of targets, each made when it is needed. */
class Rules {
  readonly key: string;
  readonly capacity: MeasuredCapacity;
  /** Running mean of the prompt tokens of a request. */
  promptTokens = REQUEST_TOKENS;
  /** Decides while earlier samples are learnt again. */
  readonly meanwhile: FirstReplicas;
  readonly #objectives: Objectives;
  readonly #missedShare: number;
  #learnt: PredictiveScaler | null = null;
  #measured: PredictiveScaler | null = null;
  /** Time of a prompt token when the rules with a capacity began. */
  #busyTokenMs = 0;

  constructor(key: string, objectives: Objectives, missedShare: number) {
    this.key = key;
    this.capacity = new MeasuredCapacity(objectives.tpotMs);
    this.#objectives = objectives;
    this.#missedShare = missedShare;
    this.meanwhile = new FirstReplicas(missedShare);
  }

  of(isMeasured: boolean): PredictiveScaler {
    return isMeasured ? this.#withCapacity() : this.#withoutCapacity();
  }

  /** For work of which nothing is known. */
  #withoutCapacity(): PredictiveScaler {
    return (this.#learnt ??= new PredictiveScaler(null, this.#objectives, { missedShare: this.#missedShare }));
  }

  /** The rules were judged by a capacity that is clearly too low, as later measurements show. */
  get isMisjudged(): boolean {
    return this.#measured !== null && this.capacity.busyTokenMs < MISJUDGED * this.#busyTokenMs;
  }

  forgetMeasured(): void {
    this.#measured = null;
  }

  #withCapacity(): PredictiveScaler {
    if (this.#measured === null) this.#busyTokenMs = this.capacity.busyTokenMs;
    return (this.#measured ??= new PredictiveScaler(this.capacity, this.#objectives, {
      missedShare: this.#missedShare,
      isMeasured: true,
    }));
  }
}

/** Tokens that came between two readings; `null`: unknown, or a count went back because a gateway started again. */
function tokensBetween(before: TokenReading | null, now: TokenReading | null): TokenReading | null {
  if (before === null || now === null) return null;
  const between = {
    ...now,
    prompt: now.prompt - before.prompt,
    output: now.output - before.output,
    ended: now.ended - before.ended,
  };
  return Math.min(between.prompt, between.output, between.ended) < 0 ? null : between;
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
