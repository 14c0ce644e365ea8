/** Readings of metric sources about an endpoint, and whether they say anything about now. */
import type { MetricTarget } from "./targets.ts";

/** One value of an endpoint, as a metric source read it last. */
export interface MetricReading {
  readonly source: string;
  readonly name: string;
  readonly value: number;
  /** Mean over replicas, for levels; absent: the value was read about the endpoint as a whole. */
  readonly mean?: number;
  readonly atMs: number;
  /** Interval of the source. */
  readonly everyMs: number;
  /** Replicas that the value was read from; `null`: it was read about the endpoint as a whole. */
  readonly replicas: number | null;
}

/**
 * `missing`: no source has the value. `late`: it is too old. `unsound`: it is no amount. `contradictory`: several sources have different
 * values. `partial`: some replicas were not read.
 */
export type MetricGap = "missing" | "late" | "unsound" | "contradictory" | "partial";

export type MetricFinding =
  | { readonly kind: "known"; readonly value: number; readonly everyMs: number; readonly atMs: number }
  /** `atMs`: time of the newest value, although it says nothing about now; `null`: there is none. */
  | { readonly kind: "gap"; readonly gap: MetricGap; readonly atMs: number | null };

/** A value is late after so many intervals of its source, and this time. */
const INTERVALS = 3;
const GRACE_MS = 5_000;

interface Asked {
  readonly nowMs: number;
  /** Replicas that take requests. */
  readonly ready: number;
}

export function metricFinding(
  { name, source, kind }: MetricTarget,
  readings: readonly MetricReading[],
  { nowMs, ready }: Asked,
): MetricFinding {
  const found = readings.filter((each) => each.name === name && (source === null || each.source === source));
  const newest = found.reduce<number | null>((most, { atMs }) => Math.max(most ?? atMs, atMs), null);
  const gap = (each: MetricGap): MetricFinding => ({ kind: "gap", gap: each, atMs: newest });
  if (found.length === 0) return gap("missing");
  const fresh = found.filter(({ atMs, everyMs }) => Math.abs(nowMs - atMs) <= INTERVALS * everyMs + GRACE_MS);
  const [first] = fresh;
  if (first === undefined) return gap("late");
  const values = fresh.map(({ value, mean = value }) => (kind === "level" ? mean : value));
  const [measured = Number.NaN] = values;
  if (values.some((value) => !Number.isFinite(value) || value < 0)) return gap("unsound");
  if (values.some((value) => value !== measured)) return gap("contradictory");
  // Levels are means over replicas, which some of them give too. Amounts without some of them are too small.
  if (kind === "perReplica" && first.replicas !== null && first.replicas < ready) return gap("partial");
  return { kind: "known", value: measured, everyMs: first.everyMs, atMs: newest ?? first.atMs };
}
