/** A walk over nodes that are known by their ids, for graphs that are derived from other data and not kept. */
import type { WalkLimits } from "./lineage-graph.ts";

export interface ReachedNodes {
  /** Number of edges from the start by id, in the order of the walk. The start is the first one. */
  readonly depths: ReadonlyMap<string, number>;
  /** Whether the limits ended the walk. */
  readonly isCut: boolean;
}

/** Breadth first. `neighbours` is called once for each node that is reached, and may leave nodes out. */
export function walkNeighbours(
  start: string,
  neighbours: (id: string) => readonly string[],
  { depthMax, nodesMax }: WalkLimits,
): ReachedNodes {
  const depths = new Map([[start, 0]]);
  let isCut = false;
  // A map that grows while it is iterated gives its new entries too.
  for (const [id, depth] of depths)
    for (const next of neighbours(id)) {
      if (depths.has(next)) continue;
      isCut ||= depth >= depthMax || depths.size >= nodesMax;
      if (depths.size >= nodesMax) return { depths, isCut };
      if (depth < depthMax) depths.set(next, depth + 1);
    }
  return { depths, isCut };
}
