/** What a team may claim by what everybody asks for now. */
import { worldOf } from "../engine.ts";
import type { TeamName } from "../model/ids.ts";
import type { Engine } from "../ready.ts";
import { claimOf, standingsOf } from "../schedule/order/standing.ts";
import { ACCELERATORS_AT } from "../state/team-node.ts";

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
  return new Map(
    standing.positions.map((position) => {
      const claim = claimOf(standing, position);
      return [world.teamUse.resources[position] as string, position >= ACCELERATORS_AT ? claim / 1000 : claim];
    }),
  );
}
