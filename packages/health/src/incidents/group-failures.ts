/**
 * Finds the causes of failures that happened together: the fewest failure domains that explain them. A domain explains its failures
 * if nearly all of its nodes failed. The domain with the largest gain is taken first, then the next for the rest.
 */
import { rankOfDomain } from "./domains.ts";
import type { Failure } from "./failure.ts";

export interface FailureGroup {
  /** Key of the domain; `null`: a single node, or nodes of no common domain. */
  readonly domain: string | null;
  readonly sameNodesAs: readonly string[];
  readonly failures: readonly Failure[];
}

/** Gain of a domain: its failures, less its own cost, less the cost of each of its nodes that did not fail. */
const DOMAIN_COST = 1.5;
/** With 2, more than two thirds of the nodes must have failed. Reports of some nodes of a lost switch come late or never. */
const HEALTHY_NODE_COST = 2;
/**
 * More single failures than this at one time have a common cause that the topology does not show: they are one incident. In a large fleet,
 * chance alone fails up to one node in a thousand in half an hour (Llama 3: 8 of 2,048 in a day).
 */
const SINGLE_FAILURES_MAX = 10;
const SINGLE_SHARE_MAX = 0.001;

interface Candidate {
  readonly key: string;
  readonly rank: number;
  readonly size: number;
  /** Key of the next wider domain of the fabric; `null`: it is no domain of the fabric, or the widest. */
  readonly parent: string | null;
  /** All failures in the domain. */
  readonly failed: Failure[];
  /** Number of failures in the domain that no group has yet. */
  open: number;
}

/** `sizes`: number of nodes of each domain that were in service before the failures. `fleetSize`: number of all nodes. */
export function groupFailures(
  failures: readonly Failure[],
  sizes: ReadonlyMap<string, number>,
  fleetSize: number,
): readonly FailureGroup[] {
  // A node that fails again and again counts once: it is no failure of its domain.
  const byNode = Map.groupBy(failures, ({ node }) => node);
  const nodes = [...byNode.values()].flatMap(([first]) => first ?? []);
  const singlesMax = Math.max(SINGLE_FAILURES_MAX, SINGLE_SHARE_MAX * fleetSize);
  const groups = groupNodes(nodes, sizes, singlesMax);
  if (nodes.length === failures.length) return groups;
  return groups.map((group) => ({
    ...group,
    failures: group.failures.flatMap(({ node }) => byNode.get(node) ?? []),
  }));
}

/** Groups failures of different nodes. */
function groupNodes(
  failures: readonly Failure[],
  sizes: ReadonlyMap<string, number>,
  singlesMax: number,
): readonly FailureGroup[] {
  const candidates = candidatesOf(failures, sizes);
  const taken = new Set<Failure>();
  const groups: FailureGroup[] = [];
  for (let best = bestOf(candidates); best !== null; best = bestOf(candidates)) {
    const own = best.failed.filter((failure) => !taken.has(failure));
    groups.push({ domain: best.key, sameNodesAs: sameNodes(best, candidates), failures: own });
    for (const failure of own) {
      taken.add(failure);
      for (const key of failure.domains) (candidates.get(key) as Candidate).open--;
    }
  }
  const singles = failures.filter((failure) => !taken.has(failure));
  if (singles.length > singlesMax) groups.push({ domain: null, sameNodesAs: [], failures: singles });
  else for (const failure of singles) groups.push({ domain: null, sameNodesAs: [], failures: [failure] });
  return groups;
}

function candidatesOf(
  failures: readonly Failure[],
  sizes: ReadonlyMap<string, number>,
): ReadonlyMap<string, Candidate> {
  const candidates = new Map<string, Candidate>();
  for (const failure of failures)
    for (const [at, key] of failure.domains.entries()) {
      const known = candidates.get(key);
      if (known !== undefined) {
        known.failed.push(failure);
        known.open++;
        continue;
      }
      // The domains of the fabric come first, widest first.
      const rank = rankOfDomain(key);
      const parent = rank < 0 ? (failure.domains[at - 1] ?? null) : null;
      candidates.set(key, { key, rank, size: sizes.get(key) ?? 0, parent, failed: [failure], open: 1 });
    }
  return candidates;
}

const gainOf = ({ open, size, failed }: Candidate): number =>
  open - DOMAIN_COST - HEALTHY_NODE_COST * Math.max(0, size - failed.length);

function bestOf(candidates: ReadonlyMap<string, Candidate>): Candidate | null {
  const inChildren = new Map<string, number>();
  for (const each of candidates.values())
    if (each.parent !== null && each.open > 1)
      inChildren.set(each.parent, (inChildren.get(each.parent) ?? 0) + Math.max(0, gainOf(each)));
  let best: Candidate | null = null;
  for (const each of candidates.values()) {
    const gain = gainOf(each);
    // A single node is no failure of its domain. A switch whose lower switches explain more has not failed itself.
    if (each.open < 2 || gain <= 0 || gain < (inChildren.get(each.key) ?? 0)) continue;
    if (best === null || isBetter(each, best)) best = each;
  }
  return best;
}

function isBetter(one: Candidate, other: Candidate): boolean {
  const difference = gainOf(one) - gainOf(other);
  if (difference !== 0) return difference > 0;
  return one.rank !== other.rank ? one.rank < other.rank : one.key < other.key;
}

function sameNodes(best: Candidate, candidates: ReadonlyMap<string, Candidate>): readonly string[] {
  const own = new Set(best.failed);
  return [...candidates.values()]
    .filter(
      (each) =>
        each !== best &&
        each.size === best.size &&
        each.failed.length === own.size &&
        each.failed.every((failure) => own.has(failure)),
    )
    .map(({ key }) => key)
    .toSorted();
}
