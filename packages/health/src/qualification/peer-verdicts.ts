/**
 * Compares the figures of a test over all nodes: a node that is worse than its peers fails. Median and median absolute deviation (MAD)
 * hold with almost half of the nodes bad.
 */
import { MAD_TO_SIGMA, medianOf } from "../statistics.ts";
import type { Measurement, Verdict } from "./measurement.ts";

/** Nodes from which on a comparison says something. */
const PEERS_MIN = 4;
/** Standard deviations, estimated from the MAD, that a node may be worse. */
const DEVIATIONS_MAX = 3.5;
/** The part of the median that a node may be worse however alike its peers are. Times of small operations vary more. */
const TOLERANCE = 0.05;
const TIME_TOLERANCE = 0.1;

export interface Qualified extends Measurement {
  readonly verdict: Verdict;
  /** The median of the nodes, if the verdict is a comparison. */
  readonly peer_median?: number;
}

export function withVerdicts(measurements: readonly Measurement[]): readonly Qualified[] {
  const groups = new Map<string, Measurement[]>();
  for (const each of measurements) {
    if (each.value === null) continue;
    const key = JSON.stringify([each.source, each.test]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [each]);
    else group.push(each);
  }
  const peers = new Map([...groups].map(([key, group]) => [key, peersOf(group)] as const));
  return measurements.map((each) => {
    const { verdict, value } = each;
    if (verdict !== null) return { ...each, verdict };
    const group = peers.get(JSON.stringify([each.source, each.test]));
    if (value === null || group === undefined || group.count < PEERS_MIN)
      return { ...each, verdict: "unknown" as const };
    return { ...each, verdict: isWorse(each, value, group) ? "fail" : "pass", peer_median: group.median };
  });
}

interface Peers {
  readonly count: number;
  readonly median: number;
  readonly mad: number;
}

/** One value for each node: a node with several files does not outvote the others. */
function peersOf(group: readonly Measurement[]): Peers {
  const byNode = new Map<string, number[]>();
  for (const { node, value } of group) if (value !== null) byNode.set(node, [...(byNode.get(node) ?? []), value]);
  const values = [...byNode.values()].map(medianOf);
  const median = medianOf(values);
  return { count: values.length, median, mad: medianOf(values.map((value) => Math.abs(value - median))) };
}

function isWorse(of: Pick<Measurement, "test" | "unit">, value: number, { median, mad }: Peers): boolean {
  const direction = betterDirection(of);
  const tolerance = direction === "lower" ? TIME_TOLERANCE : TOLERANCE;
  const allowed = Math.max(DEVIATIONS_MAX * MAD_TO_SIGMA * mad, tolerance * Math.abs(median));
  if (direction === "higher") return median - value > allowed;
  return direction === "lower" ? value - median > allowed : Math.abs(value - median) > allowed;
}

/** Whether more or less of a figure is better, by the name of its test, or its unit; `both`: not known, so any difference counts. */
function betterDirection({ test, unit }: Pick<Measurement, "test" | "unit">): "higher" | "lower" | "both" {
  const name = test.toLowerCase();
  if (/(?:_perf\b|busbw|algbw|_bw|bandwidth|flops|throughput|iops|gb\/s)/.test(name)) return "higher";
  if (/(?:time|latency|_lat|overhead|error|wait)/.test(name)) return "lower";
  if (/^(?:[kMGT]i?B\/s|[kMGTP]?B?it\/s|[kMGTP]?bps|[MGTP]?FLOPS?(?:\/s)?)$/i.test(unit ?? "")) return "higher";
  return /^(?:s|ms|us|µs|ns)$/.test(unit ?? "") ? "lower" : "both";
}
