/**
 * Checks whether victims in other teams may be evicted, unit by unit. Each check compares the preemptor's side of the
 * quota tree with the victim's side, less the units evicted so far.
 */
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { Amount, TeamNode } from "../../cluster/team-node.ts";
import type { World } from "../../cluster/world.ts";
import { entitlementToKeep } from "../../ordering/team-share.ts";
import { COMPARED, amountAt } from "../../cluster/team-node.ts";
import type { TeamShare, TeamShares } from "../../ordering/team-share.ts";
import type { KaiSearch } from "./kai.ts";
import type { PlacedAgain } from "../../preemption/place-again.ts";
import { amountAsked } from "../../cluster/request.ts";
import { partsOfUnit } from "../../preemption/plan.ts";
import type { VictimUnit } from "../../preemption/plan.ts";

const requestOf = (world: World, request: PlacementRequest): Amount => amountAsked(world, request, "");
const usedAt = (node: TeamNode, position: number): number => node.used[position] ?? 0;

/**
 * Returns whether the preemptor's team stays within its fair share of every resource. If the preemptor is
 * non-preemptible, the team must also stay within its guarantee.
 */
export function mayReclaim(world: World, teamShares: TeamShares, preemptor: PlacementRequest): boolean {
  const node = world.teamUse.node(preemptor.team);
  const { fair, fairByPresent } = teamShares.get(node) as TeamShare;
  const request = requestOf(world, preemptor);
  const withinFair = COMPARED.every(
    (position) =>
      usedAt(node, position) + amountAt(request, position) <=
      Math.min(fair[position] as number, fairByPresent[position] as number),
  );
  return withinFair && (preemptor.isPreemptible || world.teamUse.guaranteePassed(preemptor.team, request) === null);
}

function pathOf(node: TeamNode): readonly TeamNode[] {
  const path: TeamNode[] = [];
  for (let at: TeamNode | null = node; at !== null; at = at.parent) path.unshift(at);
  return path;
}

/** The children of the two teams' lowest common ancestor that contain `left` and `right`. */
function siblingsBelow(left: TeamNode, right: TeamNode): readonly [TeamNode, TeamNode] {
  const leftPath = pathOf(left);
  const rightPath = pathOf(right);
  let depth = 0;
  while (
    leftPath[depth] === rightPath[depth] &&
    leftPath[depth + 1] !== undefined &&
    rightPath[depth + 1] !== undefined
  )
    depth++;
  return [leftPath[depth] as TeamNode, rightPath[depth] as TeamNode];
}

/**
 * Returns whether every evicted unit belongs to a team above its entitlement, or is evicted for the guarantee of the
 * preemptor's team.
 */
export function acceptsLosses(
  { batch, preemptor, teamShares }: KaiSearch,
  { lost }: Pick<PlacedAgain, "lost">,
): boolean {
  const { world } = batch;
  const { teamUse } = world;
  const own = teamUse.node(preemptor.request.team);
  const request = requestOf(world, preemptor.request);
  const taken = new Map<TeamNode, number[]>();
  for (const unit of lost.toSorted(byWorkersKept)) {
    const node = teamUse.node(unit.workload.spec.team);
    const [ours, theirs] = siblingsBelow(own, node);
    if (!isFair(teamShares, ours, theirs, request, taken)) return false;
    const amount = teamUse.amountOfParts(partsOfUnit(unit), () => "");
    for (const at of pathOf(node)) {
      const before = taken.get(at) ?? [0, 0, 0];
      taken.set(
        at,
        COMPARED.map((position) => (before[position] as number) + amountAt(amount, position)),
      );
    }
  }
  return keepsBalance(teamShares, own, request, taken);
}

/** Workers beyond the minimum of a gang are evicted before the workers of the minimum. */
const byWorkersKept = (left: VictimUnit, right: VictimUnit): number =>
  left.attempt === right.attempt ? right.keeps - left.keeps : 0;

function isFair(
  teamShares: TeamShares,
  ours: TeamNode,
  theirs: TeamNode,
  request: Amount,
  taken: ReadonlyMap<TeamNode, readonly number[]>,
): boolean {
  const theirShare = teamShares.get(theirs) as TeamShare;
  const ourShare = teamShares.get(ours) as TeamShare;
  const held = (position: number): number => usedAt(theirs, position) - (taken.get(theirs)?.[position] ?? 0);
  if (COMPARED.some((position) => held(position) > entitlementToKeep(theirShare, position))) return true;
  const withinOurs = COMPARED.every(
    (position) => usedAt(ours, position) + amountAt(request, position) <= guaranteed(ourShare, position),
  );
  return withinOurs && COMPARED.some((position) => held(position) > guaranteed(theirShare, position));
}

/**
 * Returns whether the plan keeps the balance between siblings. The plan breaks it if a team on the preemptor's side
 * ends above its fair share and its ratio of usage to fair share is then not below that of a sibling that loses
 * capacity.
 */
function keepsBalance(
  teamShares: TeamShares,
  own: TeamNode,
  request: Amount,
  taken: ReadonlyMap<TeamNode, readonly number[]>,
): boolean {
  for (let at: TeamNode | null = own; at !== null; at = at.parent) {
    const { fair } = teamShares.get(at) as TeamShare;
    for (const [sibling, amounts] of taken) {
      if (sibling === at || sibling.parent !== at.parent) continue;
      const siblingFair = (teamShares.get(sibling) as TeamShare).fair;
      const unbalanced = COMPARED.some((position) => {
        if (amountAt(request, position) === 0) return false;
        const after = (usedAt(at, position) + amountAt(request, position)) / (fair[position] as number);
        const theirs = (usedAt(sibling, position) - (amounts[position] as number)) / (siblingFair[position] as number);
        return after > 1 && (siblingFair[position] as number) > 0 && after >= theirs;
      });
      if (unbalanced) return false;
    }
  }
  return true;
}

const guaranteed = ({ node }: TeamShare, position: number): number => node.guaranteed[position] as number;
