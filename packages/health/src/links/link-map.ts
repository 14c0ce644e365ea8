/**
 * The link map: each measured pair of nodes beside the median of the pairs of its kind (same pool, same basis of the suite, within a leaf
 * or across leaves), and what the slow ones have in common: the adapter of a node, the uplink of a leaf, or nothing else than the pair.
 */
import { medianOf } from "../statistics.ts";
import { deviationsOf, endsOf, explainSlow, isWithin, References } from "./explain-slow.ts";
import { measuredPairs, type LinkMeasure, type LinkNode, type MeasuredPair } from "./measured-pairs.ts";

export type LinkVerdict = "slow" | "ok" | "tooFew" | "notMeasured";

export interface LinkItem {
  readonly kind: "uplink" | "nic" | "pair";
  readonly verdict: LinkVerdict;
  readonly pool: string;
  /** Path of the leaf of an uplink; `null`: not of an uplink. */
  readonly leaf: string | null;
  /** Ids: one of an adapter, two of a pair, none of an uplink. */
  readonly nodes: readonly string[];
  /** `null`: not measured. */
  readonly measure: LinkMeasure | null;
  readonly unit: string;
  /** The value of a pair; for an adapter, that of its best pair; for an uplink, the median of its pairs across leaves. */
  readonly value: number | null;
  /** Median of the pairs of the kind that no slow adapter or uplink explains. `null`: too few. */
  readonly median: number | null;
  /** Robust standard deviations by which the value is worse; negative: better. */
  readonly deviations: number | null;
  /** Measured pairs that the link is part of. */
  readonly pairs: number;
  readonly measuredAtMs: number | null;
  readonly detail: string;
}

export interface LinkMap {
  readonly pairs: number;
  readonly nodes: { readonly total: number; readonly measured: number };
  /** Slow links first, then uplinks, adapters and pairs. */
  readonly items: readonly LinkItem[];
  /** Items and pairs that were left out. */
  readonly leftOut: number;
}

const ITEMS_MAX = 1_000;
/** Nodes of a leaf with pairs across leaves from which on they speak for its uplink. */
const LEAF_NODES_MIN = 3;
const ENDS_MIN = 2;

/** Made in portions, so that a caller that serves requests can serve others between them. */
export function* linkMapInPortions(nodes: readonly LinkNode[]): Generator<undefined, LinkMap> {
  const { pairs, reasons, leftOut } = measuredPairs(nodes);
  yield;
  const kindOf = ({ pool, basis, measure, unit }: MeasuredPair): string => JSON.stringify([pool, basis, measure, unit]);
  const groups = [...Map.groupBy(pairs, kindOf).values()];
  const measured = new Set(pairs.flatMap((pair) => pair.nodes));
  const crossed = new Set(pairs.filter((pair) => !isWithin(pair)).flatMap((pair) => uplinksOf(pair)));
  const ofGroups: (readonly LinkItem[])[] = [];
  for (const group of groups) {
    yield;
    ofGroups.push(yield* itemsOf(group));
  }
  yield;
  const items = [
    ...ofGroups.flat(),
    ...nodes.flatMap(({ id, pool }) =>
      measured.has(id) ? [] : [unmeasured("nic", { pool, leaf: null, nodes: [id] }, reasons.get(id) ?? "")],
    ),
    ...leavesOf(nodes).flatMap(({ pool, leaf }) =>
      crossed.has(uplinkKey(pool, leaf))
        ? []
        : [unmeasured("uplink", { pool, leaf, nodes: [] }, "no pair across leaves is measured")],
    ),
  ].toSorted((left, right) => orderOf(left) - orderOf(right) || (right.deviations ?? 0) - (left.deviations ?? 0));
  return {
    pairs: pairs.length,
    nodes: { total: nodes.length, measured: measured.size },
    items: items.slice(0, ITEMS_MAX),
    leftOut: leftOut + Math.max(0, items.length - ITEMS_MAX),
  };
}

const KINDS = ["uplink", "nic", "pair"];
const orderOf = ({ kind, verdict }: LinkItem): number => KINDS.indexOf(kind) + (verdict === "slow" ? 0 : KINDS.length);

const uplinkKey = (pool: string, leaf: string): string => JSON.stringify([pool, leaf]);
const uplinksOf = ({ pool, leaves }: MeasuredPair): readonly string[] => leaves.map((leaf) => uplinkKey(pool, leaf));

