/** Hypothetical sites and pools in a what-if question, with the nodes of the pools. */
import { nodeId, poolName } from "@headroom/model";
import type { NodeSpec } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { nearestName, refuse } from "@headroom/protocol";
import type { Pool, Site, WhatIfQuestion } from "@headroom/protocol";

export interface AddedFleet {
  readonly sites: readonly Site[];
  readonly pools: readonly Pool[];
  readonly nodes: readonly NodeSpec[];
}

/**
 * Adds a pool. The new pool belongs to the executor of its neighbours, so that gangs can use both, and its nodes are in
 * new fabric domains named after it. Throws `unknownSite` with the nearest name, and `duplicateName` for a pool that
 * exists.
 */
export function addedFleet(
  state: ReadonlyState,
  { addSites, addPools }: Pick<WhatIfQuestion, "addSites" | "addPools">,
): AddedFleet {
  const sites = new Map<string, readonly string[]>([
    ...[...state.sites.values()].map(({ name, fabricLevels }) => [String(name), fabricLevels] as const),
    ...addSites.map(({ name, fabricLevels }) => [name, fabricLevels] as const),
  ]);
  const pools: Pool[] = [];
  const nodes: NodeSpec[] = [];
  for (const { nodes: nodeCount, acceleratorsPerNode, coresMilli, memoryMib, nodesPerDomain, ...asked } of addPools) {
    const site = asked.site ?? onlySite([...sites.keys()], asked.name);
    const levels = sites.get(site);
    if (levels === undefined) throw unknownSite(site, [...sites.keys()]);
    if ([...state.pools.keys(), ...pools.map(({ name }) => name)].some((name) => name === asked.name))
      throw refuse(
        "duplicateName",
        `Pool ${asked.name} already exists. Add nodes like one of its nodes, or give the new pool another name.`,
      );
    const executor = executorAt(state, site);
    pools.push({ ...asked, site, executor });
    for (let index = 0; index < nodeCount; index++) {
      const last = nodesPerDomain === undefined ? "" : `-${Math.floor(index / nodesPerDomain) + 1}`;
      nodes.push({
        id: nodeId(freeId(state, `${asked.name}-${index + 1}`)),
        pool: poolName(asked.name),
        fabric: levels.map((_, depth) => (depth === levels.length - 1 ? `${asked.name}${last}` : asked.name)),
        acceleratorCount: asked.acceleratorType === "" ? 0 : acceleratorsPerNode,
        coresMilli,
        memoryMib,
        ...(asked.labels === undefined ? {} : { labels: asked.labels }),
      });
    }
  }
  return { sites: addSites, pools, nodes };
}

function onlySite(sites: readonly string[], pool: string): string {
  const [site] = sites;
  if (site !== undefined && sites.length === 1) return site;
  throw refuse("unknownSite", `State the site of pool ${pool}. The sites are: ${sites.join(", ")}.`);
}

function unknownSite(site: string, sites: readonly string[]): Error {
  const nearest = nearestName(site, sites);
  const hint = nearest === undefined ? `there are ${sites.join(", ")}` : `did you mean ${nearest}?`;
  return refuse("unknownSite", `There is no site ${site}, and the question adds no site with that name; ${hint}`);
}

function executorAt(state: ReadonlyState, site: string): string {
  const pools = [...state.pools.values()];
  return (pools.find((pool) => pool.site === site) ?? pools[0])?.executor ?? "local";
}

function freeId(state: ReadonlyState, wanted: string): string {
  let id = wanted;
  for (let copy = 1; state.nodes.has(nodeId(id)); copy++) id = `${wanted}+${copy}`;
  return id;
}
