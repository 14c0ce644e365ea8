/** Decayed average usage of a team, or of a user in a team: older usage counts less. */

/** Cores in thousandths, MiB of memory, accelerators in thousandths: the resources by which teams are compared, in that order. */
export type UseVector = readonly [number, number, number];

export const NO_USE: UseVector = [0, 0, 0];

/** As of `atMs`; usage since then is added when it is read (`usage/decayed-usage.ts`). */
export interface DecayedUsage {
  readonly atMs: number;
  /** The decayed average at the start of the step that contains `atMs`, in 2^-16 of the unit. */
  readonly average: UseVector;
  /** Usage in that step so far, times ms. */
  readonly pending: UseVector;
}

/**
 * Recent run times by kind of work, the kind whose last run is oldest first; for each kind its last run times, newest
 * last.
 */
export type RunTimes = ReadonlyMap<string, readonly number[]>;
