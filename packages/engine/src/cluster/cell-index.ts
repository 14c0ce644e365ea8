/** The topology cells of each accelerator type; built lazily after nodes joined or changed. */
import type { TypeCapacity } from "./capacity.ts";
import { CellTree } from "./cell-tree.ts";

export class CellIndex {
  readonly #declared: ConstructorParameters<typeof CellTree>[0];
  readonly #trees = new Map<string, CellTree>();
  #kept = new Map<CellTree, unknown>();
  #keptSequence = -1;
  #epoch = -1;

  constructor(declared: ConstructorParameters<typeof CellTree>[0]) {
    this.#declared = declared;
  }

  /** `epoch`: of the nodes as they are. */
  tree(type: TypeCapacity, epoch: number): CellTree {
    if (epoch !== this.#epoch) this.#trees.clear();
    this.#epoch = epoch;
    let tree = this.#trees.get(type.type);
    if (tree === undefined) {
      tree = new CellTree(this.#declared, type.slots);
      this.#trees.set(type.type, tree);
    }
    return tree;
  }

  /** Values computed from a tree, cached until an event is recorded. `make` is the same for all callers. */
  remembered<T>(tree: CellTree, sequence: number, make: () => T): T {
    if (sequence !== this.#keptSequence) this.#kept = new Map();
    this.#keptSequence = sequence;
    const known = this.#kept.get(tree) as T | undefined;
    if (known !== undefined) return known;
    const made = make();
    this.#kept.set(tree, made);
    return made;
  }

  /** After an undo, a sequence may stand for other events. */
  forget(): void {
    this.#keptSequence = -1;
  }
}
