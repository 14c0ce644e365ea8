/** A node that is not there yet, in every way like one that is: the `index`-th of its like, from 0 on. */
import type { NodeSpec } from "../model/fleet.ts";
import { nodeId } from "../model/ids.ts";

export function nodeLike(known: NodeSpec, index: number): NodeSpec {
  const { pool, fabric, acceleratorCount, coresMilli, memoryMib, labels, workersMax, acceleratorGroups } = known;
  return {
    id: nodeId(`${known.id}+${index + 1}`),
    pool,
    fabric,
    acceleratorCount,
    coresMilli,
    memoryMib,
    ...(labels === undefined ? {} : { labels }),
    ...(workersMax === undefined ? {} : { workersMax }),
    ...(acceleratorGroups === undefined ? {} : { acceleratorGroups }),
  };
}
