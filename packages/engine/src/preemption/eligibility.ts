/** Stage 1: which work may be evicted, and for which requests. */
import type { Batch } from "../batch/batch.ts";
import type { TeamName } from "../model/ids.ts";
import type { Attempt, EvictionReason, Workload } from "../model/workload.ts";
import { preemptibilityOf } from "../policy/preemptible.ts";
import { amountHeld } from "../cluster/amounts.ts";
import { workloadOf } from "../cluster/entities.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { ACCELERATORS_AT, FIRST_TYPE_AT, amountAt } from "../cluster/team-node.ts";
import type { Amount, TeamNode } from "../cluster/team-node.ts";
import type { World } from "../cluster/world.ts";
import { entitlementToKeep, entitlementToPreempt, teamSharesOf } from "../ordering/team-share.ts";
import { acceptableTypes, amountCompared } from "../cluster/request.ts";
import type { TeamShare, TeamShares } from "../ordering/team-share.ts";

/** What the eviction is for: a team's own guarantee, or anything else that a policy names. */
export type Ground = "guarantee" | "any";

/** Runs, may be evicted, and ran as long as it was promised to. */
export function isEvictable({ world, nowMs }: Batch, attempt: Attempt, ground: Ground = "any"): boolean {
  if (attempt.stop !== null || attempt.terminating !== undefined || attempt.workers.length === 0) return false;
  const { spec } = workloadOf(world, attempt.workloadId);
  const preemptibility = preemptibilityOf(world.rules, spec);
  if (preemptibility === "never" || (preemptibility === "aboveGuarantee" && ground !== "guarantee")) return false;
  return spec.minRuntimeMs === undefined || nowMs - attempt.placedAtMs >= spec.minRuntimeMs;
}

/** Whether it holds something on one of the types; of a gang of groups each may be on another. */
export function isOnAny({ capacity, state }: World, attempt: Attempt, types: ReadonlySet<string>): boolean {
  if (types.has(attempt.acceleratorType)) return true;
  if (state.workloads.get(attempt.workloadId)?.spec.gang.taskGroups === undefined) return false;
  return attempt.workers.some(({ node }) => types.has(capacity.slot(node).node.acceleratorType));
}

/** In the same team, by higher priority alone. */
export function mayPreempt(head: Workload, victim: Workload): boolean {
  return victim.spec.team === head.spec.team && victim.spec.priority < head.spec.priority;
}

/** Teams whose work a request may reclaim: those `below` this one; `null`: all teams. */
export interface PreemptionScope {
  readonly below: TeamNode | null;
}

/**
 * The scope of a reclaim: with the request, all teams from its own up to the scope stay within their entitlements.
 * Usage taken from a sibling changes nothing above both, so those levels are not checked. `null`: the request is not
 * entitled.
 */
export function scopeOf(world: World, teamShares: TeamShares, preemptor: QueueBucket): PreemptionScope | null {
  const beyond = firstBeyondEntitlement(world, teamShares, preemptor);
  return beyond?.node.name === preemptor.request.team ? null : { below: beyond?.node ?? null };
}

interface BeyondEntitlement {
  readonly node: TeamNode;
  readonly positions: readonly number[];
}

/**
 * The first team, walking from the request's own to the root, that would exceed its entitlement with it, and the
 * resource; `null`: none.
 */
export function firstBeyondEntitlement(
  world: World,
  teamShares: TeamShares,
  preemptor: QueueBucket,
): BeyondEntitlement | null {
  const request = amountCompared(world, preemptor.request);
  for (let node: TeamNode | null = world.teamUse.node(preemptor.request.team); node !== null; node = node.parent) {
    const { used } = node;
    const teamShare = teamShares.get(node) as TeamShare;
    const positions = teamShare.positions.filter((position) => {
      const more = amountAt(request, position);
      return more > 0 && (used[position] ?? 0) + more > entitlementToPreempt(teamShare, position);
    });
    if (positions.length > 0) return { node, positions };
  }
  return null;
}

/**
 * Whether the team stays within its own guarantee with the request: of accelerators and their types, or, for a request without any,
 * of cores and memory. A team that is guaranteed nothing of what is asked for has no such claim.
 */
export function isWithinGuarantee(world: World, preemptor: QueueBucket): boolean {
  const { teamUse } = world;
  const request = amountCompared(world, preemptor.request);
  const { used, guaranteed } = teamUse.node(preemptor.request.team);
  const asked = teamUse.compared.filter((position) => amountAt(request, position) > 0);
  const accelerators = asked.filter((position) => position >= ACCELERATORS_AT);
  const bounded = (accelerators.length > 0 ? accelerators : asked).filter((at) => Number.isFinite(guaranteed[at]));
  return (
    bounded.length > 0 && bounded.every((at) => (used[at] ?? 0) + amountAt(request, at) <= (guaranteed[at] as number))
  );
}

/** Whether a part of what would leave is above what the team itself is guaranteed. */
const isAboveGuarantee = ({ used, guaranteed }: TeamNode, positions: readonly number[], given: Amount): boolean =>
  positions.some((at) => amountAt(given, at) > 0 && (used[at] ?? 0) > (guaranteed[at] ?? Number.POSITIVE_INFINITY));

export function isInScope({ teamUse }: World, { below }: PreemptionScope, team: TeamName): boolean {
  if (below === null) return true;
  for (let at = teamUse.node(team) as TeamNode | null; at !== null; at = at.parent) if (at === below) return true;
  return false;
}

/** Workers that would be evicted. */
interface Taking {
  readonly preemptor: QueueBucket;
  readonly attempt: Attempt;
  readonly workload: Workload;
  readonly keeps: number;
  readonly upTo: number;
}

