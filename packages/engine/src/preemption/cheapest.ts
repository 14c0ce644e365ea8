/**
 * The product's own search: workers that elastic gangs can do without leave first, then those whose eviction costs least, one by
 * one, until the beneficiary fits; then everybody is given back whose leaving was not needed. What the cost is: `eviction-cost.ts`.
 */
import type { Batch } from "../batch/batch.ts";
import type { TeamName } from "../model/ids.ts";
import type { EvictionReason, Workload } from "../model/workload.ts";
import { workloadOf } from "../cluster/entities.ts";
import { Ledger } from "../cluster/ledger.ts";
import type { PlacementClass } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";
import { standingsOf } from "../ordering/standing.ts";
import type { Standings } from "../ordering/standing.ts";
import { findPlacement } from "../placement/place.ts";
import { acceptableTypes, isInGroups, quotaReached, wholeNeeded } from "../cluster/request.ts";
import type { Placement } from "../cluster/request.ts";
import { RoomComing, couldSuffice } from "../placement/room-coming.ts";
import { findByNode } from "./by-node.ts";
import { isStuck, mayStrangersMove, planFor } from "./leave-or-move.ts";
import { leaversFor } from "./leavers.ts";
import type { Leaver } from "./leavers.ts";
import { findRoomByMoving } from "./make-room.ts";
import type { Plan } from "./plan.ts";
import { victimsOf } from "./replace.ts";
import { holdsAboveClaim, isWithinReach, mayPreempt, reachOf } from "./rights.ts";
import type { Reach } from "./rights.ts";
import { wouldBeTakenBack } from "./taken-back.ts";
import { Takings } from "./takings.ts";
import { acceleratorsOfUnit } from "./victim-order.ts";
import { hasRight } from "./search.ts";
import type { Search } from "./search.ts";

const EVERYBODY: Reach = { below: null };

/**
 * Whether there is any hope of a plan, by sums alone. Asked of everybody who waits before any of them is looked at in order, so
 * that a round in which nobody has a claim costs next to nothing.
 */
export function mayFindCheapest(batch: Batch, beneficiary: PlacementClass, reason: EvictionReason): boolean {
  const { world } = batch;
  if (reason === "incomplete" || world.evictable.size === 0) return false;
  const needed = wholeNeeded(beneficiary);
  if (reason !== "moved") return roomAtMost(batch, beneficiary, reason) >= needed;
  return acceptableTypes(world, beneficiary).some(
    (type) => type.freeCount >= needed && quotaReached(world, beneficiary, type.type) === null,
  );
}

/** Accelerators of one type that a plan would find at the most, if everybody left who may be asked; -1: there is no plan at all. */
export function roomAtMost(batch: Batch, beneficiary: PlacementClass, reason: "reclaimed" | "preempted"): number {
  const { world } = batch;
  if (world.evictable.size === 0) return -1;
  const types = acceptableTypes(world, beneficiary);
  if (isHeldByGuarantee(world, beneficiary)) return -1;
  const standings = standingsOf(world);
  const reach = reason === "reclaimed" ? reachOf(batch, standings, beneficiary) : EVERYBODY;
  if (reach === null) return -1;
  const { priority } = (beneficiary.waiting.first() as Workload).spec;
  let attempts = 0;
  let leaving = 0;
  for (const [team, work] of world.evictable) {
    if ((team === beneficiary.team) !== (reason === "preempted")) continue;
    const gives =
      reason === "preempted"
        ? work.priorityMin < priority
        : holdsAboveClaim(world, { beneficiary, standings, reach }, team);
    if (!gives) continue;
    attempts += work.size;
    leaving += work.accelerators;
  }
  if (attempts === 0 && world.leaving.size === 0) return -1;
  return types.reduce((most, type) => Math.max(most, type.freeCount + type.comingCount + leaving), -1);
}

/** Work that cannot be evicted stays within guarantees, and whoever may be evicted takes nothing up of those. */
function isHeldByGuarantee({ teamUse, rules }: World, beneficiary: PlacementClass): boolean {
  if (beneficiary.isPreemptible || rules.teams.nonPreemptible === "limit") return false;
  return (
    teamUse.guaranteePassed(beneficiary.team, teamUse.amountOf(beneficiary.gang, beneficiary.workers, "")) !== null
  );
}

