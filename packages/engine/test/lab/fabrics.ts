/** Small fabrics for tests, small enough to try every placement on them. */
import fc from "fast-check";
import { DomainTree } from "../../src/topology/domain-tree.ts";
import type { FabricRoom } from "../../src/topology/place-workers.ts";

export interface Fabric {
  readonly tree: DomainTree;
  /** How many workers each leaf holds. */
  readonly capacity: readonly number[];
}

export const roomIn = ({ tree, capacity }: Fabric): FabricRoom => ({
  leaves: { first: 0, end: tree.leafCount },
  capacityOf: (leaf) => capacity[leaf] as number,
});

/** Up to six nodes in up to two blocks of up to three racks, each for up to four workers. */
export const anyFabric: fc.Arbitrary<Fabric> = fc
  .uniqueArray(
    fc.record({
      block: fc.nat({ max: 1 }),
      rack: fc.nat({ max: 2 }),
      node: fc.nat({ max: 2 }),
      places: fc.nat({ max: 4 }),
    }),
    { minLength: 1, maxLength: 6, selector: ({ block, rack, node }) => `${block}/${rack}/${node}` },
  )
  .map((nodes) => {
    const paths = nodes.map(({ block, rack, node }) => [`b${block}`, `r${rack}`, `n${node}`]);
    const tree = new DomainTree(["block", "rack", "node"], paths);
    const capacity = nodes.map(() => 0);
    for (const [index, { places }] of nodes.entries()) capacity[tree.leafOfPath[index] as number] = places;
    return { tree, capacity };
  });

/** All distributions of workers over the leaves. */
export function everyPlacement({ capacity }: Fabric): readonly (readonly number[])[] {
  let placements: (readonly number[])[] = [[]];
  for (const places of capacity) {
    placements = placements.flatMap((before) => Array.from({ length: places + 1 }, (_, count) => [...before, count]));
  }
  return placements;
}

/** Whether all workers are in one domain of the level. */
export function sharesDomain(tree: DomainTree, level: number, workers: readonly number[]): boolean {
  for (let domain = 0; domain < tree.domainCount(level); domain++) {
    const { first, end } = tree.leavesOf(level, domain);
    if (workers.every((count, leaf) => count === 0 || (leaf >= first && leaf < end))) return true;
  }
  return false;
}
