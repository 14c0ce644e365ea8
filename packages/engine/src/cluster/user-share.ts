/** Shares of users in their teams, by current usage and, if it counts, by usage history. */
import type { PlacementRequest } from "./placement-request.ts";
import { usageKey } from "../usage/imported-usage.ts";
import { AVERAGE_ONE } from "../usage/decayed-usage.ts";
import type { World } from "./world.ts";
import { COMPARED } from "./team-node.ts";
import { fleetTotal } from "./fleet-total.ts";

/**
 * Returns the share of a request's user: the largest part of the fleet's cores, memory or accelerators that the user
 * holds in the team. Usage history is added if it counts.
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
