/**
 * The product's own strategy. Workers beyond the minimum of elastic gangs are evicted first, then victims with the
 * lowest eviction cost (`cost.ts`), one by one until the preemptor fits; minimising then drops needless victims. A
 * request for many accelerators of one node continues with `by-node.ts`.
 */
import type { TeamName, EvictionReason, Workload } from "@headroom/model";
import type { Batch } from "../../batch/batch.ts";
import { workloadOf } from "../../cluster/entities.ts";
import type { EvictableWork } from "../../cluster/evictable-work.ts";
import { Ledger } from "../../cluster/ledger.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { World } from "../../cluster/world.ts";
import { teamSharesOf } from "../../ordering/team-share.ts";
import type { TeamShares } from "../../ordering/team-share.ts";
import { findPlacement } from "../../placement/place.ts";
import { acceptableTypes, isInGroups, quotaReached, wholeNeeded } from "../../cluster/request.ts";
import type { Placement } from "../../cluster/request.ts";
import { ReleasingRoom, couldSuffice } from "../../placement/releasing-room.ts";
import { victimCandidatesFor } from "../candidates.ts";
import type { VictimCandidate } from "../candidates.ts";
import {
  groundOf,
  holdsAboveEntitlement,
  isAnyAlwaysPreemptible,
  isInScope,
  mayPreempt,
  preemptionScope,
  roomAtMost,
} from "../eligibility.ts";
import type { PreemptionScope } from "../eligibility.ts";
import { acceleratorsOfUnit, victimsOf } from "../plan.ts";
import type { Plan } from "../plan.ts";
import { TentativeEvictions } from "../simulate.ts";
import { wouldBeUndone } from "../stability.ts";
import type { Planning, PreemptionStrategy, Search } from "../strategy.ts";
import { mayAnyBeEligible } from "./any-eligible.ts";
import { byNode } from "./by-node.ts";
import { consolidate } from "./consolidate.ts";
import { isEligibleVictim } from "./cost-search.ts";
import type { CostSearch } from "./cost-search.ts";
import { isStuck, mayStrangersMigrate, planFor } from "./evict-or-migrate.ts";

export const lowestCost: PreemptionStrategy<Plan> = {
  preemptsByPriority: true,
  mayAnyBeEligible,
  isEligible({ world }, preemptor, reason) {
    if (reason === "incomplete" || world.evictable.size === 0) return false;
    const needed = wholeNeeded(preemptor.request);
    if (reason !== "migrated") return roomAtMost(world, preemptor, reason) >= needed;
    if (!isAnyAlwaysPreemptible(world)) return false;
    return acceptableTypes(world, preemptor.request).some(
      (type) => type.freeCount >= needed && quotaReached(world, preemptor.request, type.type) === null,
    );
  },
  plan: (batch, preemptor, reason) =>
    reason === "migrated" ? consolidate(batch, preemptor) : evictions(batch, preemptor, reason),
};

function* evictions(batch: Batch, preemptor: QueueBucket, reason: EvictionReason): Planning<Plan> {
  const { world } = batch;
  const teamShares = teamSharesOf(world);
  const scope = preemptionScope(world, preemptor, reason);
  if (scope === null) return null;
  const anyReleasing = acceptableTypes(world, preemptor.request).some(({ releasing }) => releasing.next(0) >= 0);
  const releasing = anyReleasing ? findPlacement(world, preemptor.request, "releasing") : null;
  // Releasing capacity suffices, so no further victim is needed.
  if (releasing !== null)
    return mayHaveReleasing(world, preemptor, reason, scope) ? { preemptor, placement: releasing, victims: [] } : null;
  const donors = donorsTo(world, preemptor, reason, scope, teamShares);
  const mayMigrate = reason === "reclaimed" && mayStrangersMigrate(world, preemptor);
  const ground = groundOf(world, preemptor, reason);
  const held = donors
    .flatMap((team) => world.evictable.get(team)?.for(ground) ?? [])
    .concat(mayMigrate ? strangersOf(world, donors) : [])
    .map(({ byNode: onNodes }) => onNodes);
  // Upper bounds rule out most requests before any candidates are sorted.
  if (donors.length === 0 || !couldSuffice(world, preemptor.request, held)) return null;
  const { steady, cheapest, givenBy } = victimCandidatesFor(batch, { preemptor, reason, donors });
  if (steady.length === 0 || !(mayMigrate || couldSuffice(world, preemptor.request, [givenBy]))) return null;
  const lasts = (plan: Plan): boolean => reason !== "preempted" || !wouldBeUndone(world, teamShares, plan);
  const ledger = new Ledger(world);
  const asked = { preemptor, reason, teamShares, scope, donors: new Set(donors), ledger };
  const among = (order: Pick<CostSearch, "victimCandidates" | "costOf">): CostSearch => {
    ledger.rollback();
    return { ...asked, ...order, tentativeEvictions: new TentativeEvictions(ledger) };
  };
  try {
    // The existence of a plan must not depend on time, or rounds would not come to rest. Eviction costs depend on time,
    // so an order without them is tried first.
    const steadily = { victimCandidates: steady, costOf: stableCostOf };
    const byCost = { victimCandidates: cheapest, costOf: ({ cost }: VictimCandidate): number => cost };
    const search = oneByOne(batch, among(steadily));
    const inTurn = yield search;
    const { isScattered } = search;
    const plan = isScattered ? yield* byNode(batch, among(steadily)) : inTurn;
    ledger.rollback();
    if (plan === null || !lasts(plan)) return null;
    if (!isScattered && steady === cheapest) return plan;
    const cheaper = isScattered ? yield* byNode(batch, among(byCost)) : yield oneByOne(batch, among(byCost));
    ledger.rollback();
    return cheaper !== null && lasts(cheaper) ? cheaper : plan;
  } finally {
    ledger.rollback();
  }
}

