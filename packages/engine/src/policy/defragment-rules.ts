/** Bounds of defragmentation that no policy states, and the rules of its dry run. */
import type { DefragmentRules } from "./policy.ts";

export const HOUR_MS = 3_600_000;

/** Minimum time between two migrations of a workload by defragmentation, in ms. */
export const MIGRATION_REST_MS: number = 24 * HOUR_MS;

/** Rules of a dry run under a policy without defragmentation rules. */
export const usualDefragmentation: DefragmentRules = {
  movesPerHour: 20,
  lossPerPairMs: 600_000,
};
