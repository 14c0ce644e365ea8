/**
 * Balanced placement. If work prefers one domain but needs several, each of them gets nearly the same amount; without
 * it, some domains would be full and one would get a remnant. Among all groups of sibling domains, the group in which
 * the smallest part is largest is chosen.
 */
import { type Counts, holding, sortDomains, sumDomain } from "./counts.ts";
import type { DomainRange } from "./domain-tree.ts";
import { entropyOf } from "./entropy.ts";
import type { Portion } from "./take.ts";

/** Slices for each domain of one level, and the counts from which the levels below are placed. */
export interface Balance {
  readonly counts: Counts;
  readonly level: number;
  readonly portions: readonly Portion[];
}

/**
 * Bound of the search, some 50 ms: a better distribution is not worth more time. 4,096 workers on 5,000 leaves of nine
 * different capacities need fewer steps.
 */
const STEPS_MAX = 2_000_000;

interface DomainGroup {
  readonly domains: readonly number[];
  /** Minimum number of slices that each chosen domain gets. */
  readonly threshold: number;
  readonly domainCount: number;
}

/** The balanced placement of slices for work that prefers one domain of the level, or null if there is none. */
export function balance(original: Counts, level: number, sliceCount: number): Balance | null {
  const counts = copyOf(original, level);
  const group = bestGroup(counts, level, sliceCount);
  if (group === null) return null;
  if (level >= counts.slicing.level) return spread(counts, level, group.domains, { sliceCount, group });

  const byEvenness = sortByEvenness(counts, level, [...group.domains]);
  const chosen = fewestOfLeastCapacity(counts, level, byEvenness, sliceCount);
  if (chosen === null) return null;
  const parents = chosen.toSorted((left, right) => left - right);
  const children = parents.flatMap((domain) => everyOne(counts.tree.childrenOf(level, domain)));
  return spread(counts, level + 1, children, { sliceCount, group });
}

/** A copy of the counts in which this level and the one below may be changed. */
function copyOf(counts: Counts, level: number): Counts {
  const copy = (amounts: Float64Array, at: number): Float64Array =>
    at === level || at === level + 1 ? Float64Array.from(amounts) : amounts;
  return { ...counts, workers: counts.workers.map(copy), slices: counts.slices.map(copy) };
}

/**
 * The group of siblings with the largest threshold. Among equal ones, the group that needs the fewest domains, then the
 * first.
 */
function bestGroup(counts: Counts, level: number, sliceCount: number): DomainGroup | null {
  let best: DomainGroup | null = null;
  for (const siblings of siblingsAt(counts, level)) {
    const group = thresholdOf(counts, level, siblings, sliceCount);
    if (group === null) continue;
    const difference = best === null ? 1 : group.threshold - best.threshold || best.domainCount - group.domainCount;
    if (difference > 0) best = group;
  }
  return best;
}

function siblingsAt(counts: Counts, level: number): readonly DomainRange[] {
  const { tree } = counts;
  if (level === 0) return [{ first: 0, end: tree.domainCount(0) }];
  return everyOne({ first: 0, end: tree.domainCount(level - 1) }).map((above) => tree.childrenOf(level - 1, above));
}

/**
 * A group of siblings with the largest number of slices that each chosen domain can get at least (the threshold), or
 * null if there is none. Domains below the threshold are removed from the counts, children first. The other domains of
 * the group must still hold all slices.
 */
function thresholdOf(counts: Counts, level: number, siblings: DomainRange, sliceCount: number): DomainGroup | null {
  const { tree, slicing } = counts;
  const isAboveSlices = level < slicing.level;
  const domains = everyOne(siblings);
  const children = domains.flatMap((domain) => everyOne(tree.childrenOf(level, domain)));
  const partLevel = isAboveSlices ? level + 1 : level;
  const greedy = takeGreedily(counts, partLevel, isAboveSlices ? children : domains, sliceCount);
  if (greedy === null) return null;
  const threshold = Math.min(Math.floor(sliceCount / greedy.domainCount), greedy.lastSlices);
  if (threshold === 0) return null;

  for (const child of children) strikeOff(counts, level + 1, child, threshold);
  for (const domain of domains) {
    sumDomain(counts, level, domain);
    strikeOff(counts, level, domain, threshold);
  }
  const remaining = takeGreedily(counts, level, domains, sliceCount);
  return remaining === null ? null : { domains, threshold, domainCount: remaining.domainCount };
}

function strikeOff(counts: Counts, level: number, domain: number, threshold: number): void {
  const slices = counts.slices[level] as Float64Array;
  if ((slices[domain] as number) >= threshold) return;
  slices[domain] = 0;
  (counts.workers[level] as Float64Array)[domain] = 0;
}

/**
 * Number of domains that hold all slices if the largest domains are used first, and the number of slices that the last
 * of them can hold. Null if the domains together hold fewer slices.
 */
