/**
 * Kueue's preemption, with and without fair sharing. Teams above their guarantee lose capacity to teams within their
 * guarantee, or to teams that exceed their guarantee by less. Victims are chosen by the quota tree, and the preemptor
 * must also find a real placement without them.
 */
import { compareOrdinals, compareText } from "@headroom/model";
import type { Attempt, Workload, TeamPreemption } from "@headroom/model";
import type { Batch } from "../../batch/batch.ts";
import { victimsByAdvantage } from "./victims-by-advantage.ts";
import { victimsByShare } from "./victims-by-share.ts";
import type { ShareRule } from "./victims-by-share.ts";
import type { QuotaChoice as QuotaVictim, QuotaSearch, QuotaVictimCandidate, VictimSearch } from "./victims.ts";
import { amountHeld } from "../../cluster/amounts.ts";
import { workloadOf } from "../../cluster/entities.ts";
import { holderOf } from "../../cluster/holdings.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { QuotaIndex } from "../../cluster/quota-index.ts";
import type { Amount } from "../../cluster/team-node.ts";
import type { World } from "../../cluster/world.ts";
import { placeOnType } from "../../placement/place-on-type.ts";
import { placeGroups } from "../../placement/place-groups.ts";
import { acceptableTypes, amountAsked, guaranteeReached, isInGroups } from "../../cluster/request.ts";
import type { Placement } from "../../cluster/request.ts";
import type { Victim } from "../../preemption/plan.ts";
import { simulate } from "../../cluster/ledger.ts";
import type { PreemptionStrategy } from "../../preemption/strategy.ts";
import { isEvictable } from "../../preemption/eligibility.ts";

interface QuotaCandidate extends QuotaVictimCandidate {
  readonly attempt: Attempt;
  readonly workload: Workload;
}

type Choose = (search: VictimSearch<QuotaCandidate>, world: World) => QuotaSearch<QuotaCandidate>;

const shareRules = { final: "atMostFinal", initial: "belowInitial" } as const satisfies Record<string, ShareRule>;

const byShare: Choose = (search, { rules }) => {
  const [first = "final", second] = rules.eviction.shareTests;
  return victimsByShare(search, { first: shareRules[first], second: second === "initial" ? "belowInitial" : null });
};

/** Preemption rights of teams that state none. */
const STANDARD_RIGHTS: TeamPreemption = { within: "lowerPriority", reclaim: "any" };

type KueueStrategy = PreemptionStrategy<readonly QuotaVictim<QuotaCandidate>[]>;

const byQuota = (choose: Choose): KueueStrategy => ({
  preemptsByPriority: false,
  isEligible: ({ world }, _preemptor, reason) => reason === "reclaimed" && world.teamUse.quota !== null,

  *plan(batch, preemptor) {
    const { world } = batch;
    for (const { type } of acceptableTypes(world, preemptor.request)) {
      const victims = yield choose(searchOn(batch, preemptor, type), world);
      const placement = victims === null ? null : placeWithout(world, preemptor, type, victims);
      if (victims !== null && placement !== null) return { preemptor, placement, victims: victims.map(victimOf) };
    }
    return null;
  },
});

export const fairSharing: KueueStrategy = byQuota(byShare);
export const classical: KueueStrategy = byQuota(victimsByAdvantage);

function searchOn(batch: Batch, preemptor: QueueBucket, type: string): VictimSearch<QuotaCandidate> {
  const { world } = batch;
  const quota = world.teamUse.quota as QuotaIndex;
  const head = preemptor.waiting.first() as Workload;
  const amounts = quota.amounts(amountAsked(world, preemptor.request, type));
  const leaf = quota.leaf(preemptor.request.team);
  const teams = candidatesByTeam(batch, quota, compareCandidates);
  return {
    tree: quota.tree,
    incoming: {
      team: leaf,
      priority: head.spec.priority,
      submittedAtMs: head.submittedAtMs,
      amounts,
      // Only requested resources count. Other resources can also be exceeded, if guarantees and borrowed amounts are
      // larger than the capacity.
      needed: amounts.flatMap((more, at) => (more > 0 && more > quota.tree.available(leaf, at) ? [at] : [])),
    },
    rights: world.teamUse.node(preemptor.request.team).team.preemption ?? STANDARD_RIGHTS,
    candidatesOf: (team) => teams.get(team) ?? [],
    order: compareCandidates,
    fits: (victims) => placeWithout(world, preemptor, type, victims) !== null,
  };
}

const victimOf = ({ candidate, reason }: QuotaVictim<QuotaCandidate>): Victim => ({
  attempt: candidate.attempt,
  keeps: 0,
  ground: reason.kind,
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

/** Lower priority first, then later placement, then by name. */
function compareCandidates(left: QuotaCandidate, right: QuotaCandidate): number {
  return (
    left.priority - right.priority ||
    right.attempt.placedAtMs - left.attempt.placedAtMs ||
    compareText(left.workload.spec.name, right.workload.spec.name) ||
    compareOrdinals(left.workload, right.workload) ||
    left.attempt.placedSequence - right.attempt.placedSequence
  );
}

/**
 * A placement on the accelerator type without the victims, whose capacity counts as releasing. Limits and guarantees
 * are checked here, because the quota tree has no limits for resources without a guarantee. The search itself checks
 * lending and borrowing.
 */
function placeWithout(
  world: World,
  preemptor: QueueBucket,
  type: string,
  victims: readonly QuotaVictim<QuotaCandidate>[],
): Placement | null {
  const { teamUse } = world;
  const freed = victims.map(({ candidate: { attempt, workload } }) => ({
    ...holderOf(workload),
    amount: amountHeld(world, workload.spec.gang, attempt),
  }));
  const isWithin = (amount: Amount): boolean =>
    teamUse.limitReached(preemptor.request, amount, freed) === null &&
    guaranteeReached(world, preemptor.request, amount) === null;
  if (!isWithin(amountAsked(world, preemptor.request, type))) return null;
  return simulate(world, (ledger) => {
    for (const { candidate } of victims) ledger.leaveOnly(candidate.attempt);
    if (isInGroups(preemptor.request)) {
      const placed = placeGroups(world, preemptor.request, { layer: "releasing", heedsQuotas: false });
      // The types of the task groups are known only after placement.
      return placed !== null && isWithin(amountHeld(world, preemptor.request.gang, placed)) ? placed : null;
    }
    const found = world.capacity.type(type);
    const workers =
      found === undefined ? null : placeOnType(world, preemptor.request, { type: found, layer: "releasing" });
    return workers === null ? null : { acceleratorType: type, workers };
  });
}
