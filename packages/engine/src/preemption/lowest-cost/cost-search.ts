/** What a search by cost is asked, and who may be asked to leave for it. */
import type { Batch } from "../../batch/batch.ts";
import type { TeamName } from "../../model/ids.ts";
import type { EvictionReason } from "../../model/workload.ts";
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
  /** Teams of whose work some may be asked to leave. */
  readonly donors: ReadonlySet<TeamName>;
  /** Their work, in the order in which it is asked. */
  readonly victimCandidates: readonly VictimCandidate[];
  /** By what whole nodes are weighed. */
  readonly costOf: (unit: VictimCandidate) => number;
  readonly ledger: Ledger;
  /** Kept on that ledger. */
  readonly tentativeEvictions: TentativeEvictions;
}

/** Asked again for every leaver: what was taken from its team so far may have brought it down to its claim. */
export function hasRight(
  batch: Batch,
  { preemptor, reason, teamShares }: CostSearch,
  victimCandidate: VictimCandidate,
): boolean {
  return reason !== "reclaimed" || isAboveEntitlement(batch, teamShares, { preemptor, ...victimCandidate });
}
