/**
 * For each domain of the fabric, the number of a request's workers that it can hold, and the number of slices (workers
 * that must share a domain).
 */
import type { DomainRange, DomainTree } from "./domain-tree.ts";

/** Slices into which the workers are divided. Without slices, each worker is a slice of its own at the lowest level. */
export interface Slicing {
  readonly workers: number;
  /** Every slice is inside one domain of this level. */
  readonly level: number;
  /**
   * By level: each domain of the level gets a multiple of this number of workers, so that slices inside slices stay
   * whole.
   */
  readonly innerWorkers: readonly number[];
}

/** Counts by level and domain. Below the level of the slices, the counts of slices are 0. */
export interface Counts {
  readonly tree: DomainTree;
  readonly slicing: Slicing;
  readonly workers: readonly Float64Array[];
  readonly slices: readonly Float64Array[];
}

/**
 * Counts the capacity of the leaves in the range, and sums it up level by level. Leaves outside the range count as 0.
 */
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

/** Computes the counts of one domain from the level below. A leaf keeps its count of workers. */
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

/**
 * `mostFirst`: domains with the most capacity first, so that few domains are used. `leastFirst`: domains with the least
 * capacity first, so that small remnants are used up.
 */
export type DomainOrder = "mostFirst" | "leastFirst";

/**
 * Sorts domains by their number of slices. Among equal ones, the domain with fewer workers is first, so that whole
 * slices leave little capacity unused; then by name. Below the slice level only workers count, and the smallest remnant
 * is first.
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

/** Domains of the range that have capacity. */
export function holding(amounts: Float64Array, { first, end }: DomainRange): number[] {
  const domains: number[] = [];
  for (let domain = first; domain < end; domain++) if ((amounts[domain] as number) > 0) domains.push(domain);
  return domains;
}
