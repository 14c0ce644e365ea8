/**
 * Compares the series of nodes and accelerators with those of their comparable set: median and median absolute deviation hold with almost half
 * of the set bad. Values that follow from the work that was placed are left out. Numbers of events must be more than chance too.
 */
import { MAD_TO_SIGMA, medianOf } from "../statistics.ts";
import { eventsPerHour } from "./counted-events.ts";
import { BUSY_MILLI_MIN, isUnderLoad } from "./under-load.ts";

/** Subjects of a set from which on a comparison says something. */
const PEERS_MIN = 8;
/** Standard deviations from the median. A set of a thousand has one such value by chance in 1,700 metrics. */
const DEVIATIONS_MIN = 5;
/** The part of the median that a value differs at least. */
const PART_MIN = 0.05;
/** The mean absolute deviation of normal noise, times this, is its standard deviation. It counts where more than half of the values are equal. */
const MEAN_TO_SIGMA = 1.2533;
/** Load of the work, not health of the node: shares of use, traffic, memory in use, codes and bit masks. */
const OF_WORK =
  /^(?:busyMilli|memoryUsedMib|memoryUsedBytes|rootFreeBytes|load1|nvlinkMib|lastXid|throttleReasons|outOfMemoryKills|.*Percent|.*BytesPerS)$/;
/** Least differences from the median of values that are 0 on nearly all: throttled for a hundredth of an hour (ns), failed for half of it. */
const LEAST: readonly (readonly [RegExp, number])[] = [
  [/Violation$/, 3.6e10],
  [/Failure$/, 0.5],
];
const POWER = "powerMilliwatts";

/** Recent means of the values of a node or an accelerator. */
export interface PeerMeans {
  readonly subject: string;
  readonly set: string;
  readonly values: Pick<ReadonlyMap<string, number>, "get" | "keys">;
}

export interface PeerDeviation {
  readonly subject: string;
  readonly set: string;
  readonly metric: string;
  readonly value: number;
  readonly median: number;
  /** Standard deviations above the median of the set; negative: below. */
  readonly deviations: number;
  /** Subjects of the set with the metric. */
  readonly peerCount: number;
  /** Power of the subject over the median of its set, of a value that depends on load. `null`: it does not, or the power is not known. */
  readonly powerPart: number | null;
}

/** The largest deviations first. Subjects of different kinds must be in different sets. */
export function peerDeviations(subjects: readonly PeerMeans[]): readonly PeerDeviation[] {
  const found: PeerDeviation[] = [];
  for (const [set, members] of Map.groupBy(subjects, (each) => each.set)) {
    const metrics = new Set<string>();
    for (const { values } of members) for (const name of values.keys()) metrics.add(name);
    for (const metric of metrics) if (!OF_WORK.test(metric)) found.push(...deviationsOf(set, metric, members));
  }
  return found.toSorted(
    (left, right) => Math.abs(right.deviations) - Math.abs(left.deviations) || (left.subject < right.subject ? -1 : 1),
  );
}

function deviationsOf(set: string, metric: string, members: readonly PeerMeans[]): readonly PeerDeviation[] {
  const ofLoad = isUnderLoad(metric);
  const rows = members.flatMap(({ subject, values }) => {
    const value = values.get(metric);
    const isIdle = ofLoad && (values.get("busyMilli") ?? BUSY_MILLI_MIN) < BUSY_MILLI_MIN;
    return value === undefined || isIdle ? [] : [{ subject, value, power: ofLoad ? values.get(POWER) : undefined }];
  });
  if (rows.length < PEERS_MIN) return [];
  const median = medianOf(rows.map(({ value }) => value));
  const distances = rows.map(({ value }) => Math.abs(value - median));
  const mad = MAD_TO_SIGMA * medianOf(distances);
  const sigma = mad > 0 ? mad : (MEAN_TO_SIGMA * distances.reduce((sum, each) => sum + each, 0)) / rows.length;
  if (!(sigma > 0)) return [];
  const medianPower = ofLoad ? medianOf(rows.flatMap(({ power }) => power ?? [])) : 0;
  const perHour = eventsPerHour(metric);
  const least = Math.max(PART_MIN * Math.abs(median), LEAST.find(([name]) => name.test(metric))?.[1] ?? 0);
  return rows.flatMap(({ subject, value, power }) => {
    if (!(Math.abs(value - median) > least)) return [];
    const own = (value - median) / sigma;
    const chance = perHour === null ? own : poissonDeviations(value * perHour, median * perHour);
    const deviations = Math.round(10 * (Math.abs(chance) < Math.abs(own) ? chance : own)) / 10;
    if (Math.abs(deviations) < DEVIATIONS_MIN) return [];
    const powerPart = power === undefined || !(medianPower > 0) ? null : power / medianPower;
    return [{ subject, set, metric, value, median, deviations, peerCount: rows.length, powerPart }];
  });
}

/** Twice the root of a number of rare events varies with about one standard deviation, whatever its mean is (Anscombe 1948). */
const poissonDeviations = (count: number, median: number): number =>
  2 * (Math.sqrt(Math.max(0, count)) - Math.sqrt(Math.max(0, median)));
