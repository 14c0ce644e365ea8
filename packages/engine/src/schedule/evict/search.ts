/** What a search by cost is asked, and who may be asked to leave for it. */
import type { Batch } from "../../batch.ts";
import type { TeamName } from "../../model/ids.ts";
import type { EvictionReason } from "../../model/workload.ts";
import { amountHeld } from "../../state/amounts.ts";
import type { Ledger } from "../../state/ledger.ts";
import type { PlacementClass } from "../../state/queue.ts";
import type { Standings } from "../order/standing.ts";
import { piecesOf } from "./leavers.ts";
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

/** Takes all of a unit, worker by worker where its gang could give them so, if each may be asked to leave; else nothing of it. */
export function takeIfByRight(batch: Batch, search: Search, unit: Leaver): boolean {
  const { givers, takings } = search;
  if (!givers.has(unit.workload.spec.team)) return false;
  const pieces = piecesOf(batch, unit);
  const takeAll = (): boolean => {
    for (const piece of pieces) {
      if (!hasRight(batch, search, piece)) return false;
      takings.take(piece);
    }
    return true;
  };
  // A single piece is taken or not: there is nothing to take back, and thousands may be asked.
  return pieces.length === 1 ? takeAll() : takings.tentatively(takeAll, (isTaken) => isTaken);
}

/**
 * Takes of what is needed what may be asked to leave, lower priority first; then nobody leaves without whom its team would be within
 * its claim as well: so it is counted once more, the largest first. Answers what holds its place by right.
 */
export function takeByRight(batch: Batch, search: Search, needed: readonly Leaver[]): readonly Leaver[] {
  const sizeOf = ({ attempt, workload: { spec }, keeps, upTo }: Leaver): number =>
    amountHeld(batch.world, spec.gang, { ...attempt, workers: attempt.workers.slice(keeps, upTo) }).acceleratorsMilli;
  const bySize = needed.toSorted((left, right) => sizeOf(right) - sizeOf(left));
  const byPriority = bySize.toSorted((left, right) => left.workload.spec.priority - right.workload.spec.priority);
  const asked = new Set(byPriority.filter((unit) => takeIfByRight(batch, search, unit)));
  search.takings.giveAllBack();
  return bySize.filter((unit) => !(asked.has(unit) && takeIfByRight(batch, search, unit)));
}
