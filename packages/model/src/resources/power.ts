/**
 * Caps on the power that the nodes of a failure domain draw, and the heat that its cooling takes away. Amounts are watts. Nearly all
 * electric power becomes heat, so one draw counts against both kinds of cap.
 */
import type { NodeSpec, Site } from "./fleet.ts";

/** A cap on every domain of a level, or on one domain. */
export interface PowerCap {
  readonly of: "power" | "cooling";
  /** A level of the site's fabric, the name of a label of nodes such as `rack`, or `site`. */
  readonly level: string;
  /** The domain: its name, or its path below the site, joined by `/`. Absent: every domain of the level without a cap of its own. */
  readonly domain?: string;
  readonly watts: number;
}

/** The power that nodes of a pool draw. Headroom counts it as declared; it measures nothing here. */
export interface PoolPower {
  /** Draw of each accelerator that work holds. Absent: unknown, so no work with accelerators is placed under a cap. */
  readonly acceleratorWatts?: number;
  /** Draw of each node besides its busy accelerators, whether work runs on it or not. Absent: 0. */
  readonly nodeWatts?: number;
}

/** A cap on one domain. */
export interface CappedDomain {
  readonly of: PowerCap["of"];
  readonly level: string;
  readonly path: readonly string[];
  readonly watts: number;
}

/** The capped domains that contain the node, in the order in which the site states the caps. */
export function cappedDomainsOf(
  node: Pick<NodeSpec, "fabric" | "labels">,
  site: Pick<Site, "name" | "fabricLevels" | "caps"> | undefined,
): readonly CappedDomain[] {
  if (site?.caps === undefined) return [];
  const found = new Map<string, CappedDomain & { readonly isNamed: boolean }>();
  for (const { of, level, domain, watts } of site.caps) {
    const path = domainPath(site, level, node);
    if (path === null) continue;
    const isNamed = domain !== undefined;
    if (isNamed && domain !== path.at(-1) && domain !== path.slice(1).join("/")) continue;
    const key = `${of} ${level}`;
    // A cap on a named domain takes precedence over the cap on every domain of its level.
    if (found.get(key)?.isNamed !== true || isNamed) found.set(key, { of, level, path, watts, isNamed });
  }
  return [...found.values()].map(({ isNamed: _named, ...domain }) => domain);
}

function domainPath(
  { name, fabricLevels }: Pick<Site, "name" | "fabricLevels">,
  level: string,
  { fabric, labels }: Pick<NodeSpec, "fabric" | "labels">,
): readonly string[] | null {
  const depth = fabricLevels.indexOf(level);
  if (depth >= 0) return fabric.length > depth ? [name, ...fabric.slice(0, depth + 1)] : null;
  if (level === "site") return [name];
  const value = labels?.[level];
  return value === undefined ? null : [name, value];
}

/** Name of a capped domain in reasons and tables: `rack r3`. */
export const cappedDomainName = ({ level, path }: Pick<CappedDomain, "level" | "path">): string =>
  `${level} ${path.length === 1 ? (path[0] ?? "") : path.slice(1).join("/")}`;
