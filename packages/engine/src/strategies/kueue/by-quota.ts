/**
 * Plans by the quota tree: who lives beyond its guarantee gives to who does not, or less so. The choice of victims is that of
 * `quota/`; here it is asked over the work that runs, and whether the beneficiary has a real place without them.
 */
import type { Batch } from "../../batch/batch.ts";
import { compareOrdinals } from "../../model/workload.ts";
import type { Attempt, EvictionReason, Workload } from "../../model/workload.ts";
import type { TeamPreemption } from "../../model/team.ts";
import { victimsByAdvantage } from "./victims-by-advantage.ts";
import { victimsByShare } from "./victims-by-share.ts";
import type { ShareRule } from "./victims-by-share.ts";
import type { QuotaChoice as QuotaVictim, QuotaVictimCandidate, VictimSearch } from "./victims.ts";
import { compareText } from "../../base/canonical.ts";
import { amountHeld } from "../../cluster/amounts.ts";
import { workloadOf } from "../../cluster/entities.ts";
import { holderOf } from "../../cluster/holdings.ts";
import { Ledger } from "../../cluster/ledger.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { QuotaIndex } from "../../cluster/quota-index.ts";
import type { Amount } from "../../cluster/team-node.ts";
import type { World } from "../../cluster/world.ts";
import { placeOnType } from "../../placement/place-on-type.ts";
import { placeGroups } from "../../placement/place-groups.ts";
import { acceptableTypes, amountAsked, guaranteeReached, isInGroups } from "../../cluster/request.ts";
import type { Placement } from "../../cluster/request.ts";
import type { Plan, Victim } from "../../preemption/plan.ts";
import { isEvictable } from "../../preemption/eligibility.ts";

interface QuotaCandidate extends QuotaVictimCandidate {
  readonly attempt: Attempt;
  readonly workload: Workload;
}

type Choose = (search: VictimSearch<QuotaCandidate>, world: World) => readonly QuotaVictim<QuotaCandidate>[] | null;

const shareRules = { final: "atMostFinal", initial: "belowInitial" } as const satisfies Record<string, ShareRule>;

const byShare: Choose = (search, { rules }) => {
  const [first = "final", second] = rules.eviction.shareTests;
  return victimsByShare(search, { first: shareRules[first], second: second === "initial" ? "belowInitial" : null });
};

export const findByShare = (batch: Batch, preemptor: QueueBucket, reason: EvictionReason): Plan | null =>
  findByQuota(batch, { preemptor, reason, choose: byShare });

export const findByAdvantage = (batch: Batch, preemptor: QueueBucket, reason: EvictionReason): Plan | null =>
  findByQuota(batch, { preemptor, reason, choose: victimsByAdvantage });

/** What teams may do that say nothing about it. */
const STANDARD_RIGHTS: TeamPreemption = { within: "lowerPriority", reclaim: "any" };

interface QuotaSearch {
  readonly preemptor: QueueBucket;
  readonly reason: EvictionReason;
  readonly choose: Choose;
}

function findByQuota(batch: Batch, { preemptor, reason, choose }: QuotaSearch): Plan | null {
  const { world } = batch;
  const { quota } = world.teamUse;
  if (reason !== "reclaimed" || quota === null) return null;
  const head = preemptor.waiting.first() as Workload;
  const { spec } = head;
  for (const { type } of acceptableTypes(world, preemptor.request)) {
    const amount = amountAsked(world, preemptor.request, type);
    const amounts = quota.amounts(amount);
    const leaf = quota.leaf(preemptor.request.team);
    let placement: Placement | null = null;
    const teams = candidatesByTeam(batch, quota, compareCandidates);
    const search: VictimSearch<QuotaCandidate> = {
      tree: quota.tree,
      incoming: {
        team: leaf,
        priority: spec.priority,
        submittedAtMs: head.submittedAtMs,
        amounts,
        // Of what it does not ask for nothing is available either, where more was promised or lent than there is.
        needed: amounts.flatMap((more, at) => (more > 0 && more > quota.tree.available(leaf, at) ? [at] : [])),
      },
      rights: world.teamUse.node(preemptor.request.team).team.preemption ?? STANDARD_RIGHTS,
      candidatesOf: (team) => teams.get(team) ?? [],
      order: compareCandidates,
      fits: (victims) => {
        placement = placeWithout(world, { preemptor, type, victims });
        return placement !== null;
      },
    };
    const victims = choose(search, world);
    // The last look was at another list where a victim was tried and kept; the place is looked for once more.
    if (victims !== null) placement = placeWithout(world, { preemptor, type, victims });
    if (victims !== null && placement !== null) return { preemptor, placement, victims: victims.map(victimOf) };
  }
  return null;
}

