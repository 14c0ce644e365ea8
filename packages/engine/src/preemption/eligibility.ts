/** Stage 1 of freeing capacity (`pipeline.ts`): which work may be evicted, and which requests may evict it. */
import { preemptibilityOf } from "@headroom/model";
import type { TeamName, Attempt, EvictionReason, Workload } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { amountHeld } from "../cluster/amounts.ts";
import { workloadOf } from "../cluster/entities.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { ACCELERATORS_AT, FIRST_TYPE_AT, amountAt, isUnder } from "../cluster/team-node.ts";
import type { Amount, TeamNode } from "../cluster/team-node.ts";
import type { World } from "../cluster/world.ts";
import { entitlementToKeep, entitlementToPreempt, teamSharesOf } from "../ordering/team-share.ts";
import { acceptableTypes, amountCompared, guaranteeReached } from "../cluster/request.ts";
import type { TeamShare, TeamShares } from "../ordering/team-share.ts";

/**
 * Returns whether any running work is always preemptible, so that plans can evict or migrate it without a guarantee.
 */
export function isAnyAlwaysPreemptible({ evictable }: World): boolean {
  for (const { always } of evictable.values()) if (always.size > 0) return true;
  return false;
}

/**
 * The preemption ground: `guarantee` if the preemptor stays within its team's own guarantee, `any` in all other cases.
 */
export type Ground = "guarantee" | "any";

/** Whether the attempt lies at an executor that does not take requests now. All its workers have one executor. */
function isSuspended({ state, capacity }: World, { workers }: Attempt): boolean {
  const [first] = workers;
  return state.executorStates.size > 0 && first !== undefined && capacity.slot(first.node).node.suspended === true;
}

/** Returns whether the attempt runs, is preemptible on this ground, and has reached its minimum runtime. */
export function isEvictable({ world, nowMs }: Batch, attempt: Attempt, ground: Ground = "any"): boolean {
  if (attempt.stop !== null || attempt.terminating !== undefined || attempt.workers.length === 0) return false;
  if (isSuspended(world, attempt)) return false;
  const { spec } = workloadOf(world, attempt.workloadId);
  const preemptibility = preemptibilityOf(world.rules, spec);
  if (preemptibility === "never" || (preemptibility === "aboveGuarantee" && ground !== "guarantee")) return false;
  return spec.minRuntimeMs === undefined || nowMs - attempt.placedAtMs >= spec.minRuntimeMs;
}

/**
 * Returns whether the attempt runs on a node of one of the accelerator types. Task groups of one gang may run on
 * different types.
 */
export function isOnAny({ capacity, state }: World, attempt: Attempt, types: ReadonlySet<string>): boolean {
  if (types.has(attempt.acceleratorType)) return true;
  if (state.workloads.get(attempt.workloadId)?.spec.gang.taskGroups === undefined) return false;
  return attempt.workers.some(({ node }) => types.has(capacity.slot(node).node.acceleratorType));
}

/** Returns whether the request may preempt the work: both belong to one team, and the work has lower priority. */
export function mayPreempt(head: Workload, victim: Workload): boolean {
  return victim.spec.team === head.spec.team && victim.spec.priority < head.spec.priority;
}

/** Teams whose work a request may reclaim: all teams under `below`, or all teams if `below` is `null`. */
export interface PreemptionScope {
  readonly below: TeamNode | null;
}

/**
 * The scope of a reclaim. It is limited by the first team, from the request's team upwards, that would exceed its
 * entitlement if the request started: only teams below that team may lose work. Capacity that moves between these teams
 * does not change the usage of the teams above them, so higher levels are not checked. The scope is `null` if the
 * request's own team would exceed its entitlement: the request may not reclaim then.
 */
export function reclaimScope(world: World, teamShares: TeamShares, preemptor: QueueBucket): PreemptionScope | null {
  const beyond = firstBeyondEntitlement(world, teamShares, preemptor);
  return beyond?.node.name === preemptor.request.team ? null : { below: beyond?.node ?? null };
}

interface BeyondEntitlement {
  readonly node: TeamNode;
  readonly positions: readonly number[];
}

/**
 * The first team, from the request's own team up to the root, that would exceed its entitlement if the request started,
 * with the exceeded resources. It is `null` if no team would.
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
 * Returns whether the team stays within its own guarantee if the request starts. Accelerators and accelerator types are
 * compared. A request without accelerators is compared by cores and memory. The result is false if the team has no
 * guarantee for the requested resources.
 */