/** Leaves of the pools that have several. */
function leavesOf(nodes: readonly LinkNode[]): readonly { readonly pool: string; readonly leaf: string }[] {
  return [...Map.groupBy(nodes, ({ pool }) => pool)].flatMap(([pool, own]) => {
    const leaves = [...new Set(own.map(({ leaf }) => leaf))];
    return leaves.length < 2 ? [] : leaves.map((leaf) => ({ pool, leaf }));
  });
}

type Place = Pick<LinkItem, "pool" | "leaf" | "nodes">;
const unmeasured = (kind: LinkItem["kind"], place: Place, detail: string): LinkItem => ({
  kind,
  verdict: "notMeasured",
  ...place,
  measure: null,
  unit: "",
  value: null,
  median: null,
  deviations: null,
  pairs: 0,
  measuredAtMs: null,
  detail,
});

const isCurrent = ({ isOld }: MeasuredPair): boolean => !isOld.includes(true);

/** Items of the pairs of one pool, basis, measure and unit. Old pairs are no items, but still show how fast sound pairs are. */
function* itemsOf(pairs: readonly MeasuredPair[]): Generator<undefined, readonly LinkItem[]> {
  const within = pairs.filter(isWithin);
  const across = pairs.filter((pair) => !isWithin(pair));
  const uplinks = explainSlow(across, "leaves", uplinkTest(across, within));
  yield;
  const ofUplinks = new Map([...uplinks].flatMap(([leaf, own]) => own.map((pair) => [pair, leaf] as const)));
  const rest = pairs.filter((pair) => !ofUplinks.has(pair));
  const adapters = explainSlow(rest, "nodes", adapterTest(rest));
  yield;
  const ofAdapters = new Map([...adapters].flatMap(([node, own]) => own.map((pair) => [pair, node] as const)));
  const references = new References(rest.filter((pair) => !ofAdapters.has(pair)));
  const byLeaf = Map.groupBy(
    across.flatMap((pair) => [...endsOf(pair, "leaves")].map((leaf) => ({ pair, leaf }))),
    ({ leaf }) => leaf,
  );
  const byNode = Map.groupBy(
    pairs.flatMap((pair) => [...endsOf(pair, "nodes")].map((node) => ({ pair, node }))),
    ({ node }) => node,
  );
  const pairOf = ({ pair }: { readonly pair: MeasuredPair }): MeasuredPair => pair;
  return [
    ...[...byLeaf].map(([leaf, own]) => uplinkItem(leaf, own.map(pairOf), references, uplinks.has(leaf))),
    ...[...byNode].map(([node, own]) => adapterItem(node, own.map(pairOf), references, adapters.has(node))),
    ...pairs.filter(isCurrent).map((pair) => {
      const [leaf, node] = [ofUplinks.get(pair), ofAdapters.get(pair)];
      const cause = leaf === undefined ? (node === undefined ? "" : `the adapter of ${node}`) : `the uplink of ${leaf}`;
      return pairItem(pair, references, cause);
    }),
  ];
}

/**
 * The uplink of a leaf is slow if the pairs across leaves of most of its nodes are, and most pairs within it are not. One far node, or
 * one far leaf, whose pairs all are slow explains them too, so that neither is named.
 */
function uplinkTest(
  across: readonly MeasuredPair[],
  within: readonly MeasuredPair[],
): Parameters<typeof explainSlow>[2] {
  const inside = new References(within);
  return (leaf, own, slow) => {
    const nearOf = (pair: MeasuredPair): string => pair.nodes[pair.leaves[0] === leaf ? 0 : 1];
    const near = [...Map.groupBy(own, nearOf).values()];
    const slowNodes = near.filter((each) => 2 * each.filter((pair) => slow.has(pair)).length > each.length);
    if (slowNodes.length < LEAF_NODES_MIN || 2 * slowNodes.length <= near.length) return false;
    const inLeaf = within.filter((pair) => pair.leaves[0] === leaf && inside.of(pair) !== null);
    if (inLeaf.length === 0 || 2 * inLeaf.filter((pair) => inside.isSlow(pair)).length >= inLeaf.length) return false;
    return (["nodes", "leaves"] as const).every((ends) => {
      const far = new Set([...slow].map((pair) => pair[ends][pair.leaves[0] === leaf ? 1 : 0]));
      if (far.size >= ENDS_MIN) return true;
      return across.some(
        (pair) => !slow.has(pair) && pair[ends].some((end) => far.has(end)) && !pair.leaves.includes(leaf),
      );
    });
  };
}

