/** The numbers of values of one kind of change. Index 0 is the smallest change. */
export interface ValueRange {
  readonly count: number;
  /**
   * Whether a larger value always helps the request at least as much as a smaller one. Then, if the largest value
   * fails, no other is tried, and a value is skipped if a larger one does not pass the lower bound.
   */
  readonly isMonotone: boolean;
  /**
   * Number of values up to the first one that would suffice if no request were ahead in the queue. Larger values also
   * serve requests ahead. Undefined if that value is unknown.
   */
  readonly alone?: number;
  /** Number of values to try, counted from the lower bound. */
  readonly scope: number;
}

/** Values of one kind of change, the smallest change first. */
export interface Values<Of> extends ValueRange {
  at(index: number): Of;
}

/** Values that are alternatives: whether one starts the workload says nothing about another. */
export const listed = <Of>(values: readonly Of[]): Values<Of> => ({
  ...growing(values.length, (index) => values[index] as Of),
  isMonotone: false,
});

/** Increasing values of one amount. */
export const growing = <Of>(count: number, at: (index: number) => Of): Values<Of> => ({
  count: Math.max(0, count),
  isMonotone: true,
  scope: Math.max(0, count),
  at,
});

/** Every non-empty subset, smaller subsets first. */
export function everySet<Of>(all: readonly Of[]): readonly (readonly Of[])[] {
  const sets = Array.from({ length: (1 << all.length) - 1 }, (_, bits) =>
    all.filter((_each, at) => ((bits + 1) >> at) & 1),
  );
  return sets.toSorted((left, right) => left.length - right.length);
}
