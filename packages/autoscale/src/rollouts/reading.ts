/** Counters of one revision of an endpoint, added over gateways. They only grow, so any two readings can be compared. */

/** Sums over the natural logarithms of latencies in ms. Ratios of latencies are differences of logarithms. */
export interface Moments {
  readonly count: number;
  readonly sum: number;
  readonly sumOfSquares: number;
}

/**
 * Latencies by stratum: requests of one stratum are alike, so a revision whose caches are cold is compared with requests
 * of the other one that found as little in the cache. Strata are small integers.
 */
export type StratifiedMoments = ReadonlyMap<number, Moments>;

/** Requests that ended, and those of them that failed by the fault of the replica. */
export interface Counts {
  readonly requests: number;
  readonly errors: number;
}

export interface RevisionReading extends Counts {
  /** The same by period, such as a step of the rollout; absent: there is one period. Strata of latencies are within one. */
  readonly periods?: ReadonlyMap<number, Counts>;
  readonly ttft: StratifiedMoments;
  readonly tpot: StratifiedMoments;
  /** Scores of answers to copied requests, from 0 to 1; absent: none was copied. */
  readonly quality?: Moments;
}
