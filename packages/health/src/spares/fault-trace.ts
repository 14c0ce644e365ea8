/**
 * Faults of nodes over time, and how many are open at once. Start with `failure-model.ts`; nothing here reads clocks or draws numbers.
 */

/** A recorded start or end of a fault; times in days. */
export interface FaultEvent {
  readonly nodeId: string;
  /** Level, class and description: they tie an end to its start, beside the node. */
  readonly kind: string;
  readonly isStart: boolean;
  readonly atDays: number;
}

export interface FaultInterval {
  /** -Infinity: the fault was open when the trace started. */
  readonly startDays: number;
  /** Infinity: it is open when the trace ends. */
  readonly endDays: number;
}

/** Intervals by start. An end belongs to the oldest open start of the same node and kind. */
export function faultIntervals(events: readonly FaultEvent[]): readonly FaultInterval[] {
  // An end at the instant of a start follows it.
  const sorted = events.toSorted(
    (left, right) => left.atDays - right.atDays || Number(right.isStart) - Number(left.isStart),
  );
  const open = new Map<string, number[]>();
  const intervals: FaultInterval[] = [];
  for (const { nodeId, kind, isStart, atDays } of sorted) {
    const key = JSON.stringify([nodeId, kind]);
    const starts = open.get(key) ?? [];
    open.set(key, starts);
    if (isStart) starts.push(atDays);
    else intervals.push({ startDays: starts.shift() ?? Number.NEGATIVE_INFINITY, endDays: atDays });
  }
  for (const starts of open.values()) {
    for (const startDays of starts) intervals.push({ startDays, endDays: Number.POSITIVE_INFINITY });
  }
  return intervals.toSorted((left, right) => left.startDays - right.startDays || left.endDays - right.endDays);
}

/** The share of time, by number of open faults. The shares sum to one. */
export type Concurrency = readonly number[];

/** How long each number of faults was open at once between two instants, as shares of that time. */
export function concurrencyBetween(intervals: readonly FaultInterval[], fromDays: number, toDays: number): Concurrency {
  const changes: { readonly atDays: number; readonly change: number }[] = [];
  for (const { startDays, endDays } of intervals) {
    const [start, end] = [Math.max(startDays, fromDays), Math.min(endDays, toDays)];
    if (end > start) changes.push({ atDays: start, change: 1 }, { atDays: end, change: -1 });
  }
  changes.sort((left, right) => left.atDays - right.atDays || right.change - left.change);
  const shares: number[] = [];
  let open = 0;
  let sinceDays = fromDays;
  const add = (untilDays: number): void => {
    while (shares.length <= open) shares.push(0);
    shares[open] = (shares[open] ?? 0) + (untilDays - sinceDays) / (toDays - fromDays);
    sinceDays = untilDays;
  };
  for (const { atDays, change } of changes) {
    add(atDays);
    open += change;
  }
  add(toDays);
  return shares;
}

/** The smallest number of faults that is not exceeded for this share of the time. */
export function concurrencyQuantile(concurrency: Concurrency, share: number): number {
  let sum = 0;
  for (const [count, part] of concurrency.entries()) {
    sum += part;
    if (sum >= share - 1e-9) return count;
  }
  return concurrency.length - 1;
}

export function concurrencyMoments(concurrency: Concurrency): { readonly mean: number; readonly sigma: number } {
  const mean = concurrency.reduce((sum, part, count) => sum + part * count, 0);
  const square = concurrency.reduce((sum, part, count) => sum + part * count * count, 0);
  return { mean, sigma: Math.sqrt(Math.max(0, square - mean * mean)) };
}