/**
 * Whether workers are eligible for another team: of the two children of the lowest common ancestor, the victim's side
 * exceeds its entitlement to a requested resource, and the workers hold some of it.
 */
export function isAboveEntitlement({ world }: Batch, teamShares: TeamShares, taking: Taking): boolean {
  const { teamUse } = world;
  const { preemptor, attempt, workload, keeps, upTo } = taking;
  const { gang, team } = workload.spec;
  const path = pathToSide(world, preemptor.request.team, team);
  const side = path.at(-1);
  if (side === undefined) return false;
  const given = amountHeld(world, gang, { ...attempt, workers: attempt.workers.slice(keeps, upTo) });
  if (
    preemptibilityOf(world.rules, workload.spec) === "aboveGuarantee" &&
    !isAboveGuarantee(teamUse.node(team), teamUse.compared, given)
  )
    return false;
  if (path.some((at) => holdsByRight(teamShares.get(at) as TeamShare, given))) return false;
  const teamShare = teamShares.get(side) as TeamShare;
  const request = amountCompared(world, preemptor.request);
  return teamShare.positions.some(
    (position) =>
      amountAt(request, position) > 0 &&
      amountAt(given, position) > 0 &&
      isAbove(teamShare, position) &&
      gives(teamShares, { node: teamUse.node(team), side, position }),
  );
}

/** It is within its entitlement of the type that its guarantee states, but may exceed it for other types. */
export const holdsByRight = (teamShare: TeamShare, given: Amount): boolean =>
  teamShare.positions.some(
    (position) =>
      position >= FIRST_TYPE_AT &&
      Number.isFinite(teamShare.node.guarantee[position] ?? Number.POSITIVE_INFINITY) &&
      amountAt(given, position) > 0 &&
      !isAbove(teamShare, position),
  );

export const isAbove = (teamShare: TeamShare, position: number): boolean =>
  (teamShare.node.used[position] ?? 0) > entitlementToKeep(teamShare, position);

/**
 * Whether a team contributes to its side's excess: from the side down to it every team exceeds its own entitlement, or
 * no sibling does and the parent has no work of its own.
 */
function gives(teamShares: TeamShares, { node, side, position }: DonorQuery): boolean {
  for (let at = node; at !== side; at = at.parent as TeamNode) {
    if (isAbove(teamShares.get(at) as TeamShare, position)) continue;
    const { children, used } = at.parent as TeamNode;
    if (children.some((sister) => isAbove(teamShares.get(sister) as TeamShare, position))) return false;
    const below = children.reduce((sum, child) => sum + (child.used[position] ?? 0), 0);
    if ((used[position] ?? 0) > below) return false;
  }
  return true;
}

interface DonorQuery {
  readonly node: TeamNode;
  readonly side: TeamNode;
  readonly position: number;
}

interface EligibilityRequest {
  readonly preemptor: QueueBucket;
  readonly teamShares: TeamShares;
  readonly scope: PreemptionScope;
}

/** Whether a team has any excess now; evictions only reduce it. */
export function holdsAboveEntitlement(
  world: World,
  { preemptor, teamShares, scope }: EligibilityRequest,
  team: TeamName,
): boolean {
  if (!isInScope(world, scope, team)) return false;
  const node = sideOf(world, preemptor.request.team, team);
  if (node === null) return false;
  const teamShare = teamShares.get(node) as TeamShare;
  const request = amountCompared(world, preemptor.request);
  return teamShare.positions.some((position) => amountAt(request, position) > 0 && isAbove(teamShare, position));
}

/**
 * The other team's ancestor just below the lowest common ancestor; `null`: the other team is an ancestor, or the same.
 */
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

/** Teams from which the preemptor may take: its own by priority alone; `null`: none. */
export const reachOf = (world: World, preemptor: QueueBucket, reason: EvictionReason): PreemptionScope | null =>
  reason === "reclaimed" ? scopeOf(world, teamSharesOf(world), preemptor) : { below: null };

/** Accelerators of one type that a plan would find at most, if every victim candidate left; -1: there is no plan. Decided from sums. */
export function roomAtMost(world: World, preemptor: QueueBucket, reason: "reclaimed" | "preempted"): number {
  if (world.evictable.size === 0) return -1;
  const types = acceptableTypes(world, preemptor.request);
  if (isHeldByGuarantee(world, preemptor)) return -1;
  const teamShares = teamSharesOf(world);
  const scope = reachOf(world, preemptor, reason);
  if (scope === null) return -1;
  const { priority } = (preemptor.waiting.first() as Workload).spec;
  let attempts = 0;
  let terminating = 0;
  for (const [team, work] of world.evictable) {
    if ((team === preemptor.request.team) !== (reason === "preempted")) continue;
    const gives =
      reason === "preempted"
        ? work.priorityMin < priority
        : holdsAboveEntitlement(world, { preemptor, teamShares, scope }, team);
    if (!gives) continue;
    attempts += work.size;
    terminating += work.accelerators;
  }
  if (attempts === 0 && world.terminating.size === 0) return -1;
  return types.reduce((most, type) => Math.max(most, type.freeCount + type.releasingCount + terminating), -1);
}

/** Work that is not preemptible stays within guarantees, and evicting preemptible work frees nothing of those. */
function isHeldByGuarantee({ teamUse, rules }: World, { request }: QueueBucket): boolean {
  if (request.isPreemptible || rules.teams.nonPreemptible === "limit") return false;
  return teamUse.guaranteePassed(request.team, teamUse.amountOf(request.gang, request.workers, "")) !== null;
}