export function findCheapest(batch: Batch, beneficiary: PlacementClass, reason: EvictionReason): Plan | null {
  const { world } = batch;
  if (reason === "moved") return findRoomByMoving(batch, beneficiary);
  if (reason === "incomplete") return null;
  if (world.evictable.size === 0) return null;
  const standings = standingsOf(world);
  const reach = reason === "reclaimed" ? reachOf(batch, standings, beneficiary) : EVERYBODY;
  if (reach === null) return null;
  const anybodyLeaves = acceptableTypes(world, beneficiary).some(({ coming }) => coming.next(0) >= 0);
  const coming = anybodyLeaves ? findPlacement(world, beneficiary, "coming") : null;
  // Who is leaving anyway will do: nobody else has to.
  if (coming !== null)
    return mayHaveWhatComes(batch, { beneficiary, reason, reach })
      ? { beneficiary, placement: coming, victims: [] }
      : null;
  const givers = giversTo(world, { beneficiary, reason, reach }, standings);
  const mayMove = reason === "reclaimed" && mayStrangersMove(world, beneficiary);
  const held = (
    mayMove ? [...world.evictable.values()] : givers.flatMap((team) => world.evictable.get(team) ?? [])
  ).map(({ byNode }) => byNode);
  // Most who have no hope are told by what there is in all, before anybody is put in order.
  if (givers.length === 0 || !couldSuffice(world, beneficiary, held)) return null;
  const { steady, cheapest, givenBy } = leaversFor(batch, { beneficiary, reason, givers });
  if (steady.length === 0 || !(mayMove || couldSuffice(world, beneficiary, [givenBy]))) return null;
  const lasts = (plan: Plan): boolean => reason !== "preempted" || !wouldBeTakenBack(batch, standings, plan);
  const ledger = new Ledger(world);
  const searchAmong = <T>(find: (batch: Batch, asked: Search) => T, among: Pick<Search, "leavers" | "costOf">): T => {
    const found = find(batch, {
      beneficiary,
      reason,
      standings,
      reach,
      givers: new Set(givers),
      ...among,
      ledger,
      takings: new Takings(ledger),
    });
    ledger.rollback();
    return found;
  };
  try {
    // What is cheapest changes with time; whether there is a plan at all must not, or nothing would ever be at rest.
    const steadily = { leavers: steady, costOf: acceleratorsOfUnit };
    const byCost = { leavers: cheapest, costOf: ({ cost }: Leaver): number => cost };
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
function giversTo(world: World, { beneficiary, reason, reach }: Claim, standings: Standings): readonly TeamName[] {
  if (reason === "preempted") return world.evictable.has(beneficiary.team) ? [beneficiary.team] : [];
  const isOver = (team: TeamName): boolean => holdsAboveClaim(world, { beneficiary, standings, reach }, team);
  return [...world.evictable.keys()].filter((team) => team !== beneficiary.team && isOver(team));
}

/**
 * Whether what others are leaving is kept for the beneficiary: where it could evict for itself whoever took it. Otherwise those
 * who just left might start there again, ahead of it in the queue, and be evicted a second time.
 */
function mayHaveWhatComes({ world }: Batch, { beneficiary, reason, reach }: Claim): boolean {
  const head = beneficiary.waiting.first() as Workload;
  for (const { workloadId } of world.leaving) {
    const leaving = workloadOf(world, workloadId);
    const mayHave =
      reason === "reclaimed" ? isWithinReach(world, reach, leaving.spec.team) : mayPreempt(beneficiary, head, leaving);
    if (mayHave) return true;
  }
  return false;
}

interface Claim {
  readonly beneficiary: PlacementClass;
  readonly reason: EvictionReason;
  readonly reach: Reach;
}

/**
 * One by one, as long as they may be asked, until the beneficiary fits. `"scattered"`: it does not, though enough would leave, had
 * it only been in one place.
 */
function findInTurn(batch: Batch, asked: Search): Plan | "scattered" | null {
  const { world } = batch;
  const { beneficiary, reason, leavers, takings } = asked;
  const fits = (): Placement | null => findPlacement(world, beneficiary, "coming");
  const room = new RoomComing(world, beneficiary);
  const mayBeScattered = reason === "reclaimed" && !isInGroups(beneficiary);
  let looks = 0;
  let isHopeless = false;
  const givers = new Set(leavers.map(({ workload }) => workload.spec.team));
  for (const [index, leaver] of leavers.entries()) {
    const { team } = leaver.workload.spec;
    if (!givers.has(team)) continue;
    if (!hasRight(batch, asked, leaver)) {
      if (!holdsAboveClaim(world, asked, team)) givers.delete(team);
      if (givers.size === 0) break;
      continue;
    }
    takings.take(leaver);
    room.changed(leaver.attempt.workers);
    if (isHopeless || !room.suffices) continue;
    const placement = fits();
    if (placement !== null) {
      const { needed, found } = takings.giveBackUnless(fits, placement);
      if (reason !== "reclaimed") return { beneficiary, placement: found, victims: victimsOf(needed, []) };
      // Small work that left before large work may have left in vain: its team might be within its claim with it as well.
      const plan = planFor(batch, asked, { placement: found, needed });
      if (plan !== null && !isStuck(plan)) return plan;
      return mayBeScattered ? "scattered" : null;
    }
    // Where there is no place though there is room, it need not be looked for after each of the others if all of them bring none.
    isHopeless =
      looks++ === 0 && !isInGroups(beneficiary) && takings.findBeyond(leavers.slice(index + 1), fits) === null;
    if (isHopeless && !mayBeScattered) return null;
  }
  if (!mayBeScattered) return null;
  const needed = wholeNeeded(beneficiary);
  const isEnough = acceptableTypes(world, beneficiary).some((type) => type.freeCount + type.comingCount >= needed);
  return isEnough ? "scattered" : null;
}
