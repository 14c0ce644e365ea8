/**
 * A model of faults that come in bursts. Futures are put together from blocks of the fitted days, drawn at random, with all faults of a
 * block and their repair times, so faults with one cause stay together, whatever their distribution (a moving block bootstrap of the
 * arrivals). The forecast is the median of what such futures need.
 */
import { concurrencyBetween, concurrencyMoments, concurrencyQuantile, type FaultInterval } from "./fault-trace.ts";
import { uniformDraws } from "./uniform-draws.ts";

/** Futures that are drawn: the median of more differs by less than one node. */
const FUTURES = 401;
/** Repairs that take longer count as this long: a node that is gone for a year is no longer repaired. */
const REPAIR_DAYS_MAX = 365;
/** The same input gives the same forecast. */
const SEED = 30;
/** Days before a future, in which its first open faults start. */
const WARM_UP_DAYS_MAX = 120;
/** Faults drawn for all futures together, so that a large trace takes seconds: it needs fewer futures. */
const DRAWN_FAULTS_MAX = 5_000_000;

export interface FailureModel {
  /** Faults that started in the fitted days. */
  readonly faultCount: number;
  readonly faultsPerDay: number;
  /** Variance of the faults of a day over their mean: 1 for independent faults, more for bursts. */
  readonly burstiness: number;
  /** Repairs that ended in the fitted days. */
  readonly repairDays: { readonly mean: number; readonly median: number; readonly p90: number } | null;
  /** Length of a block: longer than bursts, far shorter than the fitted days. */
  readonly blockDays: number;
}

interface FittedFaults {
  readonly days: number;
  readonly blockDays: number;
  /** By start, twice in a row, so that a block may cross the end of the fitted days. */
  readonly faults: readonly FittedFault[];
  /** Completed repairs by length. */
  readonly repairs: readonly number[];
}

interface FittedFault {
  readonly startDays: number;
  /** How long it lasted, or has lasted if it is still open. */
  readonly lastsDays: number;
  readonly isOpen: boolean;
}

/** Nothing after the fitted days is looked at. */
function fitted(intervals: readonly FaultInterval[], fromDays: number, days: number): FittedFaults {
  const untilDays = fromDays + days;
  const faults = intervals
    .filter(({ startDays }) => startDays >= fromDays && startDays < untilDays)
    .map(({ startDays, endDays }) => ({
      startDays: startDays - fromDays,
      lastsDays: Math.min(REPAIR_DAYS_MAX, Math.min(endDays, untilDays) - startDays),
      isOpen: endDays > untilDays,
    }));
  const repairs = faults.filter(({ isOpen }) => !isOpen).map(({ lastsDays }) => lastsDays);
  return {
    days,
    // The usual length for a bootstrap of blocks grows with the cube root of the sample (Kuensch 1989; Lahiri 2003).
    blockDays: Math.max(1, Math.cbrt(days)),
    faults: [...faults, ...faults.map((fault) => ({ ...fault, startDays: fault.startDays + days }))],
    repairs: repairs.toSorted((left, right) => left - right),
  };
}

function described({ faults, days, repairs, blockDays }: FittedFaults): FailureModel {
  const once = faults.slice(0, faults.length / 2);
  const counts = Array.from({ length: Math.max(1, Math.ceil(days)) }, () => 0);
  for (const { startDays } of once) counts[Math.floor(startDays)] = (counts[Math.floor(startDays)] ?? 0) + 1;
  const mean = once.length / counts.length;
  const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / counts.length;
  const at = (share: number): number => repairs[Math.min(repairs.length - 1, Math.floor(share * repairs.length))] ?? 0;
  return {
    faultCount: once.length,
    faultsPerDay: once.length / days,
    burstiness: mean === 0 ? 0 : variance / mean,
    repairDays:
      repairs.length === 0
        ? null
        : { mean: repairs.reduce((sum, each) => sum + each, 0) / repairs.length, median: at(0.5), p90: at(0.9) },
    blockDays,
  };
}

/** The P99 of a future as long as the fitted days. */
function futureP99(fit: FittedFaults, draw: () => number): number {
  const { days, blockDays, faults } = fit;
  const intervals: FaultInterval[] = [];
  for (let at = -Math.min(WARM_UP_DAYS_MAX, days); at < days; at += blockDays) {
    const block = draw() * days;
    for (let index = firstFrom(faults, block); index < faults.length; index += 1) {
      const fault = faults[index];
      if (fault === undefined || fault.startDays >= block + blockDays) break;
      const startDays = at + fault.startDays - block;
      intervals.push({ startDays, endDays: startDays + drawnRepair(fault, fit.repairs, draw) });
    }
  }
  return observedP99(intervals, 0, days);
}

/** A fault that is still open ends like one of the repairs that took longer than it has. */
function drawnRepair({ lastsDays, isOpen }: FittedFault, repairs: readonly number[], draw: () => number): number {
  if (!isOpen) return lastsDays;
  const longer = repairs.filter((repair) => repair > lastsDays);
  return longer[Math.floor(draw() * longer.length)] ?? 2 * lastsDays;
}

/** Index of the first fault that starts at an instant or after it. */
function firstFrom(faults: readonly FittedFault[], fromDays: number): number {
  let [low, high] = [0, faults.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((faults[middle]?.startDays ?? 0) >= fromDays) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The share of the time that the spares of a fleet shall suffice for. */
const COVERED_SHARE = 0.99;

export interface SparesForecast {
  readonly model: FailureModel;
  readonly p99Concurrent: number;
  /** Nodes that replace all faulty ones for 99% of the time. */
  readonly spares: number;
  /** The fitted days as they were, which the usual rule of thumb needs. */
  readonly observed: { readonly p99: number; readonly mean: number; readonly sigma: number };
}

export function forecastSpares(intervals: readonly FaultInterval[], fromDays: number, days: number): SparesForecast {
  const fit = fitted(intervals, fromDays, days);
  const draw = uniformDraws(SEED);
  const futures = Math.max(21, Math.min(FUTURES, Math.floor(DRAWN_FAULTS_MAX / Math.max(1, fit.faults.length))));
  const p99s = Array.from({ length: futures }, () => futureP99(fit, draw)).toSorted((left, right) => left - right);
  const p99Concurrent = p99s[Math.floor(futures / 2)] ?? 0;
  const observed = concurrencyBetween(intervals, fromDays, fromDays + days);
  return {
    model: described(fit),
    p99Concurrent,
    spares: p99Concurrent,
    observed: { p99: concurrencyQuantile(observed, COVERED_SHARE), ...concurrencyMoments(observed) },
  };
}

/** The P99 that a period had. */
export function observedP99(intervals: readonly FaultInterval[], fromDays: number, toDays: number): number {
  return concurrencyQuantile(concurrencyBetween(intervals, fromDays, toDays), COVERED_SHARE);
}
