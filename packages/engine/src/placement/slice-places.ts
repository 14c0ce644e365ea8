/**
 * Nodes on which a gang with slices may replace lost workers, so that every slice is complete again. A slice is a
 * sequence of consecutive ranks in one fabric domain.
 */
import type { NodeId, FabricSpec } from "@headroom/model";
import type { SiteFabric } from "../cluster/fabric-index.ts";
import type { World } from "../cluster/world.ts";
import { domainOf } from "./fabric-choice.ts";

/** A gang that lost workers. */
export interface DegradedGang {
  /** The workers that still run. */
  readonly staying: readonly { readonly rank: number; readonly node: NodeId }[];
  /** The lost ranks. */
  readonly ranks: readonly number[];
}

type RankSlice = NonNullable<FabricSpec["slices"]>[number];

/**
 * Sets of nodes, each of which could take all replacements. If slices of one domain are broken, this domain is the only
 * set. If only whole slices are lost, each domain inside the domain of their outer slice is a set. If slices of several
 * domains are broken, there is no set.
 */
export function slicePlaces(
  world: World,
  slices: readonly RankSlice[],
  degraded: DegradedGang,
): readonly ReadonlySet<NodeId>[] {
  const site = world.fabric
    .sites(world.capacity.nodesEpoch)
    .find(({ leafOf }) => degraded.staying.some(({ node }) => leafOf.has(node)));
  const innermost = slices.at(-1);
  if (site === undefined || innermost === undefined) return [];
  let open: readonly NodeId[] = site.nodes;
  // Goes from the innermost level outwards, and stops at the first level at which workers of broken slices remain,
  // because the domains of outer levels contain the domain found there.
  for (const slice of slices.toReversed()) {
    const domains = domainsOfMates(site, slice, degraded);
    if (domains.size > 1) return [];
    const [domain] = domains;
    if (domain === undefined) continue;
    open = open.filter((node) => domainAt(site, slice.within, node) === domain);
    break;
  }
  const byDomain = Map.groupBy(open, (node) => domainAt(site, innermost.within, node));
  return [...byDomain]
    .filter(([domain]) => isWholeWith(site, innermost, degraded, domain))
    .map(([, nodes]) => new Set(nodes));
}

const domainAt = (site: SiteFabric, level: string, node: NodeId): number =>
  domainOf(site, site.tree.levels.indexOf(level), site.leafOf.get(node) ?? -1);

/** Domains in which workers of broken slices still run. */
function domainsOfMates(
  site: SiteFabric,
  { workers: size, within }: RankSlice,
  { staying, ranks }: DegradedGang,
): Set<number> {
  const broken = new Set(ranks.map((rank) => Math.floor(rank / size)));
  const mates = staying.filter(({ rank }) => broken.has(Math.floor(rank / size)));
  return new Set(mates.map(({ node }) => domainAt(site, within, node)));
}

/**
 * Returns whether every domain would hold only whole slices with all replacements in `domain`. The result is false if
 * ranks do not follow the fabric.
 */
function isWholeWith(
  site: SiteFabric,
  { workers: size, within }: RankSlice,
  { staying, ranks }: DegradedGang,
  domain: number,
): boolean {
  const counts = new Map([[domain, ranks.length]]);
  for (const { node } of staying) {
    const at = domainAt(site, within, node);
    counts.set(at, (counts.get(at) ?? 0) + 1);
  }
  return [...counts.values()].every((count) => count % size === 0);
}
