/** Users' shares of their teams: current usage, and usage history if it counts. */
import type { PlacementRequest } from "./placement-request.ts";
import { usageKey } from "./decayed-usage-index.ts";
import { AVERAGE_ONE } from "../usage/decayed-usage.ts";
import type { World } from "./world.ts";
import { COMPARED } from "./team-node.ts";
import { fleetTotal } from "./fleet-total.ts";

/**
 * The user's largest share of the fleet's cores, memory or accelerators in the team, with usage history if it counts.
 */
export function userShare(world: World): (request: Pick<PlacementRequest, "team" | "actor">) => number {
  const total = fleetTotal(world);
  return ({ team, actor }) => {
    const used = world.teamUse.users.used(team, actor);
    const decayedUsage = world.decayedUsage.average(usageKey(team, actor));
    return COMPARED.reduce<number>((most, position) => {
      const amount = (used[position] ?? 0) + decayedUsage[position] / AVERAGE_ONE;
      return Math.max(most, amount / Math.max(1, total[position] as number));
    }, 0);
  };
}
