/**
 * The rule of the control plane: replicas by targets that an operator states, from readings that gateways report. It needs
 * no model of the accelerator. Up at once, down when fewer were enough for `downAfterMs`. Readings that are missing, late
 * or contradict each other keep the number. Decisions depend on the samples alone, in their order.
 */
import { bounded, type ReplicaBounds } from "../contract.ts";
import { LatencyLimit } from "./latency-limit.ts";
import { LearntNeed, type LearntReplicas } from "./learnt-need.ts";
import { isSound, type LoadReading } from "./load-reading.ts";
import { LoadTrend } from "./load-trend.ts";
import { RateRise } from "./rate-rise.ts";
import { TurnGuard } from "./turn-guard.ts";
import { MetricNeeds, type MetricNeedsFound } from "./metric-needs.ts";
import type { MetricReading } from "./metric-reading.ts";
import { followsMetricsAlone, type Latency, type Targets } from "./targets.ts";

export type ScaleCause =
  | "concurrency"
  | "requestsPerSecond"
  | "queueTime"
  | "ttft"
  | "tpot"
  | "held"
  | "idle"
  | "metric";

/** The load that decides, in units of its cause: requests, requests/s, ms. */
export interface Need {
  readonly cause: ScaleCause;
  /** Name of the value, with the cause `metric`. */
  readonly metric?: string;
  readonly measured: number;
  readonly target: number;
  /** Replicas, a real number. */
  readonly replicas: number;
  readonly aheadMs: number;
  /** The rule that the endpoint's own traffic chose; absent: targets alone decide. */
  readonly learnt?: LearntReplicas;
}

export interface TargetSample {
  readonly nowMs: number;
  /** Replicas that the endpoint should have, and those that take requests. */
  readonly replicas: number;
  readonly ready: number;
  /** Time of the last change of the number, whoever made it. */
  readonly changedAtMs: number;
  /** Time that the endpoint's own starts took. */
  readonly coldStartMs: number;
  readonly bounds: ReplicaBounds;
  /** `null`: no gateway reported lately. */
  readonly reading: LoadReading | null;
  /** Whether a gateway that reported before is silent. */
  readonly isPartial: boolean;
  /** The newest values of metric sources about the endpoint; absent: none. */
  readonly metrics?: readonly MetricReading[];
}

export type KeepReason = "enough" | "silent" | "unsound" | "partial" | "holding" | "max" | "metric";

export interface TargetDecision {
  readonly replicas: number;
  /** The load that decides; `null`: nothing is known of it. */
  readonly need: Need | null;
  /** Why the number stays, or is smaller than the load needs. `null`: it changes as the load needs. */
  readonly kept: KeepReason | null;
}

/** Less than this part of a replica starts no further one. */
const SLACK = 0.05;
/** Replicas are given up if the load still leaves this share of the rest free, so that noise does not bring them back. */
const MARGIN = 1.1;
/** Time between two reversals of the direction, in times of `downAfterMs`: ten minutes with the default of five. */
const REVERSAL = 2;
/** A rise by this factor, and this part of a replica, above the highest need before replicas were given up is no noise. */
const RISE = 1.3;
const RISE_REPLICAS = 0.5;
const SUSTAINED_MS = 120_000;
const CLEAR_RISE = 3;
/** Replicas that were too few are tried again after this time, or when the load is lower by this factor. */
const TOO_FEW_MS = 3_600_000;
const LOWER = 1.15;
/** Part of the replicas that at least stay when some are given up under a target of queue time. */
const QUEUE_STEP = 0.75;
const COLD_START_HOLD_MAX_MS = 600_000;
/** Windows of the load: for itself, and for the latencies of the last minute. */
const LOAD_MS = 15_000;
const LATENCY_MS = 60_000;
/** The longest time between two samples: after a longer one, what was known is forgotten. Ticks are late at times. */
const GAP_MS = 30_000;
/**
 * Every running gateway reports within this time. Before that, a gateway without requests may be the first of several
 * that report after a restart of the control plane.
 */
const HEARD_MS = 20_000;

/**
 * In this time after a start, the chosen rule is one of few minutes, whose beginning counts too much: it adds no more than this factor
 * times the replicas that the load needs by what one replica was seen to serve well.
 */
const BEGINNING_MS = 3_600_000;
const BEGINNING_FACTOR = 1.5;

