/**
 * The product's own search: workers that elastic gangs can do without leave first, then those whose eviction costs least, one by
 * one, until the beneficiary fits; then everybody is given back whose leaving was not needed. What the cost is: `eviction-cost.ts`.
 */
import type { Batch } from "../batch/batch.ts";
import type { TeamName } from "../model/ids.ts";
import type { EvictionReason, Workload } from "../model/workload.ts";
import { workloadOf } from "../cluster/entities.ts";
import { Ledger } from "../cluster/ledger.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";
import { teamSharesOf } from "../ordering/team-share.ts";
import type { TeamShares } from "../ordering/team-share.ts";
import { findPlacement } from "../placement/place.ts";
import { acceptableTypes, isInGroups, quotaReached, wholeNeeded } from "../cluster/request.ts";
import type { Placement } from "../cluster/request.ts";
import { ReleasingRoom, couldSuffice } from "../placement/releasing-room.ts";
import { findByNode } from "./by-node.ts";
import { isStuck, mayStrangersMove, planFor } from "./evict-or-migrate.ts";
import { victimCandidatesFor } from "./victim-candidates.ts";
import type { VictimCandidate } from "./victim-candidates.ts";
import { findRoomByMoving } from "./consolidate.ts";
import type { Plan } from "./plan.ts";
import { victimsOf } from "./replace.ts";
import { holdsAboveEntitlement, isInScope, mayPreempt, scopeOf } from "./eligibility.ts";
import type { PreemptionScope } from "./eligibility.ts";
import { wouldBeUndone } from "./minimise.ts";
import { TentativeEvictions } from "./tentative-evictions.ts";
import { acceleratorsOfUnit } from "./victim-order.ts";
import { hasRight } from "./search.ts";
import type { Search } from "./search.ts";

const EVERYBODY: PreemptionScope = { below: null };

/**
 * Whether there is any hope of a plan, by sums alone. Asked of everybody who waits before any of them is looked at in order, so
 * that a round in which nobody has a claim costs next to nothing.
 */
export function mayFindCheapest(batch: Batch, preemptor: QueueBucket, reason: EvictionReason): boolean {
  const { world } = batch;
  if (reason === "incomplete" || world.evictable.size === 0) return false;
  const needed = wholeNeeded(preemptor.request);
  if (reason !== "moved") return roomAtMost(batch, preemptor, reason) >= needed;
  return acceptableTypes(world, preemptor.request).some(
    (type) => type.freeCount >= needed && quotaReached(world, preemptor.request, type.type) === null,
  );
}

