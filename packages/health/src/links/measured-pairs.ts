/** Pairs of nodes whose network a suite measured: rows `network-throughput/PEER` and `network-latency/PEER` of the newest result of a node. */
import { isOfBasis } from "../qualification/basis.ts";
import type { Measurement } from "../qualification/measurement.ts";
import { medianOf } from "../statistics.ts";

export type LinkMeasure = "throughput" | "latency";

export interface LinkNode {
  readonly id: string;
  /** Name at its cluster, by which suites of other nodes call it. */
  readonly name: string;
  readonly pool: string;
  /** Path of its leaf switch; empty: not known, so that all such nodes of the pool count as one leaf. */
  readonly leaf: string;
  /** Newest result of the suite; `null`: there is none. */
  readonly result: {
    readonly atMs: number;
    readonly measurements: readonly Measurement[];
    /** Results of one basis can be compared. Absent: an earlier build stored it. */
    readonly basis?: string;
  } | null;
}

export interface MeasuredPair {
  readonly nodes: readonly [string, string];
  readonly leaves: readonly [string, string];
  readonly pool: string;
  /** That of the suite; empty: not known. */
  readonly basis: string;
  readonly measure: LinkMeasure;
  readonly unit: string;
  readonly value: number;
  readonly atMs: number;
  /** Whether the pairs of a newer result of the end speak for it: the pair says nothing about its state now. */
  readonly isOld: readonly [boolean, boolean];
}

export interface MeasuredPairs {
  /** The newest first. */
  readonly pairs: readonly MeasuredPair[];
  /** Why a node measured no pair itself, by id. */
  readonly reasons: ReadonlyMap<string, string>;
  /** Pairs beyond those that are read from one result. */
  readonly leftOut: number;
}

const ROW = /^network-(throughput|latency)\/(.+)$/;
/** Pairs that are read from the result of one node. The built-in suite measures at most four. */
const PAIRS_MAX = 16;

export function measuredPairs(nodes: readonly LinkNode[]): MeasuredPairs {
  // Nodes of two clusters can have one name: peers are of the same pool.
  const byName = new Map(nodes.flatMap((node) => [node.id, node.name].map((name) => [keyOf(node.pool, name), node])));
  const pairs: OwnPair[] = [];
  const reasons = new Map<string, string>();
  const newest = newestBases(nodes);
  let leftOut = 0;
  for (const node of nodes) {
    const basis = basisOf(node, newest.get(node.pool));
    const found = pairsOf(node, basis, (name) => byName.get(keyOf(node.pool, name)));
    const own = found.slice(0, PAIRS_MAX);
    leftOut += found.length - own.length;
    pairs.push(...own);
    if (own.length === 0) reasons.set(node.id, reasonOf(node));
  }
  return { pairs: newestOf(pairs.toSorted((left, right) => right.atMs - left.atMs)), reasons, leftOut };
}

/** The basis of the newest result that states one, by pool. */
function newestBases(nodes: readonly LinkNode[]): ReadonlyMap<string, string> {
  const newest = new Map<string, { readonly atMs: number; readonly basis: string }>();
  for (const { pool, result } of nodes) {
    if (result?.basis === undefined || (newest.get(pool)?.atMs ?? -Infinity) >= result.atMs) continue;
    newest.set(pool, { atMs: result.atMs, basis: result.basis });
  }
  return new Map([...newest].map(([pool, { basis }]) => [pool, basis]));
}

function basisOf({ result }: LinkNode, newest: string | undefined): string {
  if (result?.basis !== undefined) return result.basis;
  return newest !== undefined && isOfBasis({}, newest) ? newest : "";
}

type OwnPair = Omit<MeasuredPair, "isOld">;

/** Two nodes that measured each other are one pair: the newest. */
function newestOf(pairs: readonly OwnPair[]): readonly MeasuredPair[] {
  const newest = new Map(pairs.toReversed().map(({ nodes: [node], measure, atMs }) => [`${measure} ${node}`, atMs]));
  const known = new Set<string>();
  return pairs.flatMap((pair) => {
    const { nodes, measure, unit, atMs } = pair;
    const key = JSON.stringify([measure, unit, ...nodes.toSorted()]);
    if (known.has(key)) return [];
    known.add(key);
    const isOld = (node: string): boolean => (newest.get(`${measure} ${node}`) ?? 0) > atMs;
    return [{ ...pair, isOld: [isOld(nodes[0]), isOld(nodes[1])] as const }];
  });
}

const keyOf = (pool: string, name: string): string => JSON.stringify([pool, name]);

/** A result has a row for each run of the suite: the median of those of one peer counts. */
function pairsOf(
  { id, pool, leaf, result }: LinkNode,
  basis: string,
  peerOf: (name: string) => LinkNode | undefined,
): readonly OwnPair[] {
  const found = new Map<string, OwnPair & { readonly values: number[] }>();
  for (const { test, value, unit } of result?.measurements ?? []) {
    const [, measure, name = ""] = ROW.exec(test) ?? [];
    const peer = measure === undefined ? undefined : peerOf(name);
    if (peer === undefined || peer.id === id || value === null || value < 0) continue;
    const key = JSON.stringify([measure, peer.id, unit]);
    const known = found.get(key);
    if (known !== undefined) known.values.push(value);
    else
      found.set(key, {
        nodes: [id, peer.id],
        leaves: [leaf, peer.leaf],
        pool,
        basis,
        measure: measure as LinkMeasure,
        unit: unit ?? "",
        value,
        values: [value],
        atMs: result?.atMs ?? 0,
      });
  }
  return [...found.values()].map(({ values, ...pair }) => ({ ...pair, value: medianOf(values) }));
}

function reasonOf({ result }: LinkNode): string {
  if (result === null) return "no suite has run";
  const skipped = result.measurements.find(({ test, detail }) => test.startsWith("network-") && detail !== undefined);
  return skipped?.detail ?? "the suite measures no pairs";
}
