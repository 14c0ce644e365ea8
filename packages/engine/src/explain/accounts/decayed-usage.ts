/** Decayed usage of a team, at the engine's clock. */
import { clockOf, worldOf } from "../../engine/engine.ts";
import type { TeamName } from "../../model/ids.ts";
import { AVERAGE_ONE } from "../../usage/decayed-usage.ts";
import type { Engine } from "../../engine/ready.ts";
import { usageKey } from "../../cluster/decayed-usage-index.ts";

export interface DecayedUsageView {
  readonly accelerators: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
}

/** The team's decayed average usage; `null`: usage history does not count under the active policy. */
export function decayedUsageOf(engine: Engine, team: TeamName): DecayedUsageView | null {
  const { decayedUsage } = worldOf(engine);
  if (decayedUsage.halfLife === null) return null;
  const [cores, memory, accelerators] = decayedUsage.average(usageKey(team), clockOf(engine));
  return {
    accelerators: Math.round(accelerators / AVERAGE_ONE) / 1000,
    coresMilli: Math.round(cores / AVERAGE_ONE),
    memoryMib: Math.round(memory / AVERAGE_ONE),
  };
}
