/** What a search by cost is asked. */
import type { Batch } from "../../batch.ts";
import type { EvictionReason } from "../../model/workload.ts";
import type { Ledger } from "../../state/ledger.ts";
import type { PlacementClass } from "../../state/queue.ts";
import type { Standings } from "../order/standing.ts";
import type { Leaver } from "./leavers.ts";
import { isAboveClaim } from "./rights.ts";
import type { Reach } from "./rights.ts";
import type { Takings } from "./takings.ts";
import { acceleratorsOfUnit } from "./victim-order.ts";

export interface Search {
  readonly beneficiary: PlacementClass;
  readonly reason: EvictionReason;
  readonly standings: Standings;
  readonly reach: Reach;
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

/**
 * Takes what may be asked to leave, the largest first, so that nobody leaves without whom its team would be within its claim as
 * well; answers, whole, the work of which something may not leave once those before it have.
 */
export function takeByRight(batch: Batch, search: Search, needed: readonly Leaver[]): readonly Leaver[] {
  const { takings } = search;
  const staying: Leaver[] = [];
  const givers = new Set(search.leavers.map(({ attempt }) => attempt));
  const sizeOf = (units: readonly Leaver[]): number => units.reduce((sum, unit) => sum + acceleratorsOfUnit(unit), 0);
  const byAttempt = [...Map.groupBy(needed, (unit) => unit.attempt)];
  for (const [attempt, units] of byAttempt.toSorted(([, left], [, right]) => sizeOf(right) - sizeOf(left))) {
    const takeAll = (): boolean => units.every((unit) => hasRight(batch, search, unit) && takings.take(unit));
    const isAllowed = givers.has(attempt) && takings.tentatively(takeAll, (taken) => taken);
    if (!isAllowed) staying.push({ ...(units.at(-1) as Leaver), keeps: 0, upTo: attempt.workers.length });
  }
  return staying;
}