export class TargetScaler {
  readonly #concurrency = new LoadTrend(LOAD_MS, 1);
  readonly #rate = new LoadTrend(LOAD_MS, LOAD_MS / 1000);
  readonly #minute = new LoadTrend(LATENCY_MS, LATENCY_MS / 1000);
  readonly #limit = new LatencyLimit();
  readonly #metrics = new MetricNeeds();
  /** The need of each sample, the oldest first. */
  #window: { readonly atMs: number; readonly need: number }[] = [];
  #lastAtMs = -Infinity;
  /** Since when readings came without a gap. */
  #heardSinceMs: number | null = null;
  /** The last change: 1 up, -1 down, 0 none yet; when the direction last turned, and the highest need before it fell. */
  #direction = 0;
  #turnedAtMs = -Infinity;
  #peak = 0;
  /** The replicas that were too few last, and the highest need before that for which they seemed to be enough. */
  #tooFew = { replicas: 0, need: 0, untilMs: -Infinity };
  /** Replicas before they were given up. */
  #fellFrom = 0;
  readonly #learnt = new LearntNeed();
  readonly #turns = new TurnGuard();
  readonly #arrivals = new RateRise();
  /** The number that the learnt rule decided last, and when somebody else changed it. */
  #decided: number | null = null;
  #byHandAtMs = -Infinity;
  #beganAtMs: number | null = null;
  /** Requests per second over a minute that one replica was seen to serve within the targets. */
  #servedPerReplica = 0;

  /** Returns what was learnt, for `restore` of a later process; `null`: nothing. */
  saved(): unknown {
    return this.#learnt.saved();
  }

  restore(stored: unknown): void {
    this.#learnt.restore(stored);
  }

