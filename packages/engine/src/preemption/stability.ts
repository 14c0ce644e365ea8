/**
 * Rejects plans that another team would reverse. Preemption within a team may also take idle capacity and so bring the
 * team above its entitlement. If another team below its entitlement waits, it would reclaim that capacity at once: the
 * victims would be evicted for nothing, and two such teams would preempt in turn forever.
 */
import type { TeamName } from "@headroom/model";
import { spentBudget } from "../usage/gate.ts";
import { amountHeld } from "../cluster/amounts.ts";
import { workloadOf } from "../cluster/entities.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { amountAt } from "../cluster/team-node.ts";
import type { TeamNode } from "../cluster/team-node.ts";
import type { World } from "../cluster/world.ts";
import { couldEverFit } from "../placement/could-ever.ts";
import { entitlementToKeep } from "../ordering/team-share.ts";
import type { TeamShare, TeamShares } from "../ordering/team-share.ts";
import { acceptableTypes, amountCompared } from "../cluster/request.ts";
import type { Plan } from "./plan.ts";
import { isInScope, reclaimScope, sideOf } from "./eligibility.ts";

/**
 * Returns whether the plan brings a team above its entitlement to a resource that another team's waiting request could
 * then reclaim.
 */
export function wouldBeUndone(world: World, teamShares: TeamShares, plan: Plan): boolean {
  if (!world.rules.phases.includes("reclaim")) return false;
  const { team } = plan.preemptor.request;
  const passed = positionsPassed(world, teamShares, plan);
  if (passed.size === 0) return false;
  return world.queue.waitingClasses().some((bucket) => {
    if (bucket.request.team === team) return false;
    const side = sideOf(world, bucket.request.team, team);
    const positions = side === null ? [] : (passed.get(side) ?? []);
    const asked = amountCompared(world, bucket.request);
    if (!positions.some((position) => amountAt(asked, position) > 0)) return false;
    return goesThere(world, bucket, plan) && mayPreemptOf(world, teamShares, bucket, team);
  });
}

/**
 * The resources for which the plan raises usage above the entitlement, for the preemptor's team and each team above it.
 */
function positionsPassed(
  world: World,
  teamShares: TeamShares,
  { preemptor, victims }: Plan,
): ReadonlyMap<TeamNode, readonly number[]> {
  const asked = amountCompared(world, preemptor.request);
  const given = victims.map(({ attempt, keeps }) => {
    const { gang } = workloadOf(world, attempt.workloadId).spec;
    return amountHeld(world, gang, { ...attempt, workers: attempt.workers.slice(keeps) });
  });
  const more = (position: number): number =>
    given.reduce((rest, amount) => rest - amountAt(amount, position), amountAt(asked, position));
  const passed = new Map<TeamNode, readonly number[]>();
  for (let node: TeamNode | null = world.teamUse.node(preemptor.request.team); node !== null; node = node.parent) {
    const { used } = node;
    const teamShare = teamShares.get(node) as TeamShare;
    const positions = teamShare.positions.filter(
      (position) =>
        more(position) > 0 && (used[position] ?? 0) + more(position) > entitlementToKeep(teamShare, position),
    );
    if (positions.length > 0) passed.set(node, positions);
  }
  return passed;
}

/** Returns whether the request could fit the fleet and accepts the accelerator type of the plan. */
const goesThere = (world: World, bucket: QueueBucket, { placement }: Plan): boolean =>
  couldEverFit(world, bucket) &&
  acceptableTypes(world, bucket.request).some(({ type }) => type === placement.acceleratorType);

function mayPreemptOf(world: World, teamShares: TeamShares, bucket: QueueBucket, team: TeamName): boolean {
  if (spentBudget(world.state, bucket.request.team) !== null) return false;
  const scope = reclaimScope(world, teamShares, bucket);
  return scope !== null && isInScope(world, scope, team);
}
