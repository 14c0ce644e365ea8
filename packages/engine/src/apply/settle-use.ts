import type { WritableWorld } from "./writable.ts";
import type { WritableWorkload } from "../state/mutable-state.ts";
import { accrueLine } from "./accounts.ts";
import { recordDecayedUsage } from "./decayed-usage.ts";

/** What runs is about to change: what was used until now is written down. */
export function settleUse(world: WritableWorld, workload: WritableWorkload): void {
  accrueLine(world, workload.spec.team);
  recordDecayedUsage(world, workload);
}
