/** Who may be evicted for whom, by the product's own rules. */
import type { Batch } from "../batch/batch.ts";
import type { TeamName } from "../model/ids.ts";
import type { Attempt, Workload } from "../model/workload.ts";
import { isPreemptible } from "../policy/preemptible.ts";
import { amountHeld } from "../cluster/amounts.ts";
import { workloadOf } from "../cluster/entities.ts";
import type { PlacementClass } from "../cluster/queue.ts";
import { FIRST_TYPE_AT, amountAt } from "../cluster/team-node.ts";
import type { Amount, TeamNode } from "../cluster/team-node.ts";
import type { World } from "../cluster/world.ts";
import { claimToKeep, claimToTake } from "../ordering/standing.ts";
import { amountClaimed } from "../cluster/request.ts";
import type { Standing, Standings } from "../ordering/standing.ts";

/** Runs, may be evicted, and ran as long as it was promised to. */
export function isEvictable({ world, nowMs }: Batch, attempt: Attempt): boolean {
  if (attempt.stop !== null || attempt.leaving !== undefined || attempt.workers.length === 0) return false;
  const { spec } = workloadOf(world, attempt.workloadId);
  if (!isPreemptible(world.rules, spec)) return false;
  return spec.minRuntimeMs === undefined || nowMs - attempt.placedAtMs >= spec.minRuntimeMs;
}

/** Whether it holds something on one of the types; of a gang of groups each may be on another. */
export function isOnAny({ capacity, state }: World, attempt: Attempt, types: ReadonlySet<string>): boolean {
  if (types.has(attempt.acceleratorType)) return true;
  if (state.workloads.get(attempt.workloadId)?.spec.gang.groups === undefined) return false;
  return attempt.workers.some(({ node }) => types.has(capacity.slot(node).node.acceleratorType));
}

/** In the same team, by higher priority alone. */
export function mayPreempt(beneficiary: PlacementClass, head: Workload, victim: Workload): boolean {
  return victim.spec.team === beneficiary.team && victim.spec.priority < head.spec.priority;
}

/** From whom a request may be claimed: from every team `below` this one; `null`: from every team there is. */
export interface Reach {
  readonly below: TeamNode | null;
}

/**
 * How far the request may be claimed: with it the team and all above it up to there stay within what they may claim. What a team
 * takes from a sister changes nothing of what those above both hold, so those are not asked. `null`: it may claim nothing.
 */
export function reachOf({ world }: Batch, standings: Standings, beneficiary: PlacementClass): Reach | null {
  const beyond = firstBeyondClaim(world, standings, beneficiary);
  return beyond?.node.name === beneficiary.team ? null : { below: beyond?.node ?? null };
}

interface BeyondClaim {
  readonly node: TeamNode;
  readonly positions: readonly number[];
}

/** The first team, from the request's own up, that would hold more than it may claim with it, and of what; `null`: none. */
export function firstBeyondClaim(world: World, standings: Standings, beneficiary: PlacementClass): BeyondClaim | null {
  const request = amountClaimed(world, beneficiary);
  for (let node: TeamNode | null = world.teamUse.node(beneficiary.team); node !== null; node = node.parent) {
    const { used } = node;
    const standing = standings.get(node) as Standing;
    const positions = standing.positions.filter((position) => {
      const more = amountAt(request, position);
      return more > 0 && (used[position] ?? 0) + more > claimToTake(standing, position);
    });
    if (positions.length > 0) return { node, positions };
  }
  return null;
}

export function isWithinReach({ teamUse }: World, { below }: Reach, team: TeamName): boolean {
  if (below === null) return true;
  for (let at = teamUse.node(team) as TeamNode | null; at !== null; at = at.parent) if (at === below) return true;
  return false;
}

/** Workers that would leave for somebody. */
interface Taking {
  readonly beneficiary: PlacementClass;
  readonly attempt: Attempt;
  readonly workload: Workload;
  readonly keeps: number;
  readonly upTo: number;
}

