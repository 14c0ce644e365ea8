/**
 * A set of accelerators of one node: `"0-3,6"`, ascending indices, maximal ranges, `""` for none. Events, API and CLI
 * use this text; the engine's indexes use bit masks (one bit per accelerator, word 0 first).
 */
export type AcceleratorSet = string;

/** Calls `visit(first, last)` for every range of the set, ends inclusive. */
export function forEachRange(set: AcceleratorSet, visit: (first: number, last: number) => void): void {
  let value = 0;
  let first = -1;
  for (let position = 0; position < set.length; position++) {
    const code = set.charCodeAt(position);
    if (code >= 48 && code <= 57) {
      value = value * 10 + (code - 48);
    } else if (code === 45) {
      first = value;
      value = 0;
    } else {
      visit(first < 0 ? value : first, value);
      first = -1;
      value = 0;
    }
  }
  if (set.length > 0) visit(first < 0 ? value : first, value);
}

export function acceleratorIndices(set: AcceleratorSet): number[] {
  const indices: number[] = [];
  forEachRange(set, (first, last) => {
    for (let index = first; index <= last; index++) indices.push(index);
  });
  return indices;
}

export function acceleratorCount(set: AcceleratorSet): number {
  let count = 0;
  forEachRange(set, (first, last) => {
    count += last - first + 1;
  });
  return count;
}
