/** Order statistics by partial sorting (Hoare's selection): the callers need one or two quantiles of many short lists. */

/** Moves the values so that the one at `place` is where sorting would put it, smaller ones before and larger ones after it. */
export function select(values: Float64Array, place: number): number {
  let [low, high] = [0, values.length - 1];
  while (low < high) {
    const pivot = values[(low + high) >> 1]!;
    let [left, right] = [low, high];
    while (left <= right) {
      while (values[left]! < pivot) left += 1;
      while (values[right]! > pivot) right -= 1;
      if (left > right) break;
      const value = values[left]!;
      values[left] = values[right]!;
      values[right] = value;
      left += 1;
      right -= 1;
    }
    if (place <= right) high = right;
    else if (place >= left) low = left;
    else break;
  }
  return values[place]!;
}

/** Conformal: the quantile of n + 1 values of which one is still unknown. Changes the order of the values. */
export function quantile(values: Float64Array, share: number): number {
  const place = share * (values.length + 1) - 1;
  const low = Math.min(values.length - 1, Math.max(0, Math.floor(place)));
  const part = Math.min(1, Math.max(0, place - low));
  const value = select(values, low);
  if (part === 0 || low === values.length - 1) return value;
  let next = Number.POSITIVE_INFINITY;
  for (let index = low + 1; index < values.length; index += 1) next = Math.min(next, values[index]!);
  return value * (1 - part) + next * part;
}

export function median(values: Float64Array): number {
  if (values.length === 0) return 0;
  const copy = values.slice();
  const middle = copy.length >> 1;
  const upper = select(copy, middle);
  if (copy.length % 2 === 1) return upper;
  let lower = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < middle; index += 1) lower = Math.max(lower, copy[index]!);
  return (lower + upper) / 2;
}
