/** Hypothetical caps on power and cooling in a what-if question. */
import { cappedDomainsOf } from "@headroom/model";
import type { PowerCap, Site as EngineSite } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { refuse } from "@headroom/protocol";
import type { Pool, Site, WhatIfQuestion } from "@headroom/protocol";
import { poolsToFill } from "./catalogue-power.ts";
import type { PowerCatalogue } from "./catalogue-power.ts";
import { siteResource } from "./wire-forms.ts";

type Cap = WhatIfQuestion["caps"][number];

interface CappedFleet {
  readonly sites: readonly Site[];
  readonly pools: readonly Pool[];
}

/**
 * The sites with the caps in place of their caps on the same domains, and the pools there with the draw of their accelerators. Throws
 * `unknownDomain` for a cap on a domain without nodes.
 */
export function cappedFleet(state: ReadonlyState, caps: readonly Cap[], catalogue: PowerCatalogue): CappedFleet {
  if (caps.length === 0) return { sites: [], pools: [] };
  const changed = new Map<string, Site>();
  for (const cap of caps) {
    const found = [...state.sites.values()].filter(
      (site) => !state.siteRemovals.has(site.name) && hasDomain(state, site, cap),
    );
    if (found.length === 0) throw unknownDomain(cap);
    for (const { name, ...rest } of found) {
      const site = changed.get(name) ?? siteResource({ name, ...rest });
      changed.set(name, { ...site, caps: [...(site.caps ?? []).filter((other) => !isSame(other, cap)), cap] });
    }
  }
  const sites = [...changed.values()];
  return { sites, pools: poolsToFill(state, sites, catalogue) };
}

const isSame = (one: Cap, other: Cap): boolean =>
  one.of === other.of && one.level === other.level && one.domain === other.domain;

function hasDomain({ nodes, pools }: ReadonlyState, site: EngineSite, cap: Cap): boolean {
  const { domain, ...rest } = cap;
  const alone: PowerCap = domain === undefined ? rest : { ...rest, domain };
  return [...nodes.values()].some(
    (node) => pools.get(node.pool)?.site === site.name && cappedDomainsOf(node, { ...site, caps: [alone] }).length > 0,
  );
}

const unknownDomain = ({ level, domain }: Cap): Error =>
  refuse(
    "unknownDomain",
    `No node is in ${domain === undefined ? `a domain of the level ${level}` : `${level} ${domain}`}. Name a level of the fabric, a label of nodes, or site.`,
  );
