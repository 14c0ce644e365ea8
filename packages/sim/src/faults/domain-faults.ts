/**
 * Correlated faults: a leaf, a rack, a power feed, a shelf or a site is lost with all its nodes at one instant, and returns at one
 * instant. Like other faults, every answer is a pure function of the seed and the domain.
 */
import { failureDomainsOf } from "@headroom/model";
import type { FailureDomainNodes, NodeId } from "@headroom/model";
import type { FleetSpec } from "../run/fleet-spec.ts";
import { drawExponential } from "./exponential.ts";
import type { FaultOptions } from "./fault-plan.ts";

/** Nodes that are lost and return together. */
export interface DomainFaults {
  /** Indexes of the nodes in the fleet. */
  readonly nodes: readonly number[];
  /** Time in ms from the start or the last return to the next loss; `null`: never again. `occurrence` counts earlier losses. */
  upMs(occurrence: number): number | null;
  downMs(occurrence: number): number;
}

/** Levels whose domains have several nodes, for messages and completion. */
export const levelsOf = (fleet: FleetSpec): readonly string[] => [
  ...new Set(domainsOf(fleet).map(({ level }) => level)),
];

/** The failure domains of a declared fleet. A single node has faults of its own, and an executor loses no machine. */
function domainsOf({ nodes, pools, sites }: FleetSpec): readonly FailureDomainNodes[] {
  return failureDomainsOf({
    nodes,
    pools: new Map(pools.map((pool) => [pool.name, pool])),
    sites: new Map(sites.map((site) => [site.name, site])),
  }).filter(({ level }) => level !== "node" && level !== "executor");
}

export function domainFaults(options: FaultOptions, fleet: FleetSpec): readonly DomainFaults[] {
  const { levels = [], losses = [] } = options;
  if (levels.length + losses.length === 0) return [];
  const indexes = new Map(fleet.nodes.map(({ id }, index) => [id, index]));
  const indexesOf = (ids: readonly NodeId[]): readonly number[] =>
    ids.flatMap((id) => {
      const index = indexes.get(id);
      return index === undefined ? [] : [index];
    });
  const stated = losses.map(({ nodes, atMs, forMs }): DomainFaults => ({
    nodes: indexesOf(nodes),
    upMs: (occurrence) => (occurrence === 0 ? atMs : null),
    downMs: () => forMs,
  }));
  const meanUp = new Map(levels.map(({ level, meanUpMs }) => [level, meanUpMs]));
  const drawn = domainsOf(fleet).flatMap(({ level, path, nodes }): readonly DomainFaults[] => {
    const meanUpMs = meanUp.get(level);
    if (meanUpMs === undefined) return [];
    const name = `${level} ${path.join("/")}`;
    const spell = (meanMs: number, purpose: string, sequence: number): number =>
      Math.max(1, Math.round(meanMs * drawExponential({ seed: options.seed, sequence, purpose })));
    return [
      {
        nodes: indexesOf(nodes),
        upMs: (occurrence) => spell(meanUpMs, `domain ${name} up`, occurrence),
        downMs: (occurrence) => spell(options.nodeMeanDownMs, `domain ${name} down`, occurrence),
      },
    ];
  });
  return [...stated, ...drawn];
}
