/**
 * Failure domains of a node: its site, pool and executor, the domains of the fabric above it, and its labels such as racks, power
 * feeds and shelves. A domain has a key, which sorts and compares.
 */
import type { NodeSpec, Pool, Site } from "@headroom/model";

export interface FailureDomain {
  /** `node`, `pool`, `site`, `executor`, `fleet`, a level of the fabric, or the name of a label. */
  readonly level: string;
  readonly path: readonly string[];
  /** Whether the level is one of the fabric. */
  readonly isFabric: boolean;
}

export const domainKey = ({ level, path, isFabric }: FailureDomain): string =>
  JSON.stringify([isFabric ? "fabric" : "", level, ...path]);

export function domainOfKey(key: string): FailureDomain {
  const [kind = "", level = "", ...path] = JSON.parse(key) as readonly string[];
  return { level, path, isFabric: kind === "fabric" };
}

/** Labels by which executors name single nodes. They are no domains of several nodes. */
const NAME_LABELS: ReadonlySet<string> = new Set(["slurm.node", "kubernetes.node"]);
const LABELS_MAX = 32;

/** Keys of all domains of several nodes that contain the node, in a fixed order. */
export function domainsOfNode(
  { fabric, labels = {} }: Pick<NodeSpec, "fabric" | "labels">,
  pool: Pick<Pool, "name" | "site" | "executor"> | undefined,
  site: Pick<Site, "name" | "fabricLevels"> | undefined,
): readonly string[] {
  const domains: FailureDomain[] = [];
  if (site !== undefined)
    for (const [depth, level] of site.fabricLevels.slice(0, fabric.length).entries())
      domains.push({ level, path: [site.name, ...fabric.slice(0, depth + 1)], isFabric: true });
  const levels = new Set(site?.fabricLevels);
  const names = Object.keys(labels).filter((name) => !NAME_LABELS.has(name) && !levels.has(name));
  for (const name of names.toSorted().slice(0, LABELS_MAX))
    domains.push({ level: name, path: [labels[name] ?? ""], isFabric: false });
  if (pool !== undefined) {
    domains.push({ level: "pool", path: [pool.name], isFabric: false });
    domains.push({ level: "site", path: [pool.site], isFabric: false });
    domains.push({ level: "executor", path: [pool.executor], isFabric: false });
  }
  return domains.map(domainKey);
}

/** Domains with the same nodes are one failure. It has the name of the first: a switch, else a label, a pool, a site. */
const RANKS = ["pool", "site", "executor"];

export function rankOfDomain(key: string): number {
  const { level, path, isFabric } = domainOfKey(key);
  if (isFabric) return -path.length;
  const rank = RANKS.indexOf(level);
  return rank < 0 ? 0 : rank + 1;
}
