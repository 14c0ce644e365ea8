/** What a team held on average lately, as of the engine's clock. */
import { clockOf, worldOf } from "../../engine/engine.ts";
import type { TeamName } from "../../model/ids.ts";
import { AVERAGE_ONE } from "../../usage/past-use.ts";
import type { Engine } from "../../engine/ready.ts";
import { pastKey } from "../../cluster/past-index.ts";

export interface PastUseView {
  readonly accelerators: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
}

/** `null`: past use does not count under the policy in force. */
export function pastUseOf(engine: Engine, team: TeamName): PastUseView | null {
  const { past } = worldOf(engine);
  if (past.halfLife === null) return null;
  const [cores, memory, accelerators] = past.average(pastKey(team), clockOf(engine));
  return {
    accelerators: Math.round(accelerators / AVERAGE_ONE) / 1000,
    coresMilli: Math.round(cores / AVERAGE_ONE),
    memoryMib: Math.round(memory / AVERAGE_ONE),
  };
}
