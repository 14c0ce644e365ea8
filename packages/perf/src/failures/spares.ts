/** Computes the number of spare nodes that cover the nodes down at one time. */
export interface SpareRequest {
  readonly nodeCount: number;
  readonly perThousandNodeDays: number;
  readonly repairHours: number;
  /** Share of time in which the spares should suffice, for example 0.99. */
  readonly coverage: number;
  /**
   * Variance ÷ mean of the number of failed nodes: 1 for independent failures, more for fleets whose failures come in
   * bursts (the 400 servers of InfiniteHBD's trace need 3.3 times the mean for 99%).
   */
  readonly burstiness: number;
}

export interface SpareAnswer {
  readonly meanAwayCount: number;
  readonly spareCount: number;
  /** Share of time that this number of spares really covers. */
  readonly coverage: number;
}

/**
 * The number of failed nodes is Poisson with mean rate × repair time, whatever the distribution of repair times (the
 * M/G/∞ queue); with bursts it is taken as negative binomial with the same mean.
 */
export function spareNodes(request: SpareRequest): SpareAnswer {
  const { nodeCount, perThousandNodeDays, repairHours, coverage, burstiness } = request;
  const mean = (nodeCount * perThousandNodeDays * repairHours) / 24 / 1000;
  if (mean === 0) return { meanAwayCount: 0, spareCount: 0, coverage: 1 };
  let probability = burstiness > 1 ? burstiness ** (-mean / (burstiness - 1)) : Math.exp(-mean);
  if (probability === 0) return largeMean(mean, coverage, burstiness);
  let covered = probability;
  let count = 0;
  while (covered < coverage && count < nodeCount) {
    count += 1;
    probability *= nextTerm(mean, burstiness, count);
    covered += probability;
  }
  return { meanAwayCount: mean, spareCount: count, coverage: Math.min(1, covered) };
}

/** Probability of `count` failed nodes divided by that of `count − 1`. */
function nextTerm(mean: number, burstiness: number, count: number): number {
  if (burstiness <= 1) return mean / count;
  const successes = mean / (burstiness - 1);
  return ((count - 1 + successes) / count) * (1 - 1 / burstiness);
}

/** Number of spares for a large mean: where the first term underflows, the distribution is normal to within a node. */
function largeMean(mean: number, coverage: number, burstiness: number): SpareAnswer {
  const spareCount = Math.ceil(mean + normalQuantile(coverage) * Math.sqrt(mean * Math.max(1, burstiness)));
  return { meanAwayCount: mean, spareCount, coverage };
}

/** Quantile of the normal distribution (Abramowitz and Stegun 26.2.23, error below 4.5e-4). */
function normalQuantile(probability: number): number {
  const tail = Math.min(probability, 1 - probability);
  const t = Math.sqrt(-2 * Math.log(tail));
  const value = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  return probability < 0.5 ? -value : value;
}
