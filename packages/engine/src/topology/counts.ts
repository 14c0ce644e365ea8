/**
 * Number of workers of a request, and of slices (workers that must share a domain), that each domain of the fabric can
 * hold.
 */
import type { DomainRange, DomainTree } from "./domain-tree.ts";

/** Slices of the workers. Without slices, each worker is a slice of its own at the lowest level. */
export interface Slicing {
  readonly workers: number;
  /** Every slice is inside one domain of this level. */
  readonly level: number;
  /** By level: a domain of this level gets a multiple of this number of workers, so that inner slices stay whole. */
  readonly innerWorkers: readonly number[];
}

/** Counts by level and domain. Below the level of the slices, the number of slices is 0. */
export interface Counts {
  readonly tree: DomainTree;
  readonly slicing: Slicing;
  readonly workers: readonly Float64Array[];
  readonly slices: readonly Float64Array[];
}

/** Counts capacity in the leaves of the range, and sums it up level by level; outside the range it is 0. */
export function countWhatFits(
  tree: DomainTree,
  slicing: Slicing,
  leaves: DomainRange,
  capacityOf: (leaf: number) => number,
): Counts {
  const zeros = (): Float64Array[] => tree.levels.map((_, level) => new Float64Array(tree.domainCount(level)));
  const counts: Counts = { tree, slicing, workers: zeros(), slices: zeros() };
  const last = tree.levels.length - 1;
  const inLeaf = counts.workers[last] as Float64Array;
  for (let leaf = leaves.first; leaf < leaves.end; leaf++) inLeaf[leaf] = capacityOf(leaf);
  for (let level = last; level >= 0; level--) {
    for (let domain = 0; domain < tree.domainCount(level); domain++) sumDomain(counts, level, domain);
  }
  return counts;
}

/** Sums up one domain from the level below; a leaf keeps its workers. */
export function sumDomain(counts: Counts, level: number, domain: number): void {
  const { tree, slicing } = counts;
  const workers = counts.workers[level] as Float64Array;
  const slices = counts.slices[level] as Float64Array;
  let sliceCount = 0;
  if (level < tree.levels.length - 1) {
    const { first, end } = tree.childrenOf(level, domain);
    const inner = slicing.innerWorkers[level + 1] as number;
    const workersBelow = counts.workers[level + 1] as Float64Array;
    const slicesBelow = counts.slices[level + 1] as Float64Array;
    let workerCount = 0;
    for (let child = first; child < end; child++) {
      const fitting = workersBelow[child] as number;
      workerCount += inner === 1 ? fitting : fitting - (fitting % inner);
      sliceCount += slicesBelow[child] as number;
    }
    workers[domain] = workerCount;
  }
  if (level === slicing.level) sliceCount = Math.floor((workers[domain] as number) / slicing.workers);
  slices[domain] = level > slicing.level ? 0 : sliceCount;
}

/** `mostFirst`: domains with most capacity first, so that few are used. `leastFirst`: small remnants first. */
export type DomainOrder = "mostFirst" | "leastFirst";

/**
 * Sorts domains by slices, then by workers, fewer first, so that whole slices leave little unused, then by name. Below
 * the slice level only workers count: the smallest remnant goes first.
 */
export function sortDomains(counts: Counts, level: number, domains: readonly number[], order: DomainOrder): number[] {
  const slices = counts.slices[level] as Float64Array;
  const workers = counts.workers[level] as Float64Array;
  let slicesMost = 0;
  let workersMost = 0;
  for (const domain of domains) {
    slicesMost = Math.max(slicesMost, slices[domain] as number);
    workersMost = Math.max(workersMost, workers[domain] as number);
  }
  const rankOf = (domain: number): number =>
    order === "mostFirst" ? slicesMost - (slices[domain] as number) : (slices[domain] as number);
  const domainSpan = slices.length;
  const workersSpan = workersMost + 1;
  if ((slicesMost + 1) * workersSpan * domainSpan > Number.MAX_SAFE_INTEGER) {
    return domains.toSorted(
      (left, right) =>
        rankOf(left) - rankOf(right) || (workers[left] as number) - (workers[right] as number) || left - right,
    );
  }
  // The sort key is one number, because sorting numbers calls no comparison function.
  const keys = Float64Array.from(
    domains,
    (domain) => (rankOf(domain) * workersSpan + (workers[domain] as number)) * domainSpan + domain,
  ).sort();
  return Array.from(keys, (key) => key % domainSpan);
}

/** Domains of the range with capacity. */
export function holding(amounts: Float64Array, { first, end }: DomainRange): number[] {
  const domains: number[] = [];
  for (let domain = first; domain < end; domain++) if ((amounts[domain] as number) > 0) domains.push(domain);
  return domains;
}