/**
 * Whether workers may be taken for another team: at the two teams just below the lowest one they share, the victim's holds more
 * than it may claim of something that is asked for, and what would leave is a part of that.
 */
export function isAboveClaim({ world }: Batch, standings: Standings, taking: Taking): boolean {
  const { teamUse } = world;
  const { beneficiary, attempt, workload, keeps, upTo } = taking;
  const { gang, team } = workload.spec;
  const path = pathToSide(world, beneficiary.team, team);
  const side = path.at(-1);
  if (side === undefined) return false;
  const given = amountHeld(world, gang, { ...attempt, workers: attempt.workers.slice(keeps, upTo) });
  if (path.some((at) => holdsByRight(standings.get(at) as Standing, given))) return false;
  const standing = standings.get(side) as Standing;
  const request = amountClaimed(world, beneficiary);
  return standing.positions.some(
    (position) =>
      amountAt(request, position) > 0 &&
      amountAt(given, position) > 0 &&
      isAbove(standing, position) &&
      gives(standings, { node: teamUse.node(team), side, position }),
  );
}

/** Of a type that its guarantee states it holds no more than it may claim: of other types it may hold too much. */
export const holdsByRight = (standing: Standing, given: Amount): boolean =>
  standing.positions.some(
    (position) =>
      position >= FIRST_TYPE_AT &&
      Number.isFinite(standing.node.guarantee[position] ?? Number.POSITIVE_INFINITY) &&
      amountAt(given, position) > 0 &&
      !isAbove(standing, position),
  );

export const isAbove = (standing: Standing, position: number): boolean =>
  (standing.node.used[position] ?? 0) > claimToKeep(standing, position);

/**
 * Whether a team gives of what the side that it lies below holds too much of: from there down to it everyone holds more than it may
 * claim itself, or nobody beside it does and the team above has no work of its own.
 */
function gives(standings: Standings, { node, side, position }: Giving): boolean {
  for (let at = node; at !== side; at = at.parent as TeamNode) {
    if (isAbove(standings.get(at) as Standing, position)) continue;
    const { children, used } = at.parent as TeamNode;
    if (children.some((sister) => isAbove(standings.get(sister) as Standing, position))) return false;
    const below = children.reduce((sum, child) => sum + (child.used[position] ?? 0), 0);
    if ((used[position] ?? 0) > below) return false;
  }
  return true;
}

interface Giving {
  readonly node: TeamNode;
  readonly side: TeamNode;
  readonly position: number;
}

interface Asked {
  readonly beneficiary: PlacementClass;
  readonly standings: Standings;
  readonly reach: Reach;
}

/** Whether anything at all may be taken from a team for the request, as it stands now: what is taken only brings it down. */
export function holdsAboveClaim(world: World, { beneficiary, standings, reach }: Asked, team: TeamName): boolean {
  if (!isWithinReach(world, reach, team)) return false;
  const node = sideOf(world, beneficiary.team, team);
  if (node === null) return false;
  const standing = standings.get(node) as Standing;
  const request = amountClaimed(world, beneficiary);
  return standing.positions.some((position) => amountAt(request, position) > 0 && isAbove(standing, position));
}

/** Of the two teams just below the lowest one that both lie below, the other's; `null`: the other is above, or the same. */
export const sideOf = (world: World, own: TeamName, other: TeamName): TeamNode | null =>
  pathToSide(world, own, other).at(-1) ?? null;

/** From the other team up to that one. */
export function pathToSide({ teamUse }: World, own: TeamName, other: TeamName): readonly TeamNode[] {
  const above = new Set<TeamNode>();
  for (let at: TeamNode | null = teamUse.node(own); at !== null; at = at.parent) above.add(at);
  const path: TeamNode[] = [];
  for (let at: TeamNode | null = teamUse.node(other); at !== null && !above.has(at); at = at.parent) path.push(at);
  return path;
}
