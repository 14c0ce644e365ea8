/** Values of one kind of change, the smallest change first. */
export interface Values<Of> {
  readonly count: number;
  /**
   * Whether more of it does whatever less of it does, as far as the request goes: where the largest brings nothing, no other is
   * tried, and none is where a larger one gives no hope.
   */
  readonly isMonotone: boolean;
  /** The value that would suffice if no request were ahead; absent: unknown. */
  readonly alone?: number;
  /** Number of values to try from the lower bound on. */
  readonly scope: number;
  at(index: number): Of;
}

/** Alternatives: none of them says anything about another. */
export const listed = <Of>(values: readonly Of[]): Values<Of> => ({
  count: values.length,
  isMonotone: false,
  scope: values.length,
  at: (index) => values[index] as Of,
});

/** More and more of one thing. */
export const growing = <Of>(count: number, at: (index: number) => Of): Values<Of> => ({
  count: Math.max(0, count),
  isMonotone: true,
  scope: Math.max(0, count),
  at,
});

/** The same, if the first values suffice for the request alone and larger ones serve requests ahead of it too. */
export const growingForAll = <Of>(count: number, alone: number, at: (index: number) => Of): Values<Of> => ({
  ...growing(count, at),
  alone,
});

/** Every set of some of these, those of fewer first. */
export function everySet<Of>(all: readonly Of[]): readonly (readonly Of[])[] {
  const sets = Array.from({ length: (1 << all.length) - 1 }, (_, bits) =>
    all.filter((_each, at) => ((bits + 1) >> at) & 1),
  );
  return sets.toSorted((left, right) => left.length - right.length);
}
