/**
 * Parts of the fabric to try for a request, best first. Without fabric constraints, all candidates are one choice. A
 * required level gives one choice for each domain of this level that could hold the request. A preferred level adds
 * narrower domains before these. Within a level the fullest domains go first.
 */
import type { NodeId, FabricSpec } from "@headroom/model";
import type { SiteFabric } from "../cluster/fabric-index.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { World } from "../cluster/world.ts";
import type { Candidate } from "./place-constrained.ts";
import { nodeHeld } from "../cluster/request.ts";

export function fabricChoices(
  world: World,
  request: PlacementRequest,
  candidates: readonly Candidate[],
): Iterable<readonly Candidate[]> {
  const { fabric } = request.spec;
  if (fabric === undefined || (fabric.within === undefined && fabric.prefer === undefined)) return [candidates];
  return choicesByLevel(world, request, candidates);
}

function* choicesByLevel(
  world: World,
  request: PlacementRequest,
  candidates: readonly Candidate[],
): Generator<readonly Candidate[]> {
  const { fabric = {} } = request.spec;
  const isFree = fabric.within === undefined;
  for (const site of world.fabric.sites(world.capacity.nodesEpoch)) {
    const range = levelsToTry(site.tree.levels, fabric);
    if (range === null) continue;
    const { narrowest, widest } = range;
    const here = isFree ? candidates : pinned(world, request, site, widest, candidates);
    for (let level = narrowest; level >= widest; level--) {
      for (const domain of fullestFirst(site, here, level))
        if (domain.workers >= request.workers) yield domain.candidates;
    }
  }
  if (isFree) yield candidates;
}

/**
 * The levels at which one domain for all workers is searched, narrowest first. It is `null` if there is no such level.
 * A preferred level is ignored if the site does not have it, or if it is wider than the required level.
 */
export function levelsToTry(
  levels: readonly string[],
  { within, prefer }: FabricSpec,
): { readonly narrowest: number; readonly widest: number } | null {
  const preferred = prefer === undefined ? -1 : levels.indexOf(prefer);
  if (within === undefined) return preferred < 0 ? null : { narrowest: preferred, widest: 0 };
  const required = levels.indexOf(within);
  return required < 0 ? null : { narrowest: Math.max(preferred, required), widest: required };
}

/** The candidates in the domain in which the gang runs; all candidates if the gang does not run. */
function pinned(
  world: World,
  request: PlacementRequest,
  site: SiteFabric,
  level: number,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  const node = nodeHeld(world, request);
  const leaf = node === undefined ? undefined : site.leafOf.get(node);
  if (leaf === undefined) return candidates;
  const own = domainOf(site, level, leaf);
  return candidates.filter(({ slot }) => domainOf(site, level, site.leafOf.get(slot.node.id) ?? -1) === own);
}

/** The domain of a level that contains a leaf; -1 for a node of another site. */
export function domainOf({ tree }: SiteFabric, level: number, leaf: number): number {
  let low = 0;
  let high = tree.domainCount(level) - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const { first, end } = tree.leavesOf(level, middle);
    if (leaf < first) high = middle - 1;
    else if (leaf >= end) low = middle + 1;
    else return middle;
  }
  return -1;
}

interface Domain {
  readonly index: number;
  readonly candidates: Candidate[];
  workers: number;
  /** Number of free accelerators of each domain that contains this one, from the widest level down to this domain. */
  readonly free: readonly number[];
}

/** Compares domains by how full they are, level by level from the top, then by name. */
function fullestFirst(site: SiteFabric, candidates: readonly Candidate[], level: number): readonly Domain[] {
  const leaves = candidates.map(({ slot }) => site.leafOf.get(slot.node.id) ?? -1);
  const freeByLevel = Array.from({ length: level + 1 }, (_, depth) => {
    const free = new Map<number, number>();
    candidates.forEach(({ slot }, position) => {
      const domain = domainOf(site, depth, leaves[position] as number);
      free.set(domain, (free.get(domain) ?? 0) + slot.freeCount);
    });
    return free;
  });
  const domains = new Map<number, Domain>();
  candidates.forEach((candidate, position) => {
    const leaf = leaves[position] as number;
    const index = domainOf(site, level, leaf);
    if (index < 0) return;
    const free = (): number[] => freeByLevel.map((byDomain, depth) => byDomain.get(domainOf(site, depth, leaf)) ?? 0);
    const domain = domains.get(index) ?? { index, candidates: [], workers: 0, free: free() };
    domains.set(index, domain);
    domain.candidates.push(candidate);
    domain.workers += candidate.fits;
  });
  return [...domains.values()].toSorted((left, right) => {
    const depth = left.free.findIndex((free, at) => free !== right.free[at]);
    return depth < 0 ? left.index - right.index : (left.free[depth] as number) - (right.free[depth] as number);
  });
}

/**
 * Ranks of nodes if the candidates cover several domains of the preferred level. The domain with most free capacity is
 * first, because it can take most of the gang. The map is empty without a preferred level.
 */
export function preferredRanks(
  world: World,
  request: PlacementRequest,
  candidates: readonly Candidate[],
): ReadonlyMap<NodeId, number> {
  const ranks = new Map<NodeId, number>();
  const prefer = request.spec.fabric?.prefer;
  if (prefer === undefined) return ranks;
  for (const site of world.fabric.sites(world.capacity.nodesEpoch)) {
    const level = site.tree.levels.indexOf(prefer);
    if (level < 0) continue;
    for (const [rank, domain] of fullestFirst(site, candidates, level).toReversed().entries())
      for (const { slot } of domain.candidates) ranks.set(slot.node.id, rank);
  }
  return ranks;
}
