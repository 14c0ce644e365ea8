/**
 * Cohorts of nodes that fail more often than the others of their pool, though most of their nodes do not: a batch, a firmware, a rack. Each
 * label and each domain of the fabric is a cohort within each pool: nodes of other pools have other hardware, which fails at its own rate.
 * A cohort is named if chance explains its failures with a probability below a thousandth of one.
 */
import type { NodeId } from "@headroom/model";
import type { FaultScore } from "./fault-scores.ts";

/** Score of one critical fault, of one loss, or of two warnings. */
export const FAILED_MIN = 2;
const FAILED_NODES_MIN = 3;
const CHANCE_MAX = 0.001;
/** A larger part of the pool has too few others to compare with. */
const SHARE_MAX = 0.5;

export interface FailingCohort {
  /** Key of the domain (`domains.ts`). */
  readonly domain: string;
  readonly pool: string;
  readonly failed: number;
  readonly size: number;
  /** Nodes of the pool outside the cohort that failed, and their number. */
  readonly otherFailed: number;
  readonly otherSize: number;
  /** When the first of its nodes began to fail. */
  readonly sinceMs: number;
}

interface CohortNode {
  readonly pool: string;
  readonly domains: readonly string[];
}

interface Group {
  readonly pool: string;
  readonly domain: string;
  readonly failed: FaultScore[];
  size: number;
}

const groupKey = (pool: string, domain: string): string => `${pool} ${domain}`;

/** `failed`: nodes that have failed lately. The least probable cohort comes first. One whose failed nodes are all in an earlier one is left out. */
export function failingCohorts(
  failed: readonly FaultScore[],
  nodes: ReadonlyMap<NodeId, CohortNode>,
): readonly FailingCohort[] {
  const groups = groupsOf(failed, nodes);
  if (![...groups.values()].some((each) => each.failed.length >= FAILED_NODES_MIN)) return [];
  const pools = new Map<string, { size: number; failed: number }>();
  for (const { pool, domains } of nodes.values()) {
    const known = pools.get(pool);
    if (known === undefined) pools.set(pool, { size: 1, failed: 0 });
    else known.size++;
    for (const domain of domains) {
      const group = groups.get(groupKey(pool, domain));
      if (group !== undefined) group.size++;
    }
  }
  for (const { node } of failed) {
    const pool = pools.get(nodes.get(node)?.pool ?? "");
    if (pool !== undefined) pool.failed++;
  }
  const found = [...groups.values()].flatMap((group) => {
    const { size = 0, failed: failedInPool = 0 } = pools.get(group.pool) ?? {};
    const count = group.failed.length;
    if (count < FAILED_NODES_MIN || group.size > SHARE_MAX * size) return [];
    const [otherFailed, otherSize] = [failedInPool - count, size - group.size];
    // One failure more among the others keeps a pool that has hardly failed from naming its first failures.
    const probability = binomialTail(count, group.size, (otherFailed + 1) / (otherSize + 1));
    if (probability * groups.size >= CHANCE_MAX) return [];
    const { domain, pool } = group;
    const sinceMs = group.failed.reduce((first, each) => Math.min(first, each.sinceMs), Infinity);
    const cohort = { domain, pool, failed: count, size: group.size, otherFailed, otherSize, sinceMs };
    return [{ probability, cohort, members: group.failed.map(({ node }) => node) }];
  });
  const named: ReadonlySet<NodeId>[] = [];
  return found
    .toSorted(
      (left, right) => left.probability - right.probability || (left.cohort.domain < right.cohort.domain ? -1 : 1),
    )
    .filter(({ members }) => {
      if (named.some((known) => members.every((node) => known.has(node)))) return false;
      named.push(new Set(members));
      return true;
    })
    .map(({ cohort }) => cohort);
}

/** The cohorts with a failed node, still without their sizes. */
function groupsOf(failed: readonly FaultScore[], nodes: ReadonlyMap<NodeId, CohortNode>): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>();
  for (const score of failed) {
    const { pool = "", domains = [] } = nodes.get(score.node) ?? {};
    for (const domain of domains) {
      const key = groupKey(pool, domain);
      const known = groups.get(key);
      if (known === undefined) groups.set(key, { pool, domain, failed: [score], size: 0 });
      else known.failed.push(score);
    }
  }
  return groups;
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
