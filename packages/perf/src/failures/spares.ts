/** A request for the number of spare nodes that replace the nodes that are down at the same time. */
export interface SpareRequest {
  readonly nodeCount: number;
  readonly perThousandNodeDays: number;
  readonly repairHours: number;
  /** Share of time in which the number of spares must suffice, for example 0.99. */
  readonly coverage: number;
  /**
   * Variance of the number of failed nodes divided by its mean. It is 1 for independent failures, and larger for fleets
   * whose failures come in bursts (the 400 servers of InfiniteHBD's trace need 3.3 times the mean number of failed
   * nodes as spares, for 99%).
   */
  readonly burstiness: number;
}

export interface SpareAnswer {
  readonly meanAwayCount: number;
  readonly spareCount: number;
  /** Share of time in which this number of spares suffices. */
  readonly coverage: number;
}

/**
 * Number of spares for the requested coverage. The number of failed nodes has a Poisson distribution with the mean rate
 * × repair time, whatever the distribution of repair times (the M/G/∞ queue). For failures in bursts, a negative
 * binomial distribution with the same mean is used.
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

/** Probability of `count` failed nodes, divided by the probability of `count − 1` failed nodes. */
function nextTerm(mean: number, burstiness: number, count: number): number {
  if (burstiness <= 1) return mean / count;
  const successes = mean / (burstiness - 1);
  return ((count - 1 + successes) / count) * (1 - 1 / burstiness);
}

/**
 * Number of spares for a mean so large that the probability of no failed node underflows. There the distribution equals
 * a normal distribution to within one node.
 */
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
