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

/** By kind, the one that ran longest ago first; of each how long the last of it took, the newest last. */
export type RunTimes = ReadonlyMap<string, readonly number[]>;
