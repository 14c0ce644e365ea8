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
  /** The median of the nodes, if the verdict is a comparison: of several figures of a node, that of the same rank. */
  readonly peer_median?: number;
  /** The fact that most nodes state, if the verdict is a comparison. */
  readonly peer_text?: string;
}

export function withVerdicts(measurements: readonly Measurement[]): readonly Qualified[] {
  const groups = new Map<string, Figure[]>();
  for (const each of measurements) {
    if (!isFigure(each)) continue;
    const key = testKey(each);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [each]);
    else group.push(each);
  }
  const peers = new Map([...groups.values()].flatMap((group) => peersOf(group)));
  const facts = majorities(measurements);
  return measurements.map((each) => {
    const { verdict, value, text } = each;
    if (verdict !== null) return { ...each, verdict };
    if (text !== undefined) return withFact(each, text, facts.get(testKey(each)));
    const own = peers.get(each);
    if (value === null || own === undefined) return { ...each, verdict: "unknown" as const };
    return { ...each, verdict: isWorse(each, value, own) ? "fail" : "pass", peer_median: own.median };
  });
}

const testKey = ({ source, test }: Measurement): string => JSON.stringify([source, test]);

function withFact(each: Measurement, text: string, majority: string | undefined): Qualified {
  if (majority === undefined) return { ...each, verdict: "unknown" };
  return { ...each, verdict: text === majority ? "pass" : (each.differs ?? "fail"), peer_text: majority };
}

/** The fact of each test that more than half of its nodes state; a node counts with its newest. */
function majorities(measurements: readonly Measurement[]): ReadonlyMap<string, string> {
  const texts = new Map<string, Map<string, string>>();
  for (const each of measurements) {
    if (each.text === undefined || each.verdict !== null) continue;
    const key = testKey(each);
    const own = texts.get(key);
    if (own === undefined) texts.set(key, new Map([[each.node, each.text]]));
    else own.set(each.node, each.text);
  }
  const found = [...texts].flatMap(([key, byNode]): [string, string][] => {
    if (byNode.size < PEERS_MIN) return [];
    const nodes = Map.groupBy(byNode.values(), (text) => text);
    return [...nodes].flatMap(([text, { length }]) => (2 * length > byNode.size ? [[key, text]] : []));
  });
  return new Map(found);
}

interface Figure extends Measurement {
  readonly value: number;
}

const isFigure = (each: Measurement): each is Figure => each.value !== null;

interface Peers {
  readonly median: number;
  readonly mad: number;
}

/**
 * The figures of a test with those of their peers. A node has one value in each comparison, so that one with several files does not outvote
 * the others. It can have several figures, such as one for each accelerator in any order: they are compared rank by rank, the lowest with
 * the lowest of each node, because the lowest of eight healthy accelerators is lower than the median of a node.
 */
function peersOf(group: readonly Figure[]): readonly (readonly [Measurement, Peers])[] {
  const nodes = [...Map.groupBy(group, ({ node }) => node).values()].map((figures) =>
    figures.toSorted((left, right) => left.value - right.value),
  );
  if (nodes.length < PEERS_MIN) return [];
  const byCount = new Map<number, readonly Peers[]>();
  for (const { length } of nodes) if (!byCount.has(length)) byCount.set(length, peersByRank(nodes, length));
  return nodes.flatMap((figures) => {
    const ranks = byCount.get(figures.length) ?? [];
    return figures.flatMap((each, rank) => {
      const peers = ranks[rank];
      return peers === undefined ? [] : [[each, peers] as const];
    });
  });
}

/** By rank of `count` figures. The MAD is joined with the mean of all ranks: with few nodes, that of one rank is small or large by chance. */
function peersByRank(nodes: readonly (readonly Figure[])[], count: number): readonly Peers[] {
  const ranks = Array.from({ length: count }, (_, rank) => {
    const values = nodes.map((figures) => valueAt(figures, rank, count));
    const median = medianOf(values);
    return { median, mad: medianOf(values.map((value) => Math.abs(value - median))) };
  });
  const mean = ranks.reduce((sum, { mad }) => sum + mad, 0) / count;
  return ranks.map(({ median, mad }) => ({ median, mad: (mad + mean) / 2 }));
}

/** The value at a rank of `count`, interpolated for a node with another number of figures. For the only rank of one, the median. */
function valueAt(figures: readonly Figure[], rank: number, count: number): number {
  const last = figures.length - 1;
  const at = Math.min(Math.max(((rank + 0.5) * figures.length) / count - 0.5, 0), last);
  const low = figures[Math.floor(at)]?.value ?? 0;
  const high = figures[Math.ceil(at)]?.value ?? low;
  return low + (high - low) * (at - Math.floor(at));
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
