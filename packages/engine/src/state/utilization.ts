/** Summary of the reports about how busy the accelerators of an attempt are. */
import type { UtilizationReport, AttemptUtilization } from "@headroom/model";

interface ReportTimes {
  readonly atMs: number;
  readonly startedAtMs: number | null;
}

/**
 * Adds a report to the summary. `before`: the summary of all earlier reports, or `undefined` if this is the first one.
 */
export function addUtilization(
  before: AttemptUtilization | undefined,
  { accelerators, busyAccelerators, busyMilli, peakMemoryMib, capacityMib }: UtilizationReport,
  { atMs, startedAtMs }: ReportTimes,
): AttemptUtilization {
  return {
    atMs,
    accelerators,
    busyAccelerators,
    busyMilli,
    mostBusyAccelerators: Math.max(before?.mostBusyAccelerators ?? 0, busyAccelerators),
    busyAtMs: busyAccelerators > 0 ? atMs : (before?.busyAtMs ?? startedAtMs ?? atMs),
    peakMemoryMib: larger(before?.peakMemoryMib ?? null, peakMemoryMib),
    capacityMib: capacityMib ?? before?.capacityMib ?? null,
  };
}

const larger = (left: number | null, right: number | null): number | null =>
  left === null || right === null ? (left ?? right) : Math.max(left, right);