function takeGreedily(
  counts: Counts,
  level: number,
  domains: readonly number[],
  sliceCount: number,
): { readonly domainCount: number; readonly lastSlices: number } | null {
  const slices = counts.slices[level] as Float64Array;
  const sorted = sortDomains(counts, level, domains, "mostFirst");
  let missing = sliceCount;
  for (const [index, domain] of sorted.entries()) {
    const held = slices[domain] as number;
    if (held === 0) return null;
    missing -= held;
    if (missing <= 0) return { domainCount: index + 1, lastSlices: held };
  }
  return null;
}

/**
 * Chooses the fewest possible domains. Each of them gets the threshold, and the remaining slices are distributed in
 * order, up to the capacity of each domain.
 */
function spread(
  counts: Counts,
  level: number,
  domains: readonly number[],
  wanted: { readonly sliceCount: number; readonly group: DomainGroup },
): Balance | null {
  const { sliceCount, group } = wanted;
  const chosen = fewestOfLeastCapacity(counts, level, domains, sliceCount);
  if (chosen === null) return null;
  let extra = sliceCount - chosen.length * group.threshold;
  if (extra < 0) return null;
  const portions: Portion[] = [];
  for (const domain of sortDomains(counts, level, chosen, "mostFirst")) {
    const more = Math.min(((counts.slices[level] as Float64Array)[domain] as number) - group.threshold, extra);
    portions.push({ domain, amount: group.threshold + more });
    extra -= more;
  }
  return extra > 0 ? null : { counts, level, portions };
}

/**
 * Among all sets with the minimum number of domains, the one that holds all workers with the least excess capacity;
 * ties go to the first domains. The method is that of a knapsack: for every number of domains and of missing workers,
 * it keeps the first set that leads there. Domains of equal capacity are interchangeable, so of each capacity at most
 * as many domains are considered as the set has.
 */
function fewestOfLeastCapacity(
  counts: Counts,
  level: number,
  ordered: readonly number[],
  sliceCount: number,
): readonly number[] | null {
  const setSize = takeGreedily(counts, level, ordered, sliceCount)?.domainCount;
  if (setSize === undefined) return null;
  const workers = counts.workers[level] as Float64Array;
  const needed = sliceCount * counts.slicing.workers;
  const reached: Reached[] = [new Map([[needed, { domain: -1, before: needed }]])];
  for (let size = 1; size <= setSize; size++) reached.push(new Map());
  let stepCount = 0;
  for (const domain of firstOfEachSize(counts, level, ordered, setSize)) {
    for (let size = setSize; size > 0; size--) {
      const [from, to] = [reached[size - 1] as Reached, reached[size] as Reached];
      stepCount += from.size;
      for (const before of from.keys()) {
        const missing = before - (workers[domain] as number);
        if (before > 0 && !to.has(missing)) to.set(missing, { domain, before });
      }
    }
    if (stepCount > STEPS_MAX) return null;
  }
  return tightestSet(reached);
}

/**
 * The key is the number of workers that are still missing. The value is the domain that was added last, and the number
 * that was missing before.
 */
type Reached = Map<number, { readonly domain: number; readonly before: number }>;

/** The set of the full size that holds all workers with the least excess capacity, or null if there is none. */
function tightestSet(reached: readonly Reached[]): readonly number[] | null {
  let missing = -Infinity;
  for (const each of (reached.at(-1) as Reached).keys()) if (each <= 0 && each > missing) missing = each;
  if (missing === -Infinity) return null;
  const set: number[] = [];
  for (let size = reached.length - 1; size > 0; size--) {
    const step = reached[size]?.get(missing) as { readonly domain: number; readonly before: number };
    set.push(step.domain);
    missing = step.before;
  }
  return set.toReversed();
}

/** The domains that hold a slice, in order. At most `most` domains of each capacity are included. */
function firstOfEachSize(counts: Counts, level: number, ordered: readonly number[], most: number): readonly number[] {
  const workers = counts.workers[level] as Float64Array;
  const slices = counts.slices[level] as Float64Array;
  const seen = new Map<number, number>();
  return ordered.filter((domain) => {
    if (slices[domain] === 0) return false;
    const count = seen.get(workers[domain] as number) ?? 0;
    seen.set(workers[domain] as number, count + 1);
    return count < most;
  });
}

/**
 * Domains with the most slices first. Among equal ones, those whose children have the most even free capacity, then by
 * name.
 */
function sortByEvenness(counts: Counts, level: number, domains: number[]): number[] {
  const slices = counts.slices[level] as Float64Array;
  const below = counts.workers[level + 1] as Float64Array;
  const entropies = new Map(
    domains.map((domain) => {
      const children = holding(below, counts.tree.childrenOf(level, domain));
      return [domain, entropyOf(children.map((child) => below[child] as number))] as const;
    }),
  );
  return domains.sort(
    (left, right) =>
      (slices[right] as number) - (slices[left] as number) ||
      (entropies.get(right) as number) - (entropies.get(left) as number) ||
      left - right,
  );
}

function everyOne({ first, end }: DomainRange): number[] {
  return Array.from({ length: end - first }, (_, index) => first + index);
}
