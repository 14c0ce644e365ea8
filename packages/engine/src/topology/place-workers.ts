/**
 * Places the workers of one group on the fabric: the number of workers for each leaf. One level may be required: all
 * workers are in one domain of it. Another level may be preferred: the placement is as narrow as possible, from this
 * level upwards. The workers of a slice share a domain of the slice's level. The narrowest domain that holds everything
 * is chosen, and in it the fewest and fullest domains.
 */
import { invariant } from "@headroom/model";
import { balance } from "./balance.ts";
import { type Counts, countWhatFits, type DomainOrder, holding, type Slicing, sortDomains } from "./counts.ts";
import type { DomainRange, DomainTree } from "./domain-tree.ts";
import { type Portion, takeUntilCovered } from "./take.ts";

/** Workers that must share a domain of a level. */
export interface FabricSlice {
  readonly level: number;
  readonly workers: number;
}

/** A request for workers. Levels are indices into the tree's levels; 0 is the widest. */
export interface FabricRequest {
  readonly workers: number;
  /** Level at which all workers must be in one domain, or null if none is required. */
  readonly required: number | null;
  /**
   * Level at which one domain is preferred; if none holds the work, one domain of the next wider level is tried. Null
   * if there is no preference.
   */
  readonly preferred: number | null;
  /**
   * Slices from the widest level to the narrowest. Each size divides the size before it. If the list is empty, workers
   * need not share domains.
   */
  readonly slices: readonly FabricSlice[];
}

export interface FabricPolicy {
  /** Whether unconstrained work uses small remnants first, instead of the largest free domains. */
  readonly usesRemnants: boolean;
  /** Whether work that prefers a level but needs several domains is spread evenly over them, if possible. */
  readonly balances: boolean;
}

/** The leaves that may be used, and the number of workers of the group that each can hold now. */
export interface FabricRoom {
  readonly leaves: DomainRange;
  readonly capacityOf: (leaf: number) => number;
}

export interface LeafPortion {
  readonly leaf: number;
  readonly workers: number;
}

export type FabricOutcome =
  | { readonly kind: "placed"; readonly portions: readonly LeafPortion[] }
  /**
   * `fittingSlices`: the largest number of slices that fit into one domain of the required level. Without a required
   * level: the number that fits into all domains together.
   */
  | { readonly kind: "noRoom"; readonly level: number; readonly fittingSlices: number; readonly neededSlices: number }
  /** The request contradicts itself or the fabric, so free capacity does not help. */
  | { readonly kind: "contradiction"; readonly problem: FabricContradiction };

export type FabricContradiction =
  | "unknownLevel"
  | "sliceWithoutWorkers"
  | "slicesWiderThanWork"
  | "slicesOutOfOrder"
  | "slicesDoNotDivideWork";

/**
 * Returns the number of workers for each leaf that gets any, in the order of the leaves. Reads the capacity of each
 * leaf once.
 */
export function placeWorkers(
  tree: DomainTree,
  request: FabricRequest,
  policy: FabricPolicy,
  room: FabricRoom,
): FabricOutcome {
  if (request.workers === 0) return placed([]);
  const problem = contradictionIn(tree, request);
  if (problem !== null) return { kind: "contradiction", problem };
  const slicing = slicingOf(tree, request);
  const counts = countWhatFits(tree, slicing, room.leaves, room.capacityOf);
  const { preferred, required } = request;
  const neededSlices = request.workers / slicing.workers;

  if (policy.balances && preferred !== null && (required === null || required < preferred)) {
    const balanced = balance(counts, preferred, neededSlices);
    if (balanced !== null) return placed(distribute(balanced, balanced.counts, "mostFirst"));
  }
  const isFree = preferred === null && required === null;
  const order = isFree && policy.usesRemnants ? "leastFirst" : "mostFirst";
  const found = findDomains(counts, request, neededSlices, order);
  return found.kind === "noRoom" ? found : placed(descend(found, counts, neededSlices, order));
}

/**
 * The narrowest level at which a single domain is searched for. For slices without a required or preferred level, the
 * search starts at the widest level.
 */
function startLevel(tree: DomainTree, { required, preferred, slices }: FabricRequest): number {
  if (preferred === null && required === null) return slices.length > 0 ? 0 : tree.levels.length - 1;
  return Math.max(preferred ?? 0, required ?? 0);
}

function contradictionIn(tree: DomainTree, request: FabricRequest): FabricContradiction | null {
  const { required, preferred, slices } = request;
  const start = startLevel(tree, request);
  const isKnown = (level: number | null): boolean => level === null || tree.levels[level] !== undefined;
  if (!isKnown(required) || !isKnown(preferred) || slices.some((slice) => !isKnown(slice.level))) return "unknownLevel";
  if (slices.some((slice) => slice.workers <= 0)) return "sliceWithoutWorkers";
  const outer = slices[0];
  if (outer !== undefined && outer.level < start) return "slicesWiderThanWork";
  let whole = request.workers;
  let level = -1;
  for (const slice of slices) {
    if (slice.level <= level) return "slicesOutOfOrder";
    if (whole % slice.workers !== 0) return "slicesDoNotDivideWork";
    whole = slice.workers;
    level = slice.level;
  }
  return null;
}

