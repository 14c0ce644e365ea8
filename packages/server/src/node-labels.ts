/** Combines the labels declared with a pool and the nodes reported by executors. */
import type { NodeSpec } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";

/** The node with all labels declared for it. Declared labels override the executor's labels. */
export function labelled({ pools }: Pick<ReadonlyState, "pools">, node: NodeSpec): NodeSpec {
  const pool = pools.get(node.pool);
  const labels = { ...node.labels, ...pool?.labels, ...pool?.nodeLabels?.[node.id] };
  return Object.keys(labels).length === 0 ? node : { ...node, labels };
}
