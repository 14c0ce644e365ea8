/** Pools at sites with caps get the draw of their accelerators from the catalogue, unless their document states it. */
import { siteName } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Pool, Site } from "@headroom/protocol";

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