/** Teams whose work may be evicted. */
function donorsTo(
  world: World,
  preemptor: QueueBucket,
  reason: EvictionReason,
  scope: PreemptionScope,
  teamShares: TeamShares,
): readonly TeamName[] {
  if (reason === "preempted") return world.evictable.has(preemptor.request.team) ? [preemptor.request.team] : [];
  const isOver = (team: TeamName): boolean => holdsAboveEntitlement(world, { preemptor, teamShares, scope }, team);
  return [...world.evictable.keys()].filter((team) => team !== preemptor.request.team && isOver(team));
}

/** Work of teams that are not donors. It may migrate. */
const strangersOf = (world: World, donors: readonly TeamName[]): readonly EvictableWork["always"][] =>
  [...world.evictable].flatMap(([team, { always }]) => (donors.includes(team) ? [] : [always]));

/**
 * Returns whether the preemptor is nominated for releasing capacity: only if it could have evicted work that is
 * terminating now. Otherwise a victim that is ahead of the preemptor in the queue might start there again, and be
 * evicted a second time.
 */
function mayHaveReleasing(
  world: World,
  preemptor: QueueBucket,
  reason: EvictionReason,
  scope: PreemptionScope,
): boolean {
  const head = preemptor.waiting.first() as Workload;
  for (const { workloadId } of world.terminating) {
    const terminating = workloadOf(world, workloadId);
    const mayHave =
      reason === "reclaimed" ? isInScope(world, scope, terminating.spec.team) : mayPreempt(head, terminating);
    if (mayHave) return true;
  }
  return false;
}

/**
 * Added to the cost of work that only a guarantee can reclaim. It is larger than the number of accelerators of any
 * node.
 */
const GUARDED_ACCELERATORS = 2 ** 30;

/**
 * An eviction cost that is independent of time: the number of accelerators. Work that only a guarantee can reclaim
 * comes last.
 */
const stableCostOf = (unit: VictimCandidate): number => acceleratorsOfUnit(unit) + unit.guarded * GUARDED_ACCELERATORS;

interface OneByOne extends Search<VictimCandidate, Placement, Plan> {
  /** Set by a failed search: enough accelerators would come free, but scattered over nodes. */
  isScattered: boolean;
}

/** Evicts victims one by one, each if it is still eligible, until the preemptor fits. */
function oneByOne(batch: Batch, search: CostSearch): OneByOne {
  const { world } = batch;
  const { preemptor, reason, victimCandidates, tentativeEvictions } = search;
  const room = new ReleasingRoom(world, preemptor.request);
  const mayBeScattered = reason === "reclaimed" && !isInGroups(preemptor.request);
  const fits = (): Placement | null => findPlacement(world, preemptor.request, "releasing");
  let at = 0;
  let looks = 0;
  /** True if the preemptor would not fit even if all further candidates were evicted. */
  let isHopeless = false;
  let isOver = false;
  function* eligible(): Generator<VictimCandidate> {
    // Starts from the search's donors: listing the teams of all candidates for each of thousands of plans took half of
    // such a round.
    const donors = new Set(search.donors);
    for (const [index, candidate] of victimCandidates.entries()) {
      const { team } = candidate.workload.spec;
      if (!donors.has(team)) continue;
      // Evictions so far may have brought the team down to its entitlement.
      if (!isEligibleVictim(batch, search, candidate)) {
        if (!holdsAboveEntitlement(world, search, team)) donors.delete(team);
        if (donors.size === 0) break;
        continue;
      }
      at = index;
      yield candidate;
      if (isOver) return;
    }
    found.isScattered = mayBeScattered && isEnough(world, preemptor);
  }
  const found: OneByOne = {
    isScattered: false,
    candidates: eligible(),
    simulate: (candidate) => {
      tentativeEvictions.take(candidate);
      room.changed(candidate.attempt.workers);
      if (isHopeless || !room.suffices) return null;
      const placement = fits();
      if (placement !== null) return placement;
      // The number of free accelerators suffices, but there is no placement. If evicting all further victims gives no
      // placement, no smaller set does.
      const looksBeyond = looks++ === 0 && !isInGroups(preemptor.request);
      isHopeless = looksBeyond && tentativeEvictions.findBeyond(victimCandidates.slice(at + 1), fits) === null;
      isOver = isHopeless && !mayBeScattered;
      return null;
    },
    minimise: (placement) => {
      const { needed, found: least } = tentativeEvictions.minimise(fits, placement);
      isOver = true;
      if (reason !== "reclaimed") return { preemptor, placement: least, victims: victimsOf(needed, []) };
      // A small victim that was taken before a large one may be needless: without it, the eviction of the large victim
      // may already bring their team down to its entitlement.
      const plan = planFor(batch, search, least, needed);
      if (plan !== null && !isStuck(plan)) return plan;
      found.isScattered = mayBeScattered;
      return null;
    },
  };
  return found;
}

/**
 * Returns whether one accelerator type has enough free and releasing accelerators for the request, on whichever nodes.
 */
function isEnough(world: World, { request }: QueueBucket): boolean {
  const needed = wholeNeeded(request);
  return acceptableTypes(world, request).some(({ freeCount, releasingCount }) => freeCount + releasingCount >= needed);
}
