/** A team's entitlement under present demand, and whether a waiting request would exceed it. */
import {
  worldOf,
  firstBeyondEntitlement,
  entitlementOf,
  entitlementToPreempt,
  teamSharesOf,
  ACCELERATORS_AT,
  isUnder,
  statedAmount,
} from "@headroom/engine/internals";
import type { TeamShare, World } from "@headroom/engine/internals";
import { ALL_ACCELERATORS } from "@headroom/model";
import type { TeamName, WorkloadId } from "@headroom/model";
import type { Engine } from "@headroom/engine";

/**
 * A team's entitlement by compared resource: the larger of guarantee and fair share, capped by the limit. Cores are in
 * thousandths, memory in MiB, accelerators by number: in total, and for each type that any team states. `null` if the
 * active policy does not compare teams.
 */
export function teamEntitlements(engine: Engine, team: TeamName): ReadonlyMap<string, number> | null {
  const world = worldOf(engine);
  if (world.rules.teams.order.length === 0) return null;
  const teamShare = teamSharesOf(world).get(world.teamUse.node(team));
  if (teamShare === undefined) return null;
  const mostMilli = limitInAll(world, team) * 1000;
  return new Map(
    teamShare.positions.map((position) => {
      const entitlement = entitlementOf(teamShare, position);
      const bounded = position >= ACCELERATORS_AT ? Math.min(entitlement, mostMilli) : entitlement;
      return [world.teamUse.resources[position] as string, statedAmount(position, bounded)];
    }),
  );
}

export interface EntitlementExceeded {
  /** The workload's team, or a team above it. */
  readonly team: TeamName;
  readonly resource: string;
  /** In the unit that teams use to state this resource. */
  readonly entitlement: number;
  readonly held: number;
}

/**
 * The entitlement that keeps waiting work from preempting other teams although there are victim candidates: with the
 * request, its team or a team above it would exceed that entitlement. `null` if none would be exceeded, if there are no
 * victim candidates, or if the policy does not compare teams.
 */
export function entitlementExceeded(engine: Engine, id: WorkloadId): EntitlementExceeded | null {
  const world = worldOf(engine);
  const { rules, evictable, teamUse } = world;
  const workload = world.state.workloads.get(id);
  if (workload === undefined || !rules.phases.includes("reclaim") || !rules.eviction.teamGuarantees) return null;
  const teamShares = teamSharesOf(world);
  const beyond = firstBeyondEntitlement(world, teamShares, world.queue.classOf(workload));
  if (beyond === null) return null;
  const { node, positions } = beyond;
  const somebodyCould = [...evictable.keys()].some((team) => !isUnder(teamUse.node(team), node));
  // If both a type and the total are exceeded, the type is reported.
  const position = positions.at(-1);
  if (!somebodyCould || position === undefined) return null;
  return {
    team: node.name,
    resource: teamUse.resources[position] as string,
    entitlement: statedAmount(position, entitlementToPreempt(teamShares.get(node) as TeamShare, position)),
    held: statedAmount(position, node.used[position] ?? 0),
  };
}

/**
 * The smallest limit on accelerators of all types together, over the team and all teams above it. It also caps each
 * single type.
 */
function limitInAll({ state }: World, team: TeamName): number {
  let most = Number.POSITIVE_INFINITY;
  for (let at: TeamName | null = team; at !== null; at = state.teams.get(at)?.parent ?? null)
    most = Math.min(most, state.teams.get(at)?.limit[ALL_ACCELERATORS] ?? Number.POSITIVE_INFINITY);
  return most;
}
