/** Index of the inputs in the caches of nodes: which nodes hold an input. Rebuilt from `Node.cachedInputs`. */
import { cachedKey } from "@headroom/model";
import type { CachedInput, Node, NodeId } from "@headroom/model";

const NOWHERE: ReadonlyMap<NodeId, number> = new Map();

export class CachedInputs {
  /** MiB by node, by the key of the input. */
  readonly #nodesOf = new Map<string, Map<NodeId, number>>();

  constructor(nodes: Iterable<Node> = []) {
    for (const { id, cachedInputs = [] } of nodes) this.add(id, cachedInputs);
  }

  /** True until a node has reported an input. Then no placement has to look for any. */
  get isEmpty(): boolean {
    return this.#nodesOf.size === 0;
  }

  add(nodeId: NodeId, inputs: readonly CachedInput[]): void {
    for (const input of inputs) {
      const key = cachedKey(input);
      const nodes = this.#nodesOf.get(key) ?? new Map<NodeId, number>();
      this.#nodesOf.set(key, nodes.set(nodeId, input.mib));
    }
  }

  remove(nodeId: NodeId, keys: readonly string[]): void {
    for (const key of keys) {
      const nodes = this.#nodesOf.get(key);
      nodes?.delete(nodeId);
      if (nodes?.size === 0) this.#nodesOf.delete(key);
    }
  }

  /** Nodes that hold the input with this key, and its size in MiB. */
  nodesOf(key: string): ReadonlyMap<NodeId, number> {
    return this.#nodesOf.get(key) ?? NOWHERE;
  }

  /** All entries as sorted text, to compare two indexes. */
  describe(): readonly string[] {
    const lines: string[] = [];
    for (const [key, nodes] of this.#nodesOf) for (const [id, mib] of nodes) lines.push(`${id} ${mib} ${key}`);
    return lines.toSorted();
  }
}