/**
 * The adapter of a node is slow if its pairs with two or more nodes all are, and one of them is within its leaf or another node of
 * the leaf has a pair across leaves that is not slow: otherwise the uplink explains them too.
 */
function adapterTest(pairs: readonly MeasuredPair[]): Parameters<typeof explainSlow>[2] {
  const references = new References(pairs);
  return (node, own, slow) => {
    const others = new Set(own.map(({ nodes }) => (nodes[0] === node ? nodes[1] : nodes[0])));
    if (others.size < ENDS_MIN || slow.size < own.length) return false;
    if (own.some(isWithin)) return true;
    const [first] = own;
    const leaf = first?.leaves[first.nodes[0] === node ? 0 : 1] ?? "";
    return pairs.some(
      (pair) =>
        !isWithin(pair) && endsOf(pair, "leaves").has(leaf) && !pair.nodes.includes(node) && !references.isSlow(pair),
    );
  };
}

function pairItem(pair: MeasuredPair, references: References, cause: string): LinkItem {
  const kind = isWithin(pair) ? "within the leaf" : "across leaves";
  const figures = figuresOf(pair, references);
  const isBad = references.isSlow(pair);
  const verdict = figures.median === null ? "tooFew" : isBad ? "slow" : "ok";
  const detail = cause !== "" && isBad ? `${kind}; explained by ${cause}` : kind;
  return { kind: "pair", verdict, ...placeOf(pair, { nodes: pair.nodes }), ...figures, pairs: 1, detail };
}

function adapterItem(node: string, own: readonly MeasuredPair[], references: References, isBad: boolean): LinkItem {
  const judged = own.filter((pair) => references.of(pair) !== null);
  const worseOf = (pair: MeasuredPair): number => figuresOf(pair, references).deviations ?? Number.POSITIVE_INFINITY;
  const [first] = own.toSorted((left, right) => worseOf(left) - worseOf(right));
  const pair = first as MeasuredPair;
  const others = new Set(judged.flatMap(({ nodes }) => nodes)).size - 1;
  const verdict = isBad ? "slow" : others < ENDS_MIN ? "tooFew" : "ok";
  const slow = judged.filter((each) => references.isSlow(each)).length;
  const detail = `${slow} of ${own.length} pairs slow`;
  return {
    kind: "nic",
    verdict,
    ...placeOf(pair, { nodes: [node] }),
    ...figuresOf(pair, references),
    pairs: own.length,
    detail,
  };
}

function uplinkItem(leaf: string, own: readonly MeasuredPair[], references: References, isBad: boolean): LinkItem {
  const value = medianOf(own.map((pair) => pair.value));
  const [first] = own;
  const pair = { ...(first as MeasuredPair), value };
  const near = new Set(own.map(({ nodes, leaves }) => nodes[leaves[0] === leaf ? 0 : 1])).size;
  const slow = own.filter((each) => references.isSlow(each)).length;
  const figures = figuresOf(pair, references);
  const verdict = isBad ? "slow" : near < LEAF_NODES_MIN || figures.median === null ? "tooFew" : "ok";
  const detail = `${slow} of ${own.length} pairs across leaves slow, of ${near} nodes`;
  return { kind: "uplink", verdict, ...placeOf(pair, { leaf, nodes: [] }), ...figures, pairs: own.length, detail };
}

const placeOf = ({ pool }: MeasuredPair, own: Partial<Place> & Pick<Place, "nodes">): Place => ({
  pool,
  leaf: null,
  ...own,
});

function figuresOf(
  pair: MeasuredPair,
  references: References,
): Pick<LinkItem, "measure" | "unit" | "value" | "median" | "deviations" | "measuredAtMs"> {
  const reference = references.of(pair);
  const { measure, unit, value, atMs: measuredAtMs } = pair;
  const deviations = reference === null ? null : Math.round(10 * deviationsOf(pair, reference)) / 10;
  return { measure, unit, value, median: reference?.median ?? null, deviations, measuredAtMs };
}
