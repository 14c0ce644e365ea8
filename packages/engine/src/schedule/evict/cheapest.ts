/**
 * The product's own search: those whose eviction costs least leave first, one by one, until the beneficiary fits; then everybody
 * is given back whose leaving was not needed. What the cost is: `eviction-cost.ts`.
 */
import type { Batch } from "../../batch.ts";
import type { NodeId } from "../../model/ids.ts";
import type { Attempt, EvictionReason, Workload } from "../../model/workload.ts";
import { workloadOf } from "../../state/entities.ts";
import { Ledger } from "../../state/ledger.ts";
import type { NodeSlot } from "../../state/node-slot.ts";
import type { PlacementClass } from "../../state/queue.ts";
import { standingsOf } from "../order/standing.ts";
import type { Standings } from "../order/standing.ts";
import { findPlacement } from "../place.ts";
import { acceptableTypes } from "../request.ts";
import type { Placement } from "../request.ts";
import { evictionCost } from "./eviction-cost.ts";
import { findRoomByMoving } from "./make-room.ts";
import type { Plan, Victim } from "./plan.ts";
import { isAboveClaim, isEvictable, mayClaim, mayPreempt } from "./rights.ts";

export function findCheapest(batch: Batch, beneficiary: PlacementClass, reason: EvictionReason): Plan | null {
  const { world } = batch;
  if (reason === "moved") return findRoomByMoving(batch, beneficiary);
  if (reason === "incomplete") return null;
  if (world.evictable.size === 0) return null;
  // Who is leaving anyway will do: nobody else has to.
  const anybodyLeaves = acceptableTypes(world, beneficiary).some(({ coming }) => coming.next(0) >= 0);
  if (anybodyLeaves && findPlacement(world, beneficiary, "coming") !== null) return null;
  const standings = standingsOf(world);
  if (reason === "reclaimed" && !mayClaim(batch, standings, beneficiary)) return null;
  const ledger = new Ledger(world);
  try {
    const asked: Search = { beneficiary, reason, standings, ledger };
    const plan = search(batch, asked);
    // Claims may end before there is room where the cheapest lie apart: then those of one node are asked together.
    if (plan !== null || reason !== "reclaimed" || beneficiary.workers !== 1) return plan;
    ledger.rollback();
    return searchByNode(batch, asked);
  } finally {
    ledger.rollback();
  }
}

interface Search {
  readonly beneficiary: PlacementClass;
  readonly reason: EvictionReason;
  readonly standings: Standings;
  readonly ledger: Ledger;
}

function search(batch: Batch, { beneficiary, reason, standings, ledger }: Search): Plan | null {
  const { world } = batch;
  const victims: Victim[] = [];
  let placement: Placement | null = null;
  for (const attempt of candidates(batch, beneficiary, reason)) {
    const workload = workloadOf(world, attempt.workloadId);
    // Asked again for every victim: what was taken from its team so far may have brought it down to its claim.
    if (reason === "reclaimed" && !isAboveClaim(batch, standings, beneficiary, workload)) continue;
    ledger.vacate(attempt, 0);
    victims.push({ attempt, keeps: 0 });
    if (!couldSuffice(batch, beneficiary)) continue;
    placement = findPlacement(world, beneficiary, "coming");
    if (placement !== null) break;
  }
  if (placement === null) return null;
  return giveBack(batch, { beneficiary, ledger, victims, placement });
}

