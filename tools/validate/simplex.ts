interface Corner {
  readonly at: readonly number[];
  readonly value: number;
}

/**
 * Minimises a function by the downhill simplex method in `rounds` rounds (Nelder and Mead, The Computer Journal 7(4),
 * 1965). The initial simplex has a corner at `start`, and one corner at a step from `start` along each axis.
 */
export function minimise(
  f: (at: readonly number[]) => number,
  start: readonly number[],
  step: readonly number[],
  rounds: number,
): Corner {
  const corner = (at: readonly number[]): Corner => ({ at, value: f(at) });
  const moved = step.map((by, axis) => corner(start.map((value, other) => (other === axis ? value + by : value))));
  let corners = [corner(start), ...moved];
  for (let round = 0; round < rounds; round += 1) {
    corners = nextCorners(
      corners.toSorted((a, b) => a.value - b.value),
      corner,
    );
  }
  return corners.reduce((best, one) => (one.value < best.value ? one : best));
}

function nextCorners(sorted: readonly Corner[], corner: (at: readonly number[]) => Corner): Corner[] {
  const best = sorted[0];
  const worst = sorted.at(-1);
  const second = sorted.at(-2);
  if (best === undefined || worst === undefined || second === undefined) return [...sorted];
  const kept = sorted.slice(0, -1);
  const centre = best.at.map((_, axis) => kept.reduce((sum, { at }) => sum + (at[axis] ?? 0), 0) / kept.length);
  /** A point on the line through the centroid (0) and the worst corner (1). */
  const along = (share: number): Corner =>
    corner(centre.map((value, axis) => value + share * ((worst.at[axis] ?? 0) - value)));
  const reflected = along(-1);
  if (reflected.value < best.value) {
    const expanded = along(-2);
    return [...kept, expanded.value < reflected.value ? expanded : reflected];
  }
  if (reflected.value < second.value) return [...kept, reflected];
  const contracted = along(reflected.value < worst.value ? -0.5 : 0.5);
  if (contracted.value < Math.min(reflected.value, worst.value)) return [...kept, contracted];
  return sorted.map((one, index) =>
    index === 0 ? one : corner(one.at.map((value, axis) => ((best.at[axis] ?? 0) + value) / 2)),
  );
}