/** Accelerators of one type that a plan would find at the most, if everybody left who may be asked; -1: there is no plan at all. */
export function roomAtMost(batch: Batch, preemptor: QueueBucket, reason: "reclaimed" | "preempted"): number {
  const { world } = batch;
  if (world.evictable.size === 0) return -1;
  const types = acceptableTypes(world, preemptor.request);
  if (isHeldByGuarantee(world, preemptor)) return -1;
  const teamShares = teamSharesOf(world);
  const scope = reason === "reclaimed" ? scopeOf(batch, teamShares, preemptor) : EVERYBODY;
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

/** Work that cannot be evicted stays within guarantees, and whoever may be evicted takes nothing up of those. */
function isHeldByGuarantee({ teamUse, rules }: World, preemptor: QueueBucket): boolean {
  if (preemptor.request.isPreemptible || rules.teams.nonPreemptible === "limit") return false;
  return (
    teamUse.guaranteePassed(
      preemptor.request.team,
      teamUse.amountOf(preemptor.request.gang, preemptor.request.workers, ""),
    ) !== null
  );
}

export function findCheapest(batch: Batch, preemptor: QueueBucket, reason: EvictionReason): Plan | null {
  const { world } = batch;
  if (reason === "moved") return findRoomByMoving(batch, preemptor);
  if (reason === "incomplete") return null;
  if (world.evictable.size === 0) return null;
  const teamShares = teamSharesOf(world);
  const scope = reason === "reclaimed" ? scopeOf(batch, teamShares, preemptor) : EVERYBODY;
  if (scope === null) return null;
  const anybodyLeaves = acceptableTypes(world, preemptor.request).some(({ releasing }) => releasing.next(0) >= 0);
  const releasing = anybodyLeaves ? findPlacement(world, preemptor.request, "releasing") : null;
  // Who is leaving anyway will do: nobody else has to.
  if (releasing !== null)
    return mayHaveWhatComes(batch, { preemptor, reason, scope })
      ? { preemptor, placement: releasing, victims: [] }
      : null;
  const donors = donorsTo(world, { preemptor, reason, scope }, teamShares);
  const mayMove = reason === "reclaimed" && mayStrangersMove(world, preemptor);
  const held = (
    mayMove ? [...world.evictable.values()] : donors.flatMap((team) => world.evictable.get(team) ?? [])
  ).map(({ byNode }) => byNode);
  // Most who have no hope are told by what there is in all, before anybody is put in order.
  if (donors.length === 0 || !couldSuffice(world, preemptor.request, held)) return null;
  const { steady, cheapest, givenBy } = victimCandidatesFor(batch, { preemptor, reason, donors });
  if (steady.length === 0 || !(mayMove || couldSuffice(world, preemptor.request, [givenBy]))) return null;
  const lasts = (plan: Plan): boolean => reason !== "preempted" || !wouldBeUndone(batch, teamShares, plan);
  const ledger = new Ledger(world);
  const searchAmong = <T>(
    find: (batch: Batch, asked: Search) => T,
    among: Pick<Search, "victimCandidates" | "costOf">,
  ): T => {
    const found = find(batch, {
      preemptor,
      reason,
      teamShares,
      scope,
      donors: new Set(donors),
      ...among,
      ledger,
      tentativeEvictions: new TentativeEvictions(ledger),
    });
    ledger.rollback();
    return found;
  };
  try {
    // What is cheapest changes with time; whether there is a plan at all must not, or nothing would ever be at rest.
    const steadily = { victimCandidates: steady, costOf: acceleratorsOfUnit };
    const byCost = { victimCandidates: cheapest, costOf: ({ cost }: VictimCandidate): number => cost };
    const inTurn = searchAmong(findInTurn, steadily);
    const isScattered = inTurn === "scattered";
    const plan = isScattered ? searchAmong(findByNode, steadily) : inTurn;
    if (plan === null || !lasts(plan)) return null;
    if (!isScattered && steady === cheapest) return plan;
    const cheaper = searchAmong(isScattered ? findByNode : findInTurn, byCost);
    return cheaper !== null && cheaper !== "scattered" && lasts(cheaper) ? cheaper : plan;
  } finally {
    ledger.rollback();
  }
}

/** Teams of whose work some may be asked to leave. */
function donorsTo(
  world: World,
  { preemptor, reason, scope }: EntitlementEntitlement,
  teamShares: TeamShares,
): readonly TeamName[] {
  if (reason === "preempted") return world.evictable.has(preemptor.request.team) ? [preemptor.request.team] : [];
  const isOver = (team: TeamName): boolean => holdsAboveEntitlement(world, { preemptor, teamShares, scope }, team);
  return [...world.evictable.keys()].filter((team) => team !== preemptor.request.team && isOver(team));
}

/**
 * Whether what others are leaving is kept for the beneficiary: where it could evict for itself whoever took it. Otherwise those
 * who just left might start there again, ahead of it in the queue, and be evicted a second time.
 */
function mayHaveWhatComes({ world }: Batch, { preemptor, reason, scope }: EntitlementEntitlement): boolean {
  const head = preemptor.waiting.first() as Workload;
  for (const { workloadId } of world.terminating) {
    const terminating = workloadOf(world, workloadId);
    const mayHave =
      reason === "reclaimed" ? isInScope(world, scope, terminating.spec.team) : mayPreempt(head, terminating);
    if (mayHave) return true;
  }
  return false;
}

interface EntitlementEntitlement {
  readonly preemptor: QueueBucket;
  readonly reason: EvictionReason;
  readonly scope: PreemptionScope;
}

/**
 * One by one, as long as they may be asked, until the beneficiary fits. `"scattered"`: it does not, though enough would leave, had
 * it only been in one place.
 */
function findInTurn(batch: Batch, asked: Search): Plan | "scattered" | null {
  const { world } = batch;
  const { preemptor, reason, victimCandidates, tentativeEvictions } = asked;
  const fits = (): Placement | null => findPlacement(world, preemptor.request, "releasing");
  const room = new ReleasingRoom(world, preemptor.request);
  const mayBeScattered = reason === "reclaimed" && !isInGroups(preemptor.request);
  let looks = 0;
  let isHopeless = false;
  const donors = new Set(victimCandidates.map(({ workload }) => workload.spec.team));
  for (const [index, victimCandidate] of victimCandidates.entries()) {
    const { team } = victimCandidate.workload.spec;
    if (!donors.has(team)) continue;
    if (!hasRight(batch, asked, victimCandidate)) {
      if (!holdsAboveEntitlement(world, asked, team)) donors.delete(team);
      if (donors.size === 0) break;
      continue;
    }
    tentativeEvictions.take(victimCandidate);
    room.changed(victimCandidate.attempt.workers);
    if (isHopeless || !room.suffices) continue;
    const placement = fits();
    if (placement !== null) {
      const { needed, found } = tentativeEvictions.giveBackUnless(fits, placement);
      if (reason !== "reclaimed") return { preemptor, placement: found, victims: victimsOf(needed, []) };
      // Small work that left before large work may have left in vain: its team might be within its claim with it as well.
      const plan = planFor(batch, asked, { placement: found, needed });
      if (plan !== null && !isStuck(plan)) return plan;
      return mayBeScattered ? "scattered" : null;
    }
    // Where there is no place though there is room, it need not be looked for after each of the others if all of them bring none.
    isHopeless =
      looks++ === 0 &&
      !isInGroups(preemptor.request) &&
      tentativeEvictions.findBeyond(victimCandidates.slice(index + 1), fits) === null;
    if (isHopeless && !mayBeScattered) return null;
  }
  if (!mayBeScattered) return null;
  const needed = wholeNeeded(preemptor.request);
  const isEnough = acceptableTypes(world, preemptor.request).some(
    (type) => type.freeCount + type.releasingCount >= needed,
  );
  return isEnough ? "scattered" : null;
}
