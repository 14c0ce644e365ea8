/**
 * Fabric domains for a whole gang with task groups, best first, each as its set of nodes. `null` stands for all nodes.
 */
import { needsPart, leastParts } from "@headroom/model";
import type { NodeId } from "@headroom/model";
import type { NodeSlot } from "../cluster/node-slot.ts";
import type { SiteFabric } from "../cluster/fabric-index.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import type { World } from "../cluster/world.ts";
import { levelsToTry } from "./fabric-choice.ts";
import { growingAttempt } from "../cluster/request.ts";

export function* domainsFor(world: World, request: PlacementRequest): Generator<ReadonlySet<NodeId> | null> {
  const { fabric = {} } = request.spec;
  const { within, prefer } = fabric;
  if (within === undefined && prefer === undefined) {
    yield null;
    return;
  }
  const sites = world.fabric.sites(world.capacity.nodesEpoch);
  const held = growingAttempt(world, request)?.workers[0]?.node;
  if (held !== undefined) {
    // Running workers determine the domain.
    if (within === undefined) yield null;
    else for (const site of sites) yield* domainsAt(site, within).filter((nodes) => nodes.has(held));
    return;
  }
  for (const site of sites) {
    const { levels } = site.tree;
    const range = levelsToTry(levels, fabric);
    if (range === null) continue;
    for (let level = range.narrowest; level >= range.widest; level--)
      yield* tightestFirst(world, request, domainsAt(site, levels[level] as string));
  }
  if (within === undefined) yield null;
}

function domainsAt({ tree, nodes }: SiteFabric, name: string): ReadonlySet<NodeId>[] {
  const level = tree.levels.indexOf(name);
  if (level < 0) return [];
  return Array.from({ length: tree.domainCount(level) }, (_, domain) => {
    const { first, end } = tree.leavesOf(level, domain);
    return new Set(nodes.slice(first, end));
  });
}

/**
 * Domains with enough free and releasing accelerators, those with the fewest free accelerators first. Ties keep the
 * order of the tree, by name.
 */
function tightestFirst(
  { capacity }: World,
  { gang }: PlacementRequest,
  domains: readonly ReadonlySet<NodeId>[],
): readonly ReadonlySet<NodeId>[] {
  const needed = leastParts(gang).reduce(
    (sum, { shape, workers }) => sum + (needsPart(shape) ? 0 : workers * shape.accelerators),
    0,
  );
  return domains
    .map((nodes) => {
      const slots = [...nodes].map((node) => capacity.slot(node)).filter(({ usable }) => usable);
      const sumOf = (count: (slot: NodeSlot) => number): number => slots.reduce((sum, slot) => sum + count(slot), 0);
      return {
        nodes,
        free: sumOf(({ freeCount }) => freeCount),
        releasing: sumOf(({ releasingCount }) => releasingCount),
      };
    })
    .filter(({ free, releasing }) => free + releasing >= needed)
    .toSorted((left, right) => left.free - right.free)
    .map(({ nodes }) => nodes);
}
