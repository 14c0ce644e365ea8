/** Labels are declared with a pool, and nodes are reported by executors: here the two come together. */
import type { NodeSpec, ReadonlyState } from "@headroom/engine";

/** The node with everything that is declared for it, which wins over what the executor says itself. */
export function labelled({ pools }: Pick<ReadonlyState, "pools">, node: NodeSpec): NodeSpec {
  const pool = pools.get(node.pool);
  const labels = { ...node.labels, ...pool?.labels, ...pool?.nodeLabels?.[node.id] };
  return Object.keys(labels).length === 0 ? node : { ...node, labels };
}
