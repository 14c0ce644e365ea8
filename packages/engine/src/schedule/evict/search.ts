/** What a search by cost is asked. */
import type { Batch } from "../../batch.ts";
import type { EvictionReason } from "../../model/workload.ts";
import type { Ledger } from "../../state/ledger.ts";
import type { PlacementClass } from "../../state/queue.ts";
import type { Standings } from "../order/standing.ts";
import type { Leaver } from "./leavers.ts";
import { isAboveClaim } from "./rights.ts";
import type { Takings } from "./takings.ts";

export interface Search {
  readonly beneficiary: PlacementClass;
  readonly reason: EvictionReason;
  readonly standings: Standings;
  /** In the order in which they are asked. */
  readonly leavers: readonly Leaver[];
  /** By what a whole node is weighed. */
  readonly costOf: (leaver: Leaver) => number;
  readonly ledger: Ledger;
  /** Kept on that ledger. */
  readonly takings: Takings;
}

/** Asked again for every leaver: what was taken from its team so far may have brought it down to its claim. */
export function hasRight(batch: Batch, { beneficiary, reason, standings }: Search, leaver: Leaver): boolean {
  return reason !== "reclaimed" || isAboveClaim(batch, standings, { beneficiary, ...leaver });
}
