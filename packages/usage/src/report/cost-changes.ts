/** The newest period beside the one before it: whose cost changed, and by how much. */
import type { CostTotal } from "./cost-report.ts";

export interface CostChange {
  readonly group: readonly string[];
  readonly beforeMicroUsd: number;
  readonly microUsd: number;
  /** Change of the cost of an hour that was held: the price or the mix of accelerators; `undefined` without hours in both. */
  readonly pricePart: number | undefined;
}

export interface CostChanges {
  readonly beforeMs: number;
  readonly periodMs: number;
  /** The largest change first, up or down. */
  readonly changes: readonly CostChange[];
}

/** `totals` as `CostReport` gives them. `undefined` if there are fewer than two periods. */
export function costChanges(totals: readonly CostTotal[]): CostChanges | undefined {
  const starts = [...new Set(totals.map(({ periodStartMs }) => periodStartMs))].toSorted((a, b) => a - b);
  const [beforeMs, periodMs] = [starts.at(-2), starts.at(-1)];
  if (beforeMs === undefined || periodMs === undefined) return undefined;
  const groups = new Map<string, { group: readonly string[]; before?: CostTotal; now?: CostTotal }>();
  for (const total of totals) {
    if (total.periodStartMs < beforeMs) continue;
    const key = JSON.stringify(total.group);
    const found = groups.get(key) ?? { group: total.group };
    groups.set(key, { ...found, [total.periodStartMs === periodMs ? "now" : "before"]: total });
  }
  const changes = [...groups.values()].map(({ group, before, now }): CostChange => {
    const [old, fresh] = [priceOf(before), priceOf(now)];
    return {
      group,
      beforeMicroUsd: before?.microUsd ?? 0,
      microUsd: now?.microUsd ?? 0,
      pricePart: old === undefined || fresh === undefined ? undefined : fresh / old - 1,
    };
  });
  const size = (change: CostChange): number => Math.abs(change.microUsd - change.beforeMicroUsd);
  return {
    beforeMs,
    periodMs,
    changes: changes.toSorted((a, b) => size(b) - size(a) || (a.group.join() < b.group.join() ? -1 : 1)),
  };
}

function priceOf(total: CostTotal | undefined): number | undefined {
  const microUsd = total === undefined ? 0 : total.microUsd - total.meteredMicroUsd;
  return total === undefined || total.hours === 0 || microUsd === 0 ? undefined : microUsd / total.hours;
}
