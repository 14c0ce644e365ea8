import type { WritableWorld } from "./writable.ts";
import type { WritableWorkload } from "../state/mutable-state.ts";
import { accrueLine } from "./accounts.ts";
import { recordDecayedUsage } from "./decayed-usage.ts";

/** Settles budgets and usage history before running work changes. */
export function settleUse(world: WritableWorld, workload: WritableWorkload): void {
  accrueLine(world, workload.spec.team);
  recordDecayedUsage(world, workload);
}
