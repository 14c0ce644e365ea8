/**
 * Two revisions behind one pool during a rollout: the share of requests that the new one gets, and the readings of both
 * for the verdict of the control plane. Counters begin with the rollout, so that both saw the same traffic.
 */

/** The rollout of the endpoint that a pool follows, as the control plane lists it. */
export interface FollowedRollout {
  readonly number: number;
  /** Start of the rollout: after a rollback the next one may have the same number. */
  readonly startedAtMs: number;
  /** Share of the requests for the new revision, in thousandths; `null`: all replicas are alike. */
  readonly weightMilli: number | null;
  /** Share of the requests of which the new revision gets copies, in thousandths; `null`: none. It gets no other ones then. */
  readonly shadowMilli: number | null;
  /** Ids of the replicas of the new revision. */
  readonly canary: ReadonlySet<string>;
}

export interface EndedStream {
  readonly replicaId: string;
  /** NaN: it says nothing about the revision. */
  readonly firstTokenMs: number;
  /** NaN: the answer had one token. */
  readonly perTokenMs: number;
  /** Prompt tokens that were not in the replica's cache. */
  readonly uncachedTokens: number;
  /** Requests in progress at the replica. */
  readonly busyCount: number;
}

type Scores = [count: number, sum: number, sumOfSquares: number];
type Stratum = [stratum: number, count: number, sum: number, sumOfSquares: number];

export interface RevisionCounters {
  readonly requests: number;
  readonly errors: number;
  readonly ttft: readonly Readonly<Stratum>[];
  readonly tpot: readonly Readonly<Stratum>[];
  /** [answers, sum of scores, sum of squares] of copied requests. */
  readonly quality?: Readonly<Scores>;
}

export interface RolloutCounters {
  readonly number: number;
  readonly startedAtMs: number;
  readonly canary: RevisionCounters;
  readonly baseline: RevisionCounters;
}

/** Two strata for each power of two of uncached tokens; one for each power of two of requests in progress. */
const TTFT_STRATA_MAX = 48;
const TPOT_STRATA_MAX = 16;
/** Latencies of this many first streams of a replica do not count: it compiles kernels and fills its caches. */
const WARM_UP_STREAMS = 20;
const REPLICAS_MAX = 1_000;

class Counters implements RevisionCounters {
  requests = 0;
  errors = 0;
  readonly ttft: Stratum[] = [];
  readonly tpot: Stratum[] = [];
  quality?: Scores;

  scored(score: number): void {
    const [count, sum, sumOfSquares] = this.quality ?? [0, 0, 0];
    this.quality = [count + 1, sum + score, sumOfSquares + score * score];
  }
}

export class RolloutSplit {
  #rollout: FollowedRollout;
  readonly #canary = new Counters();
  readonly #baseline = new Counters();
  readonly #streams = new Map<string, number>();
  /** Replicas of the new revision, those included that left the list while their last requests go on. */
  readonly #canaryIds = new Set<string>();

  constructor(rollout: FollowedRollout) {
    this.#rollout = rollout;
  }

  isOf({ number, startedAtMs }: FollowedRollout): boolean {
    return this.#rollout.number === number && this.#rollout.startedAtMs === startedAtMs;
  }

