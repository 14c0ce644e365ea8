/** Hypothetical nodes, identical to an existing one. */
import { nodeId, isSameList } from "@headroom/model";
import type { NodeSpec } from "@headroom/model";

/** The `index`-th copy of the node, counted from 0. */
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

/** Whether the two nodes have the same shape, so that copies of either are equal. */
export const isAlike = (left: NodeSpec, right: NodeSpec): boolean =>
  left.pool === right.pool &&
  left.acceleratorCount === right.acceleratorCount &&
  left.coresMilli === right.coresMilli &&
  left.memoryMib === right.memoryMib &&
  left.workersMax === right.workersMax &&
  isSameList(left.fabric, right.fabric) &&
  isSameList(left.acceleratorGroups ?? [], right.acceleratorGroups ?? []) &&
  hasLabelsOf(left.labels ?? {}, right.labels ?? {}) &&
  hasLabelsOf(right.labels ?? {}, left.labels ?? {});

function hasLabelsOf(labels: NonNullable<NodeSpec["labels"]>, others: NonNullable<NodeSpec["labels"]>): boolean {
  for (const name in others) if (labels[name] !== others[name]) return false;
  return true;
}
