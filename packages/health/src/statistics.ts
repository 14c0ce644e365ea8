/** The middle value; of an even number of values, the mean of the two in the middle; of none, 0. */
export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/** The median absolute deviation of normal noise, times this, is its standard deviation. */
export const MAD_TO_SIGMA = 1.4826;