  /** `replicaIds`: the replicas that are listed now, of both revisions. An address may pass from one to the other. */
  follow(rollout: FollowedRollout, replicaIds: Iterable<string>): void {
    this.#rollout = rollout;
    for (const id of replicaIds) {
      this.#canaryIds.delete(id);
      if (rollout.canary.has(id)) this.#canaryIds.add(id);
    }
    for (const oldest of this.#canaryIds) {
      if (this.#canaryIds.size <= REPLICAS_MAX) break;
      this.#canaryIds.delete(oldest);
    }
  }

  /**
   * Replicas that do not get this request. A session stays with its revision, because its prefixes are cached there; as
   * the weight grows, sessions only move to the new one. `draw` is uniform over 32 bits.
   */
  excluded(replicaIds: Iterable<string>, sessionHash: number | undefined, draw: () => number): readonly string[] {
    const { weightMilli, canary } = this.#rollout;
    if (weightMilli === null) return [];
    const isForCanary = (sessionHash ?? draw()) % 1000 < weightMilli;
    return [...replicaIds].filter((id) => canary.has(id) !== isForCanary);
  }

  /** Whether the new revision gets copies of requests alone, so that no client gets an answer of it. */
  get isShadow(): boolean {
    return (this.#rollout.shadowMilli ?? 0) > 0;
  }

  isCanary(replicaId: string): boolean {
    return this.#canaryIds.has(replicaId);
  }

  /** Whether a copy of this request is sent. A session is copied as a whole, so that its prefixes are cached. */
  isCopied(sessionHash: number | undefined, draw: () => number): boolean {
    return this.isShadow && (sessionHash ?? draw()) % 1000 < (this.#rollout.shadowMilli ?? 0);
  }

  /** Scores from 0 to 1 of the answers of both revisions to one request. */
  scored(canary: number, baseline: number): void {
    this.#canary.scored(canary);
    this.#baseline.scored(baseline);
  }

  /** A request to a replica ended by itself, or failed by the fault of the replica. */
  ended(replicaId: string, isFailed: boolean): void {
    const counters = this.#countersOf(replicaId);
    counters.requests++;
    if (isFailed) counters.errors++;
  }

  observe({ replicaId, firstTokenMs, perTokenMs, uncachedTokens, busyCount }: EndedStream): void {
    const streams = (this.#streams.get(replicaId) ?? 0) + 1;
    if (streams === 1 && this.#streams.size >= REPLICAS_MAX) return;
    this.#streams.set(replicaId, streams);
    if (streams <= WARM_UP_STREAMS) return;
    const counters = this.#countersOf(replicaId);
    const stratum = Math.floor(2 * Math.log2(Math.max(1, uncachedTokens)));
    if (firstTokenMs >= 0) add(counters.ttft, stratum, TTFT_STRATA_MAX, firstTokenMs);
    if (perTokenMs >= 0) add(counters.tpot, Math.floor(Math.log2(Math.max(1, busyCount))), TPOT_STRATA_MAX, perTokenMs);
  }

  counters(): RolloutCounters {
    const { number, startedAtMs } = this.#rollout;
    return { number, startedAtMs, canary: this.#canary, baseline: this.#baseline };
  }

  #countersOf(replicaId: string): Counters {
    return this.#canaryIds.has(replicaId) ? this.#canary : this.#baseline;
  }
}

/** A latency below a hundredth of a millisecond is one of the clock. */
const LATENCY_MIN_MS = 0.01;

function add(strata: Stratum[], stratum: number, strataMax: number, ms: number): void {
  const at = Math.min(strataMax - 1, stratum);
  const value = Math.log(Math.max(LATENCY_MIN_MS, ms));
  let counted = strata.find(([each]) => each === at);
  if (counted === undefined) strata.push((counted = [at, 0, 0, 0]));
  counted[1]++;
  counted[2] += value;
  counted[3] += value * value;
}

/** An endpoint has one rollout, and each of its pools sees a part of the traffic. Counters of an earlier rollout do not count. */
export function addedCounters(all: readonly RolloutCounters[]): RolloutCounters | undefined {
  const newest = all.toSorted((left, right) => right.startedAtMs - left.startedAtMs)[0];
  if (newest === undefined) return undefined;
  const { number, startedAtMs } = newest;
  const own = all.filter((each) => each.number === number && each.startedAtMs === startedAtMs);
  const added = (side: "canary" | "baseline"): RevisionCounters => ({
    requests: own.reduce((sum, each) => sum + each[side].requests, 0),
    errors: own.reduce((sum, each) => sum + each[side].errors, 0),
    ttft: addedStrata(own.map((each) => each[side].ttft)),
    tpot: addedStrata(own.map((each) => each[side].tpot)),
    ...addedScores(own.map((each) => each[side].quality)),
  });
  return own.length === 1 ? newest : { number, startedAtMs, canary: added("canary"), baseline: added("baseline") };
}

function addedScores(all: readonly RevisionCounters["quality"][]): Pick<RevisionCounters, "quality"> {
  const known = all.flatMap((each) => (each === undefined ? [] : [each]));
  const total = (at: 0 | 1 | 2): number => known.reduce((sum, each) => sum + each[at], 0);
  return known.length === 0 ? {} : { quality: [total(0), total(1), total(2)] };
}

function addedStrata(all: readonly RevisionCounters["ttft"][]): readonly Readonly<Stratum>[] {
  const sums = new Map<number, Stratum>();
  for (const [stratum, count, sum, sumOfSquares] of all.flat()) {
    const [, counts = 0, total = 0, squares = 0] = sums.get(stratum) ?? [];
    sums.set(stratum, [stratum, counts + count, total + sum, squares + sumOfSquares]);
  }
  return [...sums.values()];
}
