/** Derived properties of the defragmentation rules. */
import type { DefragmentRules } from "./policy.ts";

export const HOUR_MS = 3_600_000;

/** Rules of a dry run under a policy without defragmentation rules. */
export const usualDefragmentation: DefragmentRules = {
  movesPerHour: 20,
  restMs: 24 * HOUR_MS,
  lossPerPairMs: 600_000,
};