function slicingOf(tree: DomainTree, { slices }: FabricRequest): Slicing {
  const outer = slices[0] ?? { level: tree.levels.length - 1, workers: 1 };
  // A domain between two slice levels gets only whole slices of the inner level.
  const innerWorkers = tree.levels.map((_, level) => {
    if (level <= outer.level) return 1;
    return slices.find((slice) => slice.level >= level)?.workers ?? 1;
  });
  return { level: outer.level, workers: outer.workers, innerWorkers };
}

interface DomainChoice {
  readonly kind: "found";
  readonly level: number;
  readonly domains: readonly number[];
}

/**
 * The narrowest level at which the work fits, from the preferred level upwards, and the domains that it uses at this
 * level.
 */
function findDomains(
  counts: Counts,
  request: FabricRequest,
  neededSlices: number,
  order: DomainOrder,
): DomainChoice | Extract<FabricOutcome, { kind: "noRoom" }> {
  const { required } = request;
  let level = startLevel(counts.tree, request);
  const widest = request.preferred === null ? level : (required ?? 0);
  for (;;) {
    const slices = counts.slices[level] as Float64Array;
    const held = (domain: number): number => slices[domain] as number;
    const domains = holding(slices, { first: 0, end: slices.length });
    const single = tightestThatHolds(counts, level, domains, neededSlices);
    if (single >= 0) return { kind: "found", level, domains: [single] };
    if (level === required) {
      const fittingSlices = domains.reduce((most, domain) => Math.max(most, held(domain)), 0);
      return { kind: "noRoom", level, fittingSlices, neededSlices };
    }
    if (level > widest) {
      level--;
      continue;
    }
    const portions = takeUntilCovered(sortDomains(counts, level, domains, order), held, neededSlices, order);
    if (portions !== null) return { kind: "found", level, domains: portions.map((portion) => portion.domain) };
    return { kind: "noRoom", level, fittingSlices: domains.reduce((sum, each) => sum + held(each), 0), neededSlices };
  }
}

/**
 * The domain that holds this number of slices with the least excess. Among equal ones, the domain with the fewest
 * workers, then the first. -1 if there is none.
 */
function tightestThatHolds(counts: Counts, level: number, domains: readonly number[], sliceCount: number): number {
  const slices = counts.slices[level] as Float64Array;
  const workers = counts.workers[level] as Float64Array;
  let best = -1;
  for (const domain of domains) {
    const held = slices[domain] as number;
    if (held < sliceCount) continue;
    const difference = best < 0 ? -1 : held - (slices[best] as number);
    if (difference < 0 || (difference === 0 && (workers[domain] as number) < (workers[best] as number))) best = domain;
  }
  return best;
}

/**
 * Distributes slices and workers to the levels below. Above the slice level, the children of all chosen domains are
 * considered together, so that few domains are used in total. Below it, each domain distributes its own workers.
 */
function descend(found: DomainChoice, counts: Counts, neededSlices: number, order: DomainOrder): LeafPortion[] {
  const slicesAt = (level: number): ((domain: number) => number) => {
    const slices = counts.slices[level] as Float64Array;
    return (domain) => slices[domain] as number;
  };
  let { level } = found;
  let portions = covered(takeUntilCovered(found.domains, slicesAt(level), neededSlices, order));
  for (; level < counts.slicing.level; level++) {
    const below = counts.slices[level + 1] as Float64Array;
    const from = level;
    const children = portions.flatMap(({ domain }) => holding(below, counts.tree.childrenOf(from, domain)));
    const sorted = sortDomains(counts, level + 1, children, order);
    portions = covered(takeUntilCovered(sorted, slicesAt(level + 1), neededSlices, order));
  }
  return distribute({ level, portions }, counts, order);
}

/** Distributes the slices of each domain to the leaves inside this domain, as workers. */
function distribute(
  start: { readonly level: number; readonly portions: readonly Portion[] },
  counts: Counts,
  order: DomainOrder,
): LeafPortion[] {
  const { tree, slicing } = counts;
  let portions = start.portions.map(({ domain, amount }) => ({ domain, amount: amount * slicing.workers }));
  for (let { level } = start; level < tree.levels.length - 1; level++) {
    const size = level < slicing.level ? slicing.workers : (slicing.innerWorkers[level + 1] as number);
    const below = (level < slicing.level ? counts.slices : counts.workers)[level + 1] as Float64Array;
    const unit = level < slicing.level ? 1 : size;
    const held = (domain: number): number => Math.floor((below[domain] as number) / unit);
    portions = portions.flatMap(({ domain, amount }) => {
      const children = sortDomains(counts, level + 1, holding(below, tree.childrenOf(level, domain)), order);
      const inside = covered(takeUntilCovered(children, held, amount / size, order));
      return inside.map((portion) => ({ domain: portion.domain, amount: portion.amount * size }));
    });
  }
  return portions.map(({ domain, amount }) => ({ leaf: domain, workers: amount }));
}

/** Asserts that the portions exist: the counts of the level above guarantee this capacity in the level below. */
function covered(portions: Portion[] | null): Portion[] {
  invariant(portions !== null, "the fabric's counts disagree between levels");
  return portions;
}

function placed(portions: readonly LeafPortion[]): FabricOutcome {
  return { kind: "placed", portions: portions.toSorted((left, right) => left.leaf - right.leaf) };
}
