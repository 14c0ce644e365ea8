/** Failure domains of random worlds that are lost and return as a whole: leaves, zones, power feeds, pools and the site. */
import { failureDomainsOf } from "@headroom/model";
import type { Input, NodeSpec } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { FleetSpec } from "@headroom/sim";
import type { Luck } from "./luck.ts";

type NodeIds = readonly NodeSpec["id"][];

export interface DomainChange {
  readonly inputs: readonly Input[];
  readonly dies: NodeIds;
  readonly returns: NodeIds;
}

const NO_CHANGE: DomainChange = { inputs: [], dies: [], returns: [] };

/** Adds power feeds, which cut across the leaves. */
export function withFeeds(luck: Luck, fleet: FleetSpec): FleetSpec {
  const nodes = fleet.nodes.map((node) => ({ ...node, labels: { ...node.labels, feed: luck.pick(["1", "2"]) } }));
  return { ...fleet, nodes };
}

/** Losses and returns in the order of the actions. At most one domain is lost at a time. */
export class LostDomains {
  readonly #domains: readonly NodeIds[];
  #lost: NodeIds = [];

  constructor({ nodes, pools, sites }: FleetSpec) {
    const fleet = {
      nodes,
      pools: new Map(pools.map((pool) => [pool.name, pool])),
      sites: new Map(sites.map((site) => [site.name, site])),
    };
    this.#domains = failureDomainsOf(fleet).flatMap(({ nodes: ids }) => (ids.length > 1 ? [ids] : []));
  }

  next(luck: Luck, state: ReadonlyState, specOf: (id: NodeSpec["id"]) => NodeSpec | null): DomainChange {
    if (this.#lost.length > 0) {
      if (!luck.chance(50)) return NO_CHANGE;
      const returns = this.#lost;
      this.#lost = [];
      const inputs = returns.flatMap((id): Input[] => {
        const node = specOf(id);
        return node === null ? [] : [{ kind: "nodeSeen", node }];
      });
      return { inputs, dies: [], returns };
    }
    if (this.#domains.length === 0 || !luck.chance(12)) return NO_CHANGE;
    this.#lost = luck.pick(this.#domains).filter((id) => state.nodes.has(id));
    const inputs = this.#lost.map((nodeId): Input => ({
      kind: "nodeUnreachable",
      nodeId,
      detail: "its domain is lost",
    }));
    return { inputs, dies: this.#lost, returns: [] };
  }
}
