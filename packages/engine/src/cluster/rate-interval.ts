/**
 * The interval of the next reading of a link, from its last readings. A rate that drifts is near the last reading, so the
 * interval lies around a level between the median and that reading, by the rank correlation of successive readings (Spearman's,
 * corrected for its bias of small samples, Kendall 1954) if it is larger than chance. The quantiles are those of the readings
 * over their levels; which ones, follows from how often the interval would have missed before (adaptive conformal inference,
 * Gibbs and Candès 2021). Only sums and ratios: logarithms differ between JavaScript engines in their last bits.
 */
export interface RateInterval {
  readonly low: number;
  readonly median: number;
  readonly high: number;
}

/** The share that the interval misses at first; a little below a fifth, because the level is estimated from the same readings. */
const MISSED = 0.18;
const MISSED_LEAST = 0.02;
const MISSED_MOST = 0.5;
/** Weight of one hit or miss. */
const ADAPTION = 0.1;
/** Readings from which the tenth and the ninetieth percent lie between two of them. */
export const READINGS_ENOUGH = 9;
const CORRELATION_MOST = 0.95;

/** `readings`: at least one, oldest first. */
export function rateInterval(readings: readonly number[]): RateInterval {
  const median = quantile(ascending(readings), 0.5);
  const correlation = readings.length < READINGS_ENOUGH ? 0 : serialCorrelation(readings);
  const levelAfter = (before: number): number => (1 - correlation) * median + correlation * before;
  const level = correlation === 0 ? median : levelAfter(readings.at(-1) ?? median);
  const ratios =
    correlation === 0
      ? readings.map((each) => each / median)
      : readings.slice(1).map((each, index) => each / levelAfter(readings[index] ?? median));
  const known: number[] = [];
  let missed = MISSED;
  for (const ratio of ratios) {
    if (known.length >= READINGS_ENOUGH) {
      const isMissed = ratio < quantile(known, missed / 2) || ratio > quantile(known, 1 - missed / 2);
      missed = Math.min(MISSED_MOST, Math.max(MISSED_LEAST, missed + ADAPTION * (MISSED - (isMissed ? 1 : 0))));
    }
    const at = known.findIndex((each) => each > ratio);
    known.splice(at === -1 ? known.length : at, 0, ratio);
  }
  return {
    low: level * quantile(known, missed / 2),
    median: level * quantile(known, 0.5),
    high: level * quantile(known, 1 - missed / 2),
  };
}

/** Correlation of the ranks of successive readings; 0 if it is not larger than that of independent ones usually is. */
function serialCorrelation(readings: readonly number[]): number {
  const { length } = readings;
  const sorted = ascending(readings);
  const middle = (length - 1) / 2;
  // Equal readings have the mean of their ranks, so that the mean of all ranks is 0.
  const ranks = readings.map((each) => (sorted.indexOf(each) + sorted.lastIndexOf(each)) / 2 - middle);
  let variance = 0;
  let covariance = 0;
  for (const [index, rank] of ranks.entries()) {
    variance += rank * rank;
    covariance += rank * (ranks[index - 1] ?? 0);
  }
  if (variance === 0) return 0;
  const found = covariance / variance;
  const corrected = found + (1 + 3 * found) / length;
  return corrected < 1 / Math.sqrt(length) ? 0 : Math.min(CORRELATION_MOST, corrected);
}

const ascending = (values: readonly number[]): readonly number[] => values.toSorted((left, right) => left - right);

/** The k-th of n ordered readings lies on average at k/(n + 1) of their distribution (Weibull's plotting position). */
function quantile(sorted: readonly number[], share: number): number {
  const at = Math.min(sorted.length - 1, Math.max(0, share * (sorted.length + 1) - 1));
  const low = sorted[Math.floor(at)] ?? 1;
  const high = sorted[Math.ceil(at)] ?? low;
  return low + (high - low) * (at - Math.floor(at));
}
