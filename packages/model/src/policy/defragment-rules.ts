/** Bounds of defragmentation that are the same in every policy, and the rules of a dry run of defragmentation. */
import type { DefragmentRules } from "./policy.ts";

export const HOUR_MS = 3_600_000;

/** Minimum time, in ms, between two migrations of the same workload by defragmentation. */
export const MIGRATION_REST_MS: number = 24 * HOUR_MS;

/** Rules of a dry run under a policy without defragmentation rules. */
export const usualDefragmentation: DefragmentRules = {
  migrationsPerHour: 20,
  lossPerPairMs: 600_000,
};