const victimOf = ({ candidate, reason }: QuotaVictim<QuotaCandidate>): Victim => ({
  attempt: candidate.attempt,
  keeps: 0,
  right: reason.kind,
});

function candidatesByTeam(
  batch: Batch,
  quota: QuotaIndex,
  order: (left: QuotaCandidate, right: QuotaCandidate) => number,
): Map<number, QuotaCandidate[]> {
  const { world } = batch;
  const teams = new Map<number, QuotaCandidate[]>();
  for (const attempt of world.state.attempts.values()) {
    if (!isEvictable(batch, attempt)) continue;
    const workload = workloadOf(world, attempt.workloadId);
    const { spec } = workload;
    const amount = amountHeld(world, spec.gang, attempt);
    const candidate: QuotaCandidate = {
      attempt,
      workload,
      priority: spec.priority,
      submittedAtMs: workload.submittedAtMs,
      amounts: quota.amounts(amount),
    };
    const leaf = quota.leaf(spec.team);
    const list = teams.get(leaf);
    if (list === undefined) teams.set(leaf, [candidate]);
    else list.push(candidate);
  }
  for (const list of teams.values()) list.sort(order);
  return teams;
}

/** Lower priority first, then who was placed later, then by name. */
function compareCandidates(left: QuotaCandidate, right: QuotaCandidate): number {
  return (
    left.priority - right.priority ||
    right.attempt.placedAtMs - left.attempt.placedAtMs ||
    compareText(left.workload.spec.name, right.workload.spec.name) ||
    compareOrdinals(left.workload, right.workload) ||
    left.attempt.placedSequence - right.attempt.placedSequence
  );
}

interface Without {
  readonly preemptor: QueueBucket;
  readonly type: string;
  readonly victims: readonly QuotaVictim<QuotaCandidate>[];
}

/**
 * A place on the type without the victims; what they hold counts as leaving. What teams lend is the search's own business;
 * limits of resources that nobody is guaranteed are not in its tree.
 */
function placeWithout(world: World, { preemptor, type, victims }: Without): Placement | null {
  const { teamUse } = world;
  const freed = victims.map(({ candidate: { attempt, workload } }) => ({
    ...holderOf(workload),
    amount: amountHeld(world, workload.spec.gang, attempt),
  }));
  const isWithin = (amount: Amount): boolean =>
    teamUse.limitReached(preemptor.request, amount, freed) === null &&
    guaranteeReached(world, preemptor.request, amount) === null;
  if (!isWithin(amountAsked(world, preemptor.request, type))) return null;
  const ledger = new Ledger(world);
  try {
    for (const { candidate } of victims) ledger.leaveOnly(candidate.attempt);
    if (isInGroups(preemptor.request)) {
      const placed = placeGroups(world, preemptor.request, { layer: "releasing", heedsQuotas: false });
      // Which types its groups get is known only now.
      return placed !== null && isWithin(amountHeld(world, preemptor.request.gang, placed)) ? placed : null;
    }
    const found = world.capacity.type(type);
    const workers =
      found === undefined ? null : placeOnType(world, preemptor.request, { type: found, layer: "releasing" });
    return workers === null ? null : { acceleratorType: type, workers };
  } finally {
    ledger.rollback();
  }
}
