/**
 * The cell tree of each accelerator type, and values derived from it. The tree is built when it is first needed after
 * nodes joined or changed.
 */
import { Slot } from "../../cluster/scratch.ts";
import type { TypeCapacity } from "../../cluster/capacity.ts";
import type { World } from "../../cluster/world.ts";
import { CellTree } from "./cell-tree.ts";

const trees = new Slot<{ nodesEpoch: number; readonly byType: Map<string, CellTree> }>(
  () => ({ nodesEpoch: -1, byType: new Map() }),
  { survivesUndo: true },
);

const derived = new Slot<{ sequence: number; readonly byTree: Map<CellTree, unknown> }>(
  () => ({ sequence: -1, byTree: new Map() }),
  { survivesUndo: false },
);

export function cellTreeOf({ scratch, capacity, state }: World, type: TypeCapacity): CellTree {
  const known = scratch.get(trees);
  if (known.nodesEpoch !== capacity.nodesEpoch) known.byType.clear();
  known.nodesEpoch = capacity.nodesEpoch;
  let tree = known.byType.get(type.type);
  if (tree === undefined) {
    tree = new CellTree(state, type.slots);
    known.byType.set(type.type, tree);
  }
  return tree;
}

/**
 * The value that `make` derives from a tree. It is cached until the next event, so all callers must pass an equivalent
 * `make`.
 */
export function derivedFrom<T>({ scratch, state }: World, tree: CellTree, make: () => T): T {
  const known = scratch.get(derived);
  if (known.sequence !== state.sequence) known.byTree.clear();
  known.sequence = state.sequence;
  const value = (known.byTree.get(tree) as T | undefined) ?? make();
  known.byTree.set(tree, value);
  return value;
}
