/** What a search by cost is asked, and who may be asked to leave for it. */
import type { Batch } from "../batch/batch.ts";
import type { TeamName } from "../model/ids.ts";
import type { EvictionReason } from "../model/workload.ts";
import type { Ledger } from "../cluster/ledger.ts";
import type { PlacementClass } from "../cluster/queue.ts";
import type { Standings } from "../ordering/standing.ts";
import type { Leaver } from "./leavers.ts";
import { isAboveClaim } from "./rights.ts";
import type { Reach } from "./rights.ts";
import type { Takings } from "./takings.ts";

export interface Search {
  readonly beneficiary: PlacementClass;
  readonly reason: EvictionReason;
  readonly standings: Standings;
  readonly reach: Reach;
  /** Teams of whose work some may be asked to leave. */
  readonly givers: ReadonlySet<TeamName>;
  /** Their work, in the order in which it is asked. */
  readonly leavers: readonly Leaver[];
  /** By what whole nodes are weighed. */
  readonly costOf: (unit: Leaver) => number;
  readonly ledger: Ledger;
  /** Kept on that ledger. */
  readonly takings: Takings;
}

/** Asked again for every leaver: what was taken from its team so far may have brought it down to its claim. */
export function hasRight(batch: Batch, { beneficiary, reason, standings }: Search, leaver: Leaver): boolean {
  return reason !== "reclaimed" || isAboveClaim(batch, standings, { beneficiary, ...leaver });
}
