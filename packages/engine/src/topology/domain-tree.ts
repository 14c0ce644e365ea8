/**
 * The fabric as a placement tree: named levels, widest first, and the domains of each level in the order of their
 * paths. A domain's children are adjacent in the level below, so a domain is a range of leaves, and index order is the
 * name order that breaks ties. It is built after nodes have joined or left, not for each placement.
 */
import { invariant } from "@headroom/model";

/** Adjacent domains of one level; `end` is not included. */
export interface DomainRange {
  readonly first: number;
  readonly end: number;
}

export class DomainTree {
  readonly levels: readonly string[];
  /** Index of the leaf for each path from which the tree was built. Equal paths share a leaf. */
  readonly leafOfPath: readonly number[];
  readonly #paths: readonly (readonly string[])[];
  /** By level: the first leaf of each domain. One more entry at the end holds the end of the last domain. */
  readonly #firstLeaf: readonly Int32Array[];
  /**
   * By level: the first child of each domain in the level below. One more entry at the end holds the end of the last
   * domain.
   */
  readonly #firstChild: readonly Int32Array[];

  constructor(levels: readonly string[], paths: readonly (readonly string[])[]) {
    invariant(levels.length > 0, "a fabric needs at least one level");
    this.levels = levels;
    const order = paths.map((_, index) => index);
    order.sort((left, right) => comparePaths(paths[left] as readonly string[], paths[right] as readonly string[]));
    const leaves: (readonly string[])[] = [];
    const leafOfPath = paths.map(() => 0);
    for (const index of order) {
      const path = paths[index] as readonly string[];
      invariant(path.length === levels.length, `a path through ${levels.length} levels has ${path.length} names`);
      const last = leaves.at(-1);
      if (last === undefined || comparePaths(last, path) !== 0) leaves.push(path);
      leafOfPath[index] = leaves.length - 1;
    }
    this.#paths = leaves;
    this.leafOfPath = leafOfPath;
    this.#firstLeaf = levels.map((_, level) => firstLeaves(leaves, level));
    this.#firstChild = this.#firstLeaf.map((starts, level) => {
      const below = this.#firstLeaf[level + 1];
      return below === undefined ? starts : firstChildren(starts, below);
    });
  }

  get leafCount(): number {
    return this.#paths.length;
  }

  domainCount(level: number): number {
    return (this.#firstLeaf[level] as Int32Array).length - 1;
  }

  /** The names on the path from the top level down to the domain. */
  pathOf(level: number, domain: number): readonly string[] {
    const leaf = (this.#firstLeaf[level] as Int32Array)[domain] as number;
    return (this.#paths[leaf] as readonly string[]).slice(0, level + 1);
  }

  leavesOf(level: number, domain: number): DomainRange {
    return rangeOf(this.#firstLeaf[level] as Int32Array, domain);
  }

  /** The domain's children in the level below; empty for a leaf. */
  childrenOf(level: number, domain: number): DomainRange {
    if (level === this.levels.length - 1) return { first: 0, end: 0 };
    return rangeOf(this.#firstChild[level] as Int32Array, domain);
  }
}

function rangeOf(starts: Int32Array, domain: number): DomainRange {
  return { first: starts[domain] as number, end: starts[domain + 1] as number };
}

function comparePaths(left: readonly string[], right: readonly string[]): number {
  for (let level = 0; level < left.length; level++) {
    const [leftName, rightName] = [left[level] as string, right[level] as string];
    if (leftName !== rightName) return leftName < rightName ? -1 : 1;
  }
  return 0;
}

function firstLeaves(leaves: readonly (readonly string[])[], level: number): Int32Array {
  const starts: number[] = [];
  for (let leaf = 0; leaf < leaves.length; leaf++) {
    const isNew = leaf === 0 || !sharesPrefix(leaves[leaf - 1], leaves[leaf], level);
    if (isNew) starts.push(leaf);
  }
  return Int32Array.from([...starts, leaves.length]);
}

function sharesPrefix(left: readonly string[] = [], right: readonly string[] = [], level: number): boolean {
  for (let at = 0; at <= level; at++) if (left[at] !== right[at]) return false;
  return true;
}

/**
 * Each list holds the first leaf of every domain of its level. A leaf that begins a domain of the wider level also
 * begins a domain of the narrower level.
 */
function firstChildren(wider: Int32Array, narrower: Int32Array): Int32Array {
  let child = 0;
  return wider.map((leaf) => {
    while ((narrower[child] as number) < leaf) child++;
    return child;
  });
}
