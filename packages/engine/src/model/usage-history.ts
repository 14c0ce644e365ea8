/** What a team, or a user in a team, held on average lately: the longer ago, the less it counts. */

/** Cores in thousandths, MiB of memory, accelerators in thousandths: the resources by which teams are compared, in that order. */
export type UseVector = readonly [number, number, number];

export const NO_USE: UseVector = [0, 0, 0];

/** As of `atMs`; what is held since then comes on top when it is read (`usage/past-use.ts`). */
export interface DecayedUsage {
  readonly atMs: number;
  /** The decayed average as of the beginning of the step that `atMs` lies in, in 2^-16 of the unit. */
  readonly average: UseVector;
  /** What was held in that step so far, times ms. */
  readonly pending: UseVector;
}

/** By kind, the one that ran longest ago first; of each how long the last of it took, the newest last. */
export type RunTimes = ReadonlyMap<string, readonly number[]>;