function isWithinGuarantee(world: World, preemptor: QueueBucket): boolean {
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

/** The ground on which the request may evict work for this reason. */
export const groundOf = (world: World, preemptor: QueueBucket, reason: EvictionReason): Ground =>
  reason === "reclaimed" && isWithinGuarantee(world, preemptor) ? "guarantee" : "any";

/** Returns whether the team exceeds its own guarantee for a resource that the eviction would free. */
const isAboveGuarantee = ({ used, guaranteed }: TeamNode, positions: readonly number[], given: Amount): boolean =>
  positions.some((at) => amountAt(given, at) > 0 && (used[at] ?? 0) > (guaranteed[at] ?? Number.POSITIVE_INFINITY));

export const isInScope = ({ teamUse }: World, { below }: PreemptionScope, team: TeamName): boolean =>
  below === null || isUnder(teamUse.node(team), below);

/** Workers of a victim, and the preemptor that they are evicted for. */
interface Taking {
  readonly preemptor: QueueBucket;
  readonly attempt: Attempt;
  readonly workload: Workload;
  readonly keeps: number;
  readonly upTo: number;
}

/**
 * Returns whether the preemptor may evict workers of another team. The lowest common ancestor of the two teams has a
 * child team on the victim's side. This child team must exceed its entitlement to a requested resource, and the workers
 * must hold some of this resource.
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
  if (path.some((at) => holdsByEntitlement(teamShares.get(at) as TeamShare, given))) return false;
  const teamShare = teamShares.get(side) as TeamShare;
  const request = amountCompared(world, preemptor.request);
  return teamShare.positions.some(
    (position) =>
      amountAt(request, position) > 0 &&
      amountAt(given, position) > 0 &&
      isAbove(teamShare, position) &&
      gives(teamShares, teamUse.node(team), side, position),
  );
}

/**
 * Returns whether a guarantee protects the victim. It does if the guarantee names an accelerator type that the victim
 * holds, and the team is within its entitlement to this type. The team may still exceed its entitlement to other types.
 */
export const holdsByEntitlement = (teamShare: TeamShare, given: Amount): boolean =>
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
 * Returns whether a team contributes to the excess of `side`, a team above it. On the path from `side` down to the
 * team, each team must exceed its own entitlement. A team that does not may still contribute if none of its siblings
 * exceeds its entitlement and its parent has no work of its own.
 */
function gives(teamShares: TeamShares, node: TeamNode, side: TeamNode, position: number): boolean {
  for (let at = node; at !== side; at = at.parent as TeamNode) {
    if (isAbove(teamShares.get(at) as TeamShare, position)) continue;
    const { children, used } = at.parent as TeamNode;
    if (children.some((sister) => isAbove(teamShares.get(sister) as TeamShare, position))) return false;
    const below = children.reduce((sum, child) => sum + (child.used[position] ?? 0), 0);
    if ((used[position] ?? 0) > below) return false;
  }
  return true;
}

interface EligibilityRequest {
  readonly preemptor: QueueBucket;
  readonly teamShares: TeamShares;
  readonly scope: PreemptionScope;
}

/**
 * Returns whether work of a team may be reclaimed now: the child of the lowest common ancestor on the team's side
 * exceeds its entitlement to a requested resource. Evictions only reduce this excess.
 */
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
 * The child of the two teams' lowest common ancestor on the side of `other`. It is `null` if `other` is the team `own`
 * or a team above it.
 */
export const sideOf = (world: World, own: TeamName, other: TeamName): TeamNode | null =>
  pathToSide(world, own, other).at(-1) ?? null;

/**
 * The team `other` and the teams above it, up to and including the child of the lowest common ancestor of both teams.
 */
export function pathToSide({ teamUse }: World, own: TeamName, other: TeamName): readonly TeamNode[] {
  const above = new Set<TeamNode>();
  for (let at: TeamNode | null = teamUse.node(own); at !== null; at = at.parent) above.add(at);
  const path: TeamNode[] = [];
  for (let at: TeamNode | null = teamUse.node(other); at !== null && !above.has(at); at = at.parent) path.push(at);
  return path;
}

/**
 * The teams whose work the preemptor may evict, or `null` if the request may not reclaim. A preemption within a team is
 * limited by priority alone, so its scope has no limiting team.
 */
export const preemptionScope = (world: World, preemptor: QueueBucket, reason: EvictionReason): PreemptionScope | null =>
  reason === "reclaimed" ? reclaimScope(world, teamSharesOf(world), preemptor) : { below: null };

/**
 * Upper bound on the accelerators of one type that would be available if every victim candidate were evicted. It is -1
 * if no plan is possible. It is computed from totals alone.
 */
export function roomAtMost(world: World, preemptor: QueueBucket, reason: "reclaimed" | "preempted"): number {
  if (!mayAnyGive(world, preemptor, reason)) return -1;
  const types = acceptableTypes(world, preemptor.request);
  if (isHeldByGuarantee(world, preemptor)) return -1;
  const teamShares = teamSharesOf(world);
  const scope = preemptionScope(world, preemptor, reason);
  if (scope === null) return -1;
  const { priority } = (preemptor.waiting.first() as Workload).spec;
  const ground = groundOf(world, preemptor, reason);
  let attempts = 0;
  let terminating = 0;
  for (const [team, evictable] of world.evictable) {
    if ((team === preemptor.request.team) !== (reason === "preempted")) continue;
    const work = evictable.for(ground).filter(({ size }) => size > 0);
    if (work.length === 0) continue;
    const gives =
      reason === "preempted"
        ? work.some(({ priorityMin }) => priorityMin < priority)
        : holdsAboveEntitlement(world, { preemptor, teamShares, scope }, team);
    if (!gives) continue;
    for (const { size, accelerators } of work) {
      attempts += size;
      terminating += accelerators;
    }
  }
  if (attempts === 0 && world.terminating.size === 0) return -1;
  return types.reduce((most, type) => Math.max(most, type.freeCount + type.releasingCount + terminating), -1);
}

/** Returns whether there is work that the request may evict as far as teams and priorities tell, or that is ending. */
function mayAnyGive(
  { evictable, terminating }: World,
  { request, waiting }: QueueBucket,
  reason: "reclaimed" | "preempted",
): boolean {
  if (evictable.size === 0) return false;
  if (terminating.size > 0) return true;
  const own = evictable.get(request.team);
  if (reason === "reclaimed") return evictable.size > (own === undefined ? 0 : 1);
  if (own === undefined) return false;
  const { priority } = (waiting.first() as Workload).spec;
  return own.for("any").some(({ priorityMin }) => priorityMin < priority);
}

/**
 * Returns whether a guarantee blocks the request, which then is not preemptible. Evicting preemptible work would not
 * help such a request.
 */
const isHeldByGuarantee = (world: World, { request }: QueueBucket): boolean =>
  guaranteeReached(world, request, world.teamUse.amountOf(request.gang, request.workers, "")) !== null;
