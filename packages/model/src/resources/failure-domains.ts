/**
 * Failure domains of a node: its site, pool and executor, the domains of the fabric above it, and its labels such as racks, power
 * feeds and shelves. Incidents, forecasts, simulated faults and drills share this enumeration.
 */
import type { NodeSpec, Pool, Site } from "./fleet.ts";
import type { NodeId } from "./ids.ts";

export interface FailureDomain {
  /** `node`, `pool`, `site`, `executor`, `fleet`, a level of the fabric, or the name of a label. */
  readonly level: string;
  readonly path: readonly string[];
  /** Whether the level is one of the fabric. */
  readonly isFabric: boolean;
}

/** A domain and the nodes that depend on it, in the order of the fleet. */
export interface FailureDomainNodes extends FailureDomain {
  readonly nodes: readonly NodeId[];
}

/** Label in a pool's document by which an operator lets drills take nodes from work: `allowed`. */
export const DRILL_LABEL = "headroom.drills";

/** Labels that are no domains: names of single nodes by executors, and the permission of drills. */
const NO_DOMAINS: ReadonlySet<string> = new Set(["slurm.node", "kubernetes.node", DRILL_LABEL]);
const LABELS_MAX = 32;

/** All domains of several nodes that contain the node, in a fixed order. The domains of the fabric come first, widest first. */
export function failureDomainsOfNode(
  { fabric, labels = {} }: Pick<NodeSpec, "fabric" | "labels">,
  pool: Pick<Pool, "name" | "site" | "executor"> | undefined,
  site: Pick<Site, "name" | "fabricLevels"> | undefined,
): readonly FailureDomain[] {
  const domains: FailureDomain[] = [];
  if (site !== undefined)
    for (const [depth, level] of site.fabricLevels.slice(0, fabric.length).entries())
      domains.push({ level, path: [site.name, ...fabric.slice(0, depth + 1)], isFabric: true });
  const levels = new Set(site?.fabricLevels);
  const names = Object.keys(labels).filter((name) => !NO_DOMAINS.has(name) && !levels.has(name));
  for (const name of names.toSorted().slice(0, LABELS_MAX))
    domains.push({ level: name, path: [labels[name] ?? ""], isFabric: false });
  if (pool !== undefined) {
    domains.push({ level: "pool", path: [pool.name], isFabric: false });
    domains.push({ level: "site", path: [pool.site], isFabric: false });
    domains.push({ level: "executor", path: [pool.executor], isFabric: false });
  }
  return domains;
}

export interface FleetOfDomains {
  readonly nodes: Iterable<NodeSpec>;
  readonly pools: ReadonlyMap<string, Pool>;
  readonly sites: ReadonlyMap<string, Site>;
}

/** Every failure domain of the fleet with its nodes, single nodes included (level `node`), in the order in which nodes name them. */
export function failureDomainsOf({ nodes, pools, sites }: FleetOfDomains): readonly FailureDomainNodes[] {
  const known = new Map<string, FailureDomain & { readonly nodes: NodeId[] }>();
  for (const node of nodes) {
    const pool = pools.get(node.pool);
    const site = pool === undefined ? undefined : sites.get(pool.site);
    const own: FailureDomain = { level: "node", path: [node.id], isFabric: false };
    for (const domain of [own, ...failureDomainsOfNode(node, pool, site)]) {
      const key = JSON.stringify([domain.level, domain.path]);
      const found = known.get(key);
      if (found === undefined) known.set(key, { ...domain, nodes: [node.id] });
      else found.nodes.push(node.id);
    }
  }
  return [...known.values()];
}
