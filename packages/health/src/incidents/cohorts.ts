/**
 * Cohorts of nodes that fail more often than the others of the fleet, though most of their nodes do not: a batch, a firmware, a rack. Each label
 * and each domain of the fabric is a cohort. A cohort is named if chance explains its failures with a probability below a thousandth of one.
 */
import type { NodeId } from "@headroom/model";

/** Score of a node that failed: of one critical fault, of one loss, or of two warnings. */
export const FAILED_SCORE = 2;
const FAILED_NODES_MIN = 3;
const CHANCE_MAX = 0.001;
/** A larger part of the fleet has no others to compare with. */
const SHARE_MAX = 0.5;

export interface FailingCohort {
  /** Key of the domain (`domains.ts`). */
  readonly domain: string;
  readonly failed: number;
  readonly size: number;
  /** Nodes of the fleet outside the cohort that failed, and their number. */
  readonly otherFailed: number;
  readonly otherSize: number;
}

/** `failedNodes`: those that failed lately. The least probable cohort comes first. */
export function failingCohorts(
  failedNodes: ReadonlySet<NodeId>,
  nodes: ReadonlyMap<NodeId, { readonly domains: readonly string[] }>,
): readonly FailingCohort[] {
  const failedIn = new Map<string, number>();
  let failedCount = 0;
  for (const node of failedNodes) {
    const domains = nodes.get(node)?.domains;
    if (domains === undefined) continue;
    failedCount++;
    for (const key of domains) failedIn.set(key, (failedIn.get(key) ?? 0) + 1);
  }
  const sizes = new Map(
    [...failedIn].flatMap(([key, count]) => (count >= FAILED_NODES_MIN ? [[key, 0] as [string, number]] : [])),
  );
  if (sizes.size === 0) return [];
  for (const { domains } of nodes.values())
    for (const key of domains) {
      const size = sizes.get(key);
      if (size !== undefined) sizes.set(key, size + 1);
    }
  const found = [...sizes].flatMap(([domain, size]) => {
    if (size > SHARE_MAX * nodes.size) return [];
    const failed = failedIn.get(domain) ?? 0;
    const [otherFailed, otherSize] = [failedCount - failed, nodes.size - size];
    // One failure more among the others keeps a fleet that has hardly failed from naming its first failures.
    const probability = binomialTail(failed, size, (otherFailed + 1) / (otherSize + 1));
    const isChance = probability * failedIn.size >= CHANCE_MAX;
    return isChance ? [] : [{ probability, cohort: { domain, failed, size, otherFailed, otherSize } }];
  });
  return found
    .toSorted(
      (left, right) => left.probability - right.probability || (left.cohort.domain < right.cohort.domain ? -1 : 1),
    )
    .map(({ cohort }) => cohort);
}

/** Probability of at least `least` of `count` with probability `each`. */
function binomialTail(least: number, count: number, each: number): number {
  if (each >= 1) return 1;
  let logarithm = count * Math.log(1 - each);
  let below = 0;
  for (let number = 0; number < least; number++) {
    below += Math.exp(logarithm);
    logarithm += Math.log(((count - number) / (number + 1)) * (each / (1 - each)));
  }
  return Math.max(0, 1 - below);
}