  /** The number changed by so much to make room for another endpoint. */
  yielded(change: number, nowMs: number): void {
    if (this.#decided !== null) this.#decided += change;
    this.#window = [];
    this.#direction = 0;
    this.#turnedAtMs = nowMs;
    this.#peak = 0;
    this.#turns.change(change, nowMs, false);
  }

  /** Whether requests are late while stored samples are still to be learnt. */
  get isUrgent(): boolean {
    return this.#learnt.isUrgent;
  }

  /** Learns from so many stored samples at most; returns the number of those that it learnt from. */
  learnAgain(most: number): number {
    return this.#learnt.learnAgain(most);
  }

  decide(sample: TargetSample, targets: Targets): TargetDecision {
    const { nowMs, replicas, bounds } = sample;
    const found = this.#metrics.find(targets.metrics, { ...sample, readings: sample.metrics ?? [] });
    const reading = readingWith(sample, found, targets);
    if (nowMs < this.#lastAtMs || nowMs - this.#lastAtMs > GAP_MS) this.#forget();
    this.#lastAtMs = nowMs;
    if (reading === null || !isSound(reading)) {
      // Silence says nothing about the load: what was known is too old to give up replicas afterwards.
      this.#forget();
      return { replicas: bounded(replicas, bounds), need: null, kept: reading === null ? "silent" : "unsound" };
    }
    this.#heardSinceMs ??= nowMs;
    const need = this.#need(sample, reading, { targets, found });
    const idle = idleNeed(sample, reading, targets);
    const isLearnt = this.#learnt.isFor(targets);
    const learnt = isLearnt ? this.#learnt.needed(sample, reading, targets) : null;
    if (idle !== null) return this.#idle({ ...sample, isPartial: sample.isPartial && sample.reading !== null }, idle);
    if (isLearnt) {
      if (this.#decided !== null && replicas !== this.#decided) this.#byHandAtMs = Math.min(nowMs, sample.changedAtMs);
      const decision = this.#followed(sample, reading, { learnt, targets });
      this.#decided = decision.replicas;
      this.#turns.change(decision.replicas - sample.replicas, nowMs, learnt?.isUrgent ?? false);
      return decision;
    }
    const isPartial = sample.isPartial && !followsMetricsAlone(targets);
    const decision = this.#settled({ ...sample, isPartial }, need, targets);
    if (!found.hasGap) return decision;
    return decision.replicas > replicas
      ? decision
      : { ...decision, replicas: bounded(replicas, bounds), kept: "metric" };
  }

  #forget(): void {
    this.#heardSinceMs = null;
    this.#window = [];
    this.#concurrency.clear();
    this.#rate.clear();
    this.#minute.clear();
    this.#limit.pause();
  }

  /** The target that needs most replicas. */
  #need(
    sample: TargetSample,
    reading: LoadReading,
    { targets, found }: { readonly targets: Targets; readonly found: MetricNeedsFound },
  ): Need {
    const { nowMs, coldStartMs, ready, replicas } = sample;
    const inProgress = reading.running + reading.held;
    this.#concurrency.add(nowMs, inProgress);
    this.#rate.add(nowMs, reading.requestsPerSecond);
    this.#minute.add(nowMs, reading.requestsPerSecond);
    this.#arrivals.add(nowMs, reading.requestsPerSecond);
    const needs: Need[] = [];
    for (const [cause, trend, target] of [
      ["concurrency", this.#concurrency, targets.concurrency],
      ["requestsPerSecond", this.#rate, targets.requestsPerSecond],
    ] as const) {
      if (target === null) continue;
      const { level, ahead } = trend.at(coldStartMs);
      needs.push({
        cause,
        measured: level,
        target,
        replicas: ahead / target,
        aheadMs: ahead > level ? coldStartMs : 0,
      });
    }
    for (const { name, ...each } of found.needs) needs.push({ cause: "metric", metric: name, ...each, aheadMs: 0 });
    const worst = worstLatency(reading, targets);
    if (worst !== null) {
      const perReplica = this.#minute.at(0).level / Math.max(1, ready);
      const needed = this.#limit.needed({ nowMs, ready, perReplica, ratio: worst.measured / worst.target });
      needs.push({ ...worst, replicas: needed, aheadMs: 0 });
    }
    const first: Need = {
      cause: "held",
      measured: reading.held,
      target: 0,
      replicas: inProgress > 0 ? 1 : 0,
      aheadMs: 0,
    };
    const most = needs.reduce((best, each) => (each.replicas > best.replicas ? each : best), first);
    // Latencies are unknown while few requests end. Replicas with at most one request each have room; otherwise the
    // number stays, because a server that hangs has no latencies either.
    const isKnown = worst !== null || (targets.ttft === null && targets.tpot === null);
    const unknown = isKnown ? (needs.length > 0 ? 0 : replicas) : inProgress <= ready ? replicas - 1 : replicas;
    const least = found.hasGap ? replicas : unknown;
    return most.replicas >= least ? most : { ...most, replicas: least };
  }

  #idle({ nowMs, replicas, isPartial }: TargetSample, need: Need): TargetDecision {
    if (isPartial) return { replicas, need, kept: "partial" };
    if (nowMs - (this.#heardSinceMs ?? nowMs) < HEARD_MS) return { replicas, need, kept: "holding" };
    this.#window = [];
    // Requests may come back at any time: they find no replica, and start one at once.
    this.#direction = 0;
    if (replicas > 0) this.#turnedAtMs = nowMs;
    this.#peak = 0;
    this.#turns.change(-replicas, nowMs, false);
    return { replicas: 0, need, kept: null };
  }

  /** The number that the chosen rule settled on. */
  #followed(
    sample: TargetSample,
    reading: LoadReading,
    { learnt, targets }: { readonly learnt: LearntReplicas | null; readonly targets: Targets },
  ): TargetDecision {
    const { nowMs, replicas, coldStartMs, bounds, isPartial } = sample;
    this.#turns.add(nowMs, reading.requestsPerSecond);
    // The traffic since the last reading is unknown: the number stays, and only a first replica starts.
    if (learnt === null && replicas === 0 && reading.held > 0) {
      const first: Need = { cause: "held", measured: reading.held, target: 0, replicas: 1, aheadMs: 0 };
      return { replicas: bounded(1, bounds), need: first, kept: null };
    }
    if (learnt === null) return { replicas: bounded(replicas, bounds), need: null, kept: "holding" };
    const seen = worstLatency(reading, targets) ?? unknownLatency(reading, targets);
    const need: Need = { ...seen, replicas: learnt.replicas, aheadMs: coldStartMs, learnt };
    // An endpoint without replicas starts the first one for a request.
    const wanted = replicas === 0 && reading.running + reading.held === 0 ? 0 : Math.max(1, learnt.replicas);
    // Measured work needs no such bound, a number that grows by late requests alone does.
    const most =
      learnt.isMeasured && !learnt.isGuess ? Number.POSITIVE_INFINITY : this.#mostAtFirst(sample, reading, targets);
    const next = bounded(Math.max(Math.min(wanted, most), TurnGuard.least(replicas)), bounds);
    const isHeldByHand = next < replicas && replicas <= bounds.max && nowMs - this.#byHandAtMs < targets.downAfterMs;
    if (isHeldByHand || (replicas > 0 && !this.#turns.allows(next - replicas, nowMs)))
      return { replicas: bounded(replicas, bounds), need, kept: "holding" };
    if (next < replicas && isPartial) return { replicas: bounded(replicas, bounds), need, kept: "partial" };
    return { replicas: next, need, kept: wanted > bounds.max ? "max" : next === replicas ? "enough" : null };
  }

  /** Never fewer than now. Infinite where nothing is known, or enough is. */
  #mostAtFirst({ nowMs, replicas, ready }: TargetSample, reading: LoadReading, targets: Targets): number {
    this.#beganAtMs ??= nowMs;
    const load = this.#minute.at(0).level;
    const seen = worstLatency(reading, targets);
    const isWell = seen !== null && seen.measured <= seen.target && reading.held === 0 && (reading.queued ?? 0) === 0;
    if (isWell && ready > 0) this.#servedPerReplica = Math.max(this.#servedPerReplica, load / ready);
    const isOver = nowMs < this.#beganAtMs || nowMs - this.#beganAtMs > BEGINNING_MS;
    if (isOver || this.#servedPerReplica === 0) return Number.POSITIVE_INFINITY;
    return Math.max(replicas, Math.ceil((BEGINNING_FACTOR * load) / this.#servedPerReplica));
  }

  #settled(sample: TargetSample, need: Need, { downAfterMs, queueTimeMs }: Targets): TargetDecision {
    const { nowMs, replicas, bounds } = sample;
    // Between two requests one replica stays; only `idleToZero` takes the last one.
    const least = Math.min(replicas, 1);
    const wanted = Math.max(least, Math.ceil(need.replicas - SLACK));
    const isBeyond = wanted > bounds.max;
    this.#window.push({ atMs: nowMs, need: need.replicas });
    const next = bounded(wanted, bounds);
    if (next > replicas) return this.#up(sample, need, { next, isBeyond, reversalMs: REVERSAL * downAfterMs });
    // A queue says nothing about fewer replicas until there are too few of them, so they are given up by steps.
    const step = queueTimeMs === null ? least : Math.ceil(QUEUE_STEP * replicas);
    const proven = Math.min(replicas, this.#leastProven(nowMs));
    const fewer = bounded(Math.max(least, step, proven, this.#enough(sample, downAfterMs)), bounds);
    if (replicas > bounds.max) return { replicas: bounds.max, need, kept: "max" };
    if (fewer >= replicas) return { replicas, need, kept: isBeyond ? "max" : "enough" };
    return this.#down(sample, need, { fewer, downAfterMs });
  }

  #up(
    { nowMs, replicas, changedAtMs }: TargetSample,
    need: Need,
    { next, isBeyond, reversalMs }: { readonly next: number; readonly isBeyond: boolean; readonly reversalMs: number },
  ): TargetDecision {
    // The noise of a value is unknown: only a rise that lasts, and for which the replicas before were too few, is clear.
    const isMetric = need.cause === "metric";
    const most = Math.max(isMetric ? this.#fellFrom : 0, RISE * this.#peak + RISE_REPLICAS);
    // Requests pile up where replicas are too few, at the same rate too.
    const isClear = !isMetric && (this.#arrivals.isRisen(nowMs) || need.replicas > CLEAR_RISE * this.#peak + 1);
    const seen = isClear ? [{ need: need.replicas }] : this.#window.filter(({ atMs }) => atMs > nowMs - SUSTAINED_MS);
    const isNoise = replicas > 0 && seen.some((each) => each.need <= most);
    if (this.#direction < 0 && nowMs - this.#turnedAtMs < reversalMs && isNoise)
      return { replicas, need, kept: "holding" };
    if (this.#direction < 0) {
      const wereTooFew = replicas > 0 && !isClear && nowMs - changedAtMs < reversalMs;
      if (wereTooFew) this.#tooFew = { replicas, need: this.#peak, untilMs: nowMs + TOO_FEW_MS };
      this.#turnedAtMs = nowMs;
    }
    this.#direction = 1;
    return { replicas: next, need, kept: isBeyond ? "max" : null };
  }

  /** Replicas that were enough in the whole window, with a margin. Drops what is older. */
  #enough({ nowMs, coldStartMs }: TargetSample, downAfterMs: number): number {
    const fromMs = nowMs - this.#holdMs(coldStartMs, downAfterMs);
    while ((this.#window[1]?.atMs ?? Infinity) <= fromMs) this.#window.shift();
    return Math.ceil(MARGIN * this.#most() - SLACK);
  }

  /** One more than were too few lately, unless the load is clearly lower than when they seemed to be enough. */
  #leastProven(nowMs: number): number {
    const { replicas, need, untilMs } = this.#tooFew;
    return nowMs < untilMs && nowMs >= untilMs - TOO_FEW_MS && LOWER * this.#most() > need ? replicas + 1 : 0;
  }

  #most(): number {
    return this.#window.reduce((most, each) => Math.max(most, each.need), 0);
  }

  /** A replica that is given up takes a cold start to come back. */
  #holdMs(coldStartMs: number, downAfterMs: number): number {
    return Math.max(downAfterMs, Math.min(coldStartMs, COLD_START_HOLD_MAX_MS));
  }

  #down(
    { nowMs, replicas, changedAtMs, coldStartMs, isPartial }: TargetSample,
    need: Need,
    { fewer, downAfterMs }: { readonly fewer: number; readonly downAfterMs: number },
  ): TargetDecision {
    const holdMs = this.#holdMs(coldStartMs, downAfterMs);
    const isCovered = (this.#window[0]?.atMs ?? nowMs) <= nowMs - holdMs;
    const isTurn = this.#direction > 0;
    const isHeld = !isCovered || nowMs - changedAtMs < holdMs;
    if (isHeld || (isTurn && nowMs - this.#turnedAtMs < REVERSAL * downAfterMs))
      return { replicas, need, kept: "holding" };
    if (isPartial) return { replicas, need, kept: "partial" };
    if (isTurn) this.#turnedAtMs = nowMs;
    this.#direction = -1;
    this.#peak = this.#most();
    this.#fellFrom = replicas;
    this.#arrivals.fell(nowMs);
    return { replicas: fewer, need, kept: null };
  }
}

/**
 * The load as gateways report it. An endpoint that follows values of metric sources alone needs no gateway, and is idle only while
 * its amounts are zero.
 */
function readingWith(
  { nowMs, reading }: TargetSample,
  { idleMs }: MetricNeedsFound,
  targets: Targets,
): LoadReading | null {
  if (reading !== null) {
    const isBoth = idleMs !== null && Number.isFinite(reading.idleMs);
    return isBoth ? { ...reading, idleMs: Math.min(reading.idleMs, idleMs) } : reading;
  }
  if (!followsMetricsAlone(targets)) return null;
  return { ...NO_REQUESTS, atMs: nowMs, idleMs: idleMs ?? 0 };
}

const NO_REQUESTS: Omit<LoadReading, "atMs" | "idleMs"> = {
  running: 0,
  queued: 0,
  held: 0,
  requestsPerSecond: 0,
  arrived: 0,
  ttft: null,
  tpot: null,
  tokens: null,
};

/** The cause where too few requests ended to know their latencies. */
function unknownLatency(
  { running, held }: LoadReading,
  { ttft, tpot }: Targets,
): Pick<Need, "cause" | "measured" | "target"> {
  if (running === 0) return { cause: "held", measured: held, target: 0 };
  const [cause, target] = ttft === null ? (["tpot", tpot] as const) : (["ttft", ttft] as const);
  return { cause, measured: 0, target: target?.p99Ms ?? target?.p95Ms ?? 0 };
}

/** The endpoint had no request for the stated time, and its number did not change in it. */
function idleNeed(
  { nowMs, changedAtMs, bounds }: TargetSample,
  { running, held, idleMs }: LoadReading,
  { idleToZeroMs }: Targets,
): Need | null {
  if (idleToZeroMs === null || bounds.min > 0 || running + held > 0) return null;
  if (idleMs < idleToZeroMs || nowMs - changedAtMs < idleToZeroMs) return null;
  return { cause: "idle", measured: idleMs, target: idleToZeroMs, replicas: 0, aheadMs: 0 };
}

/** The latency that exceeds its target by the largest factor. */
function worstLatency(reading: LoadReading, targets: Targets): Pick<Need, "cause" | "measured" | "target"> | null {
  const found: Pick<Need, "cause" | "measured" | "target">[] = [];
  const of = (cause: "ttft" | "tpot", latency: LoadReading["ttft"], target: Latency | null): void => {
    if (latency === null || target === null) return;
    if (target.p95Ms !== null) found.push({ cause, measured: latency.p95Ms, target: target.p95Ms });
    if (target.p99Ms !== null) found.push({ cause, measured: latency.p99Ms, target: target.p99Ms });
  };
  of("ttft", reading.ttft, targets.ttft);
  of("tpot", reading.tpot, targets.tpot);
  if (targets.queueTimeMs !== null) {
    // Little's law: the mean wait is the number of those who wait over the rate at which they come.
    const waiting = reading.queued + reading.held;
    const measured = waiting === 0 ? 0 : (1000 * waiting) / Math.max(reading.requestsPerSecond, 0.01);
    found.push({ cause: "queueTime", measured, target: targets.queueTimeMs });
  }
  return found.reduce<(typeof found)[number] | null>(
    (worst, each) => (worst === null || each.measured / each.target > worst.measured / worst.target ? each : worst),
    null,
  );
}
