/** What a team may claim by what everybody asks for now. */
import { worldOf } from "../../engine.ts";
import type { TeamName } from "../../model/ids.ts";
import { ALL_ACCELERATORS } from "../../model/team.ts";
import type { Engine } from "../../ready.ts";
import { claimOf, standingsOf } from "../../schedule/order/standing.ts";
import { ACCELERATORS_AT } from "../../indexes/team-node.ts";
import type { World } from "../../indexes/world.ts";

/**
 * The larger of its guarantee and its fair share, within its limit, of every resource by which teams are compared: cores in
 * thousandths, memory in MiB, accelerators (in all, and of each type that any team states) by number. `null`: the policy in force
 * compares no teams.
 */
export function teamClaims(engine: Engine, team: TeamName): ReadonlyMap<string, number> | null {
  const world = worldOf(engine);
  if (world.rules.teams.order.length === 0) return null;
  const standing = standingsOf(world).get(world.teamUse.node(team));
  if (standing === undefined) return null;
  const mostMilli = limitInAll(world, team) * 1000;
  return new Map(
    standing.positions.map((position) => {
      const claim = Math.min(
        claimOf(standing, position),
        position >= ACCELERATORS_AT ? mostMilli : Number.POSITIVE_INFINITY,
      );
      return [world.teamUse.resources[position] as string, position >= ACCELERATORS_AT ? claim / 1000 : claim];
    }),
  );
}

/** Accelerators of whatever type that the team and those above it allow: no type of them can be more. */
function limitInAll({ state }: World, team: TeamName): number {
  let most = Number.POSITIVE_INFINITY;
  for (let at: TeamName | null = team; at !== null; at = state.teams.get(at)?.parent ?? null)
    most = Math.min(most, state.teams.get(at)?.limit[ALL_ACCELERATORS] ?? Number.POSITIVE_INFINITY);
  return most;
}
