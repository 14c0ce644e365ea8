/**
 * The placement tree of each site, from its fabric levels down to its nodes. It is built when it is first read after
 * nodes have joined or changed.
 */
import type { NodeId, SiteName, Node, Pool, Site, PoolName } from "@headroom/model";
import { DomainTree } from "../topology/domain-tree.ts";

/** Name of the level below all named fabric levels. */
export const NODE_LEVEL = "node";

export interface SiteFabric {
  readonly site: SiteName;
  readonly tree: DomainTree;
  readonly leafOf: ReadonlyMap<NodeId, number>;
  readonly nodes: readonly NodeId[];
}

interface DeclaredLevels {
  readonly sites: ReadonlyMap<SiteName, Site>;
  readonly pools: ReadonlyMap<PoolName, Pool>;
  readonly nodes: ReadonlyMap<NodeId, Node>;
}

export class FabricIndex {
  readonly #declared: DeclaredLevels;
  #epoch = -1;
  #sites: readonly SiteFabric[] = [];

  constructor(declared: DeclaredLevels) {
    this.#declared = declared;
  }

  /**
   * The placement trees of sites that have nodes, in the order of definition. `epoch`: the `nodesEpoch` for which the
   * trees must be valid.
   */
  sites(epoch: number): readonly SiteFabric[] {
    if (epoch !== this.#epoch) {
      this.#sites = this.#build();
      this.#epoch = epoch;
    }
    return this.#sites;
  }

  #build(): readonly SiteFabric[] {
    const { sites, pools, nodes } = this.#declared;
    const bySite = Map.groupBy(nodes.values(), ({ pool }) => pools.get(pool)?.site as SiteName);
    return [...sites.values()].flatMap((site) => {
      const here = bySite.get(site.name);
      if (here === undefined) return [];
      const levels = [...site.fabricLevels, NODE_LEVEL];
      const tree = new DomainTree(
        levels,
        here.map(({ fabric, id }) => [...site.fabricLevels.map((_, depth) => fabric[depth] ?? ""), id]),
      );
      const leafOf = new Map(here.map(({ id }, index) => [id, tree.leafOfPath[index] as number]));
      const byLeaf = here
        .map(({ id }) => id)
        .toSorted((left, right) => (leafOf.get(left) as number) - (leafOf.get(right) as number));
      return [{ site: site.name, tree, leafOf, nodes: byLeaf }];
    });
  }
}
