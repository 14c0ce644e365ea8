/** Pools at sites with caps get the draw of their accelerators from the catalogue, unless their document states it. */
import { siteName } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Pool, Site } from "@headroom/protocol";
import { poolResource } from "./wire-forms.ts";

export interface PowerCatalogue {
  powerOfType(name: string): number | undefined;
}

export function withCataloguePower<Declared extends Pick<Pool, "site" | "acceleratorType" | "power">>(
  state: Pick<ReadonlyState, "sites">,
  sites: readonly Pick<Site, "name" | "caps">[],
  pools: readonly Declared[],
  catalogue: PowerCatalogue,
): Declared[] {
  const declared = new Map(sites.map((site) => [site.name, site]));
  return pools.map((pool) => {
    const site = declared.get(pool.site) ?? state.sites.get(siteName(pool.site));
    if (site?.caps === undefined || pool.acceleratorType === "" || pool.power?.acceleratorWatts !== undefined)
      return pool;
    const acceleratorWatts = catalogue.powerOfType(pool.acceleratorType);
    return acceleratorWatts === undefined ? pool : { ...pool, power: { ...pool.power, acceleratorWatts } };
  });
}

/** Recorded pools at these sites that get their draw from the catalogue. Pools that are being removed stay as they are. */
export function poolsToFill(
  state: Pick<ReadonlyState, "sites" | "pools" | "poolRemovals">,
  sites: readonly Pick<Site, "name" | "caps">[],
  catalogue: PowerCatalogue,
): Pool[] {
  const names = new Set(sites.map(({ name }) => name));
  const pools = [...state.pools.values()]
    .filter(({ site, name }) => names.has(site) && !state.poolRemovals.has(name))
    .map(poolResource);
  return withCataloguePower(state, sites, pools, catalogue).filter((pool, at) => pool !== pools[at]);
}
