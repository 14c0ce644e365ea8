import type { World } from "../cluster/world.ts";
import type { WorkloadEntity } from "../state/mutable-state.ts";
import { accrueLine } from "./accounts.ts";
import { recordDecayedUsage } from "./decayed-usage.ts";

/** What runs is about to change: what was used until now is written down. */
export function settleUse(world: World, workload: WorkloadEntity): void {
  accrueLine(world, workload.spec.team);
  recordDecayedUsage(world, workload);
}
