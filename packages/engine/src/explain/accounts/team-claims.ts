/** What a team may claim by what everybody asks for now, and whether work that waits is within it. */
import { worldOf } from "../../engine/engine.ts";
import type { TeamName, WorkloadId } from "../../model/ids.ts";
import { ALL_ACCELERATORS } from "../../model/team.ts";
import type { Engine } from "../../engine/ready.ts";
import { firstBeyondClaim } from "../../preemption/rights.ts";
import type { Standing } from "../../ordering/standing.ts";
import { claimOf, claimToTake, standingsOf } from "../../ordering/standing.ts";
import { ACCELERATORS_AT, isUnder } from "../../cluster/team-node.ts";
import type { World } from "../../cluster/world.ts";

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

export interface ClaimPassed {
  /** The team of the work, or one above it. */
  readonly team: TeamName;
  readonly resource: string;
  /** In the unit in which teams state the resource. */
  readonly claim: number;
  readonly held: number;
}

/**
 * Why nobody outside a team gives way to work that waits, though somebody could: with it the team, the work's own or one above it, would
 * hold more than it may claim. `null`: it may claim what it asks for, there is nobody, or the policy takes by other rights.
 */
export function claimPassed(engine: Engine, id: WorkloadId): ClaimPassed | null {
  const world = worldOf(engine);
  const { rules, evictable, teamUse } = world;
  const workload = world.state.workloads.get(id);
  if (workload === undefined || !rules.phases.includes("reclaim") || rules.eviction.search !== "cheapest") return null;
  const standings = standingsOf(world);
  const beyond = firstBeyondClaim(world, standings, world.queue.classOf(workload));
  if (beyond === null) return null;
  const { node, positions } = beyond;
  const somebodyCould = [...evictable.keys()].some((team) => !isUnder(teamUse.node(team), node));
  // Of a type, where it is both more of that and more in all.
  const position = positions.at(-1);
  if (!somebodyCould || position === undefined) return null;
  const unit = position >= ACCELERATORS_AT ? 1000 : 1;
  return {
    team: node.name,
    resource: teamUse.resources[position] as string,
    claim: claimToTake(standings.get(node) as Standing, position) / unit,
    held: (node.used[position] ?? 0) / unit,
  };
}

/** Accelerators of whatever type that the team and those above it allow: no type of them can be more. */
function limitInAll({ state }: World, team: TeamName): number {
  let most = Number.POSITIVE_INFINITY;
  for (let at: TeamName | null = team; at !== null; at = state.teams.get(at)?.parent ?? null)
    most = Math.min(most, state.teams.get(at)?.limit[ALL_ACCELERATORS] ?? Number.POSITIVE_INFINITY);
  return most;
}
