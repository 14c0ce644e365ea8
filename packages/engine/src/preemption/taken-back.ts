/**
 * Whoever takes the place of others of its own team may take what is idle beside it, and bring the team above its claim. While
 * others wait for what they may claim, that would be taken back at once: those evicted for it would have left for nothing, and
 * two teams that make room for their large work so, each of what the other has just taken back, would never be at rest.
 */
import type { Batch } from "../batch/batch.ts";
import { spentBudget } from "../usage/gate.ts";
import { amountHeld } from "../cluster/amounts.ts";
import { workloadOf } from "../cluster/entities.ts";
import type { PlacementClass } from "../cluster/queue.ts";
import { amountAt } from "../cluster/team-node.ts";
import type { TeamNode } from "../cluster/team-node.ts";
import type { World } from "../cluster/world.ts";
import { couldEverFit } from "../placement/could-ever.ts";
import { claimToKeep } from "../ordering/standing.ts";
import type { Standing, Standings } from "../ordering/standing.ts";
import { acceptableTypes, amountClaimed } from "../cluster/request.ts";
import type { Plan } from "./plan.ts";
import { isWithinReach, reachOf, sideOf } from "./rights.ts";

/** Whether the plan brings a team above its claim of something that another, who waits, may claim of it there. */
export function wouldBeTakenBack(batch: Batch, standings: Standings, plan: Plan): boolean {
  const { world } = batch;
  if (!world.rules.phases.includes("reclaim")) return false;
  const { team } = plan.beneficiary;
  const passed = positionsPassed(world, standings, plan);
  if (passed.size === 0) return false;
  return world.queue.waitingClasses().some((found) => {
    if (found.team === team) return false;
    const side = sideOf(world, found.team, team);
    const positions = side === null ? [] : (passed.get(side) ?? []);
    const asked = amountClaimed(world, found);
    if (!positions.some((position) => amountAt(asked, position) > 0)) return false;
    return goesThere(world, found, plan) && mayClaimOf(batch, standings, { found, team });
  });
}

/** What each team from the beneficiary's up holds more of than before, and then more than it may claim. */
function positionsPassed(
  world: World,
  standings: Standings,
  { beneficiary, victims }: Plan,
): ReadonlyMap<TeamNode, readonly number[]> {
  const asked = amountClaimed(world, beneficiary);
  const given = victims.map(({ attempt, keeps }) => {
    const { gang } = workloadOf(world, attempt.workloadId).spec;
    return amountHeld(world, gang, { ...attempt, workers: attempt.workers.slice(keeps) });
  });
  const more = (position: number): number =>
    given.reduce((rest, amount) => rest - amountAt(amount, position), amountAt(asked, position));
  const passed = new Map<TeamNode, readonly number[]>();
  for (let node: TeamNode | null = world.teamUse.node(beneficiary.team); node !== null; node = node.parent) {
    const { used } = node;
    const standing = standings.get(node) as Standing;
    const positions = standing.positions.filter(
      (position) => more(position) > 0 && (used[position] ?? 0) + more(position) > claimToKeep(standing, position),
    );
    if (positions.length > 0) passed.set(node, positions);
  }
  return passed;
}

/** Whether it will do with accelerators of the type that the plan is about. */
const goesThere = (world: World, found: PlacementClass, { placement }: Plan): boolean =>
  couldEverFit(world, found) && acceptableTypes(world, found).some(({ type }) => type === placement.acceleratorType);

interface Claimed {
  readonly found: PlacementClass;
  readonly team: PlacementClass["team"];
}

function mayClaimOf(batch: Batch, standings: Standings, { found, team }: Claimed): boolean {
  if (spentBudget(batch.world.state, found.team) !== null) return false;
  const reach = reachOf(batch, standings, found);
  return reach !== null && isWithinReach(batch.world, reach, team);
}