/** One worker lies on one node: of the nodes that those with too much would leave far enough, the one that costs least. */
function searchByNode(batch: Batch, asked: Search): Plan | null {
  const { world, nowMs } = batch;
  const { beneficiary, reason, ledger } = asked;
  const byNode = new Map<NodeId, Attempt[]>();
  for (const attempt of candidates(batch, beneficiary, reason)) {
    for (const node of new Set(attempt.workers.map((worker) => worker.node))) {
      const there = byNode.get(node);
      if (there === undefined) byNode.set(node, [attempt]);
      else there.push(attempt);
    }
  }
  const costOf = ({ attempt }: Victim): number => evictionCost(world, attempt, nowMs);
  const options: { readonly victims: Victim[]; readonly cost: number }[] = [];
  for (const [node, there] of byNode) {
    const victims = vacateUntilItFits(batch, asked, { slot: world.capacity.slot(node), there });
    ledger.rollback();
    if (victims !== null) options.push({ victims, cost: victims.reduce((sum, victim) => sum + costOf(victim), 0) });
  }
  for (const { victims } of options.toSorted((left, right) => left.cost - right.cost)) {
    for (const { attempt } of victims) ledger.vacate(attempt, 0);
    const placement = findPlacement(world, beneficiary, "coming");
    if (placement !== null) return giveBack(batch, { beneficiary, ledger, victims, placement });
    ledger.rollback();
  }
  return null;
}

interface OnNode {
  readonly slot: NodeSlot;
  readonly there: readonly Attempt[];
}

function vacateUntilItFits(
  batch: Batch,
  { beneficiary, standings, ledger }: Search,
  { slot, there }: OnNode,
): Victim[] | null {
  const victims: Victim[] = [];
  for (const attempt of there) {
    const workload = workloadOf(batch.world, attempt.workloadId);
    if (!isAboveClaim(batch, standings, beneficiary, workload)) continue;
    ledger.vacate(attempt, 0);
    victims.push({ attempt, keeps: 0 });
    if (slot.workersThatFit(beneficiary.gang, 1, "coming") > 0) return victims;
  }
  return null;
}

/** Accelerators in sum: a plain count saves most looks at the nodes. */
function couldSuffice({ world }: Batch, beneficiary: PlacementClass): boolean {
  if (beneficiary.gang.shareMilli !== undefined) return true;
  const needed = beneficiary.workers * beneficiary.gang.accelerators;
  return acceptableTypes(world, beneficiary).some((type) => type.freeCount + type.comingCount >= needed);
}

interface Found extends Plan {
  readonly ledger: Ledger;
}

/** Lets each victim stay in turn, the dearest first, and keeps those without whom it does not fit. */
function giveBack({ world }: Batch, { beneficiary, ledger, victims, placement: first }: Found): Plan {
  const needed: Victim[] = [];
  let placement = first;
  for (const victim of victims.toReversed()) {
    const mark = ledger.mark();
    ledger.stay(victim.attempt, victim.keeps);
    const again = findPlacement(world, beneficiary, "coming");
    if (again === null) {
      ledger.rollback(mark);
      needed.push(victim);
    } else placement = again;
  }
  return { beneficiary, placement, victims: needed.toReversed() };
}

/** Evictable attempts that the beneficiary has a right to, cheapest first; elastic gangs give their extra workers as one with the rest. */
function candidates(batch: Batch, beneficiary: PlacementClass, reason: EvictionReason): Attempt[] {
  const { world, nowMs } = batch;
  const head = beneficiary.waiting.first() as Workload;
  const types = new Set(acceptableTypes(world, beneficiary).map(({ type }) => type));
  const costs = new Map<Attempt, number>();
  for (const [team, attempts] of world.evictable) {
    if ((team === beneficiary.team) !== (reason === "preempted")) continue;
    for (const attempt of attempts) {
      if (!types.has(attempt.acceleratorType) || !isEvictable(batch, attempt)) continue;
      const workload = workloadOf(world, attempt.workloadId);
      if (reason !== "preempted" || mayPreempt(beneficiary, head, workload))
        costs.set(attempt, evictionCost(world, attempt, nowMs));
    }
  }
  return [...costs.keys()].toSorted(
    (left, right) =>
      workloadOf(world, left.workloadId).spec.priority - workloadOf(world, right.workloadId).spec.priority ||
      (costs.get(left) as number) - (costs.get(right) as number) ||
      right.placedSequence - left.placedSequence,
  );
}
