/** Decayed average of the usage of a team, or of a user in a team: older usage counts less. */

/**
 * Cores in thousandths, memory in MiB, accelerators in thousandths. Teams are compared by these resources, in this
 * order.
 */
export type UseVector = readonly [number, number, number];

export const NO_USE: UseVector = [0, 0, 0];

/**
 * Usage history up to `atMs`. Usage after this instant is added when the history is read (`usage/decayed-usage.ts`).
 */
export interface DecayedUsage {
  readonly atMs: number;
  /** The decayed average at the start of the step that contains `atMs`. One unit is 2^-16 of the resource's unit. */
  readonly average: UseVector;
  /** Usage in that step up to `atMs`: amounts times ms. */
  readonly pending: UseVector;
}

/**
 * Recent run times by kind of work. The kind whose last run is oldest is first. Each kind has its last run times,
 * newest last.
 */
export type RunTimes = ReadonlyMap<string, readonly number[]>;
