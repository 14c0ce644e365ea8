/** Finds the known name that a misspelt name probably means. */

/**
 * Number of letters that must be inserted, removed, replaced or swapped with their neighbour (Damerau's restricted
 * distance).
 */
function distance(left: string, right: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const isSame = left[row - 1] === right[column - 1];
      let best = (previous[column - 1] ?? 0) + (isSame ? 0 : 1);
      best = Math.min(best, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
      const isSwap =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (isSwap) best = Math.min(best, (before[column - 2] ?? 0) + 1);
      current.push(best);
    }
    before = previous;
    previous = current;
  }
  return previous[right.length] ?? 0;
}

const COMPARED_LENGTH_MAX = 64;

/** The known name closest to `name`; `undefined`: none is close enough. If several are equally close, the first one. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > COMPARED_LENGTH_MAX) return undefined;
  const allowed = name.length <= 3 ? 1 : Math.ceil(name.length / 3);
  let best: string | undefined;
  let bestDistance = allowed + 1;
  for (const candidate of known) {
    const found = distance(name.toLowerCase(), candidate.toLowerCase());
    if (found < bestDistance) {
      best = candidate;
      bestDistance = found;
    }
  }
  return best;
}
