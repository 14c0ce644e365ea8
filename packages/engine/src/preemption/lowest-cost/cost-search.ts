/** Input of a search by eviction cost: the preemptor, its donors and victim candidates. */
import type { TeamName, EvictionReason } from "@headroom/model";
import type { Batch } from "../../batch/batch.ts";
import type { Ledger } from "../../cluster/ledger.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import type { TeamShares } from "../../ordering/team-share.ts";
import type { VictimCandidate } from "../candidates.ts";
import { isAboveEntitlement } from "../eligibility.ts";
import type { PreemptionScope } from "../eligibility.ts";
import type { TentativeEvictions } from "../simulate.ts";

export interface CostSearch {
  readonly preemptor: QueueBucket;
  readonly reason: EvictionReason;
  readonly teamShares: TeamShares;
  readonly scope: PreemptionScope;
  /** Teams whose work may be preempted. */
  readonly donors: ReadonlySet<TeamName>;
  /** Evictable work of the donors, in the order in which it is evicted. */
  readonly victimCandidates: readonly VictimCandidate[];
  /** Cost by which whole nodes are compared. */
  readonly costOf: (unit: VictimCandidate) => number;
  readonly ledger: Ledger;
  /** Evictions that the search has recorded on `ledger` so far. */
  readonly tentativeEvictions: TentativeEvictions;
}

/**
 * Returns whether the preemptor may evict the victim. This is checked again for every victim, because earlier evictions
 * may have brought the victim's team down to its entitlement.
 */
export function isEligibleVictim(
  batch: Batch,
  { preemptor, reason, teamShares }: CostSearch,
  victimCandidate: VictimCandidate,
): boolean {
  return reason !== "reclaimed" || isAboveEntitlement(batch, teamShares, { preemptor, ...victimCandidate });
}
