/**
 * A directed graph of datasets, models, jobs, runs and code, walkable in both directions. An edge goes from what was used to what was
 * made with it. Nodes are numbers; edges lie in typed arrays, so that millions of nodes fit in memory. Start with `walk`.
 */

export const NODE_KINDS = ["dataset", "model", "job", "run", "code"] as const;
export type NodeKind = (typeof NODE_KINDS)[number];

export interface LineageNode {
  readonly kind: NodeKind;
  readonly namespace: string;
  readonly name: string;
  /** Version of a dataset, if an event stated it. */
  readonly version?: string;
  /** A name for people: the name of a run's job. */
  readonly label?: string;
  /** The state that the newest event of a run states. */
  readonly state?: string;
}

export interface WalkedNode {
  readonly node: number;
  /** Number of edges from the start. */
  readonly depth: number;
}

export interface Walk {
  /** In the order of the walk: by depth, then in the order of the events. */
  readonly nodes: readonly WalkedNode[];
  /** Whether the limits ended the walk. */
  readonly isCut: boolean;
}

export interface WalkLimits {
  readonly depthMax: number;
  readonly nodesMax: number;
}

/** Bounds of one graph, so that a file cannot take the memory of the machine. */
const NODES_MAX = 5_000_000;
const EDGES_MAX = 20_000_000;

interface Adjacency {
  /** The neighbours of node n are `targets[offsets[n]..offsets[n + 1]]`. */
  readonly offsets: Uint32Array;
  readonly targets: Uint32Array;
}

export class LineageGraph {
  readonly #keys = new Map<string, number>();
  readonly #nodes: LineageNode[] = [];
  /** Other names of nodes: symlinks of datasets, names of jobs for their runs. */
  readonly #aliases = new Map<string, number[]>();
  #sources: Uint32Array = new Uint32Array(1 << 12);
  #targets: Uint32Array = new Uint32Array(1 << 12);
  #edgeCount = 0;
  #forward: Adjacency | null = null;
  #backward: Adjacency | null = null;

  get nodeCount(): number {
    return this.#nodes.length;
  }

  /** Edges as added, repeated ones included. */
  get edgeCount(): number {
    return this.#edgeCount;
  }

  get isFull(): boolean {
    return this.#nodes.length >= NODES_MAX || this.#edgeCount >= EDGES_MAX;
  }

  /** The node of this identity; a new one if there is none. A dataset that turns out to be a model becomes one. */
  node(identity: LineageNode): number {
    const { kind, namespace, name, version } = identity;
    const space = kind === "model" ? "dataset" : kind;
    const key = `${space}\0${namespace}\0${name}${version === undefined ? "" : `\0${version}`}`;
    const known = this.#keys.get(key);
    if (known !== undefined) {
      if (kind === "model") this.#change(known, { kind });
      return known;
    }
    const number = this.#nodes.length;
    this.#nodes.push(identity);
    this.#keys.set(key, number);
    return number;
  }

  /** Changes what is known of a node; its identity stays. */
  annotate(node: number, changes: Pick<LineageNode, "label" | "state">): void {
    this.#change(node, changes);
  }

  #change(node: number, changes: Partial<LineageNode>): void {
    const before = this.#nodes[node];
    if (before !== undefined) this.#nodes[node] = { ...before, ...changes };
  }

  alias(name: string, node: number): void {
    const known = this.#aliases.get(name);
    if (known === undefined) this.#aliases.set(name, [node]);
    else if (known.at(-1) !== node && !known.includes(node)) known.push(node);
  }

  edge(source: number, target: number): void {
    if (source === target) return;
    if (this.#edgeCount === this.#sources.length) {
      this.#sources = grown(this.#sources);
      this.#targets = grown(this.#targets);
    }
    this.#sources[this.#edgeCount] = source;
    this.#targets[this.#edgeCount] = target;
    this.#edgeCount += 1;
    this.#forward = null;
    this.#backward = null;
  }

  at(node: number): LineageNode {
    const found = this.#nodes[node];
    if (found === undefined) throw new RangeError(`there is no node ${node}`);
    return found;
  }

  /**
   * The nodes that a name means: `namespace/name`, `name`, `name@version`, the last part of a path, a run id or an alias. A name
   * without version means all versions.
   */
  find(text: string): readonly number[] {
    const found = new Set(this.#aliases.get(text));
    const suffix = `/${text}`;
    for (const [index, { namespace, name, version }] of this.#nodes.entries()) {
      const isNamed = (candidate: string): boolean =>
        candidate === text || `${namespace}/${candidate}` === text || candidate.endsWith(suffix);
      if (isNamed(name) || (version !== undefined && isNamed(`${name}@${version}`))) found.add(index);
    }
    return [...found].toSorted((left, right) => left - right);
  }

  /** Breadth first from the start nodes, which are part of the answer with depth 0. */
  walk(starts: readonly number[], direction: "up" | "down", { depthMax, nodesMax }: WalkLimits): Walk {
    const { offsets, targets } = direction === "down" ? this.#downward() : this.#upward();
    const isSeen = new Uint8Array(this.#nodes.length);
    const nodes: { node: number; depth: number }[] = [];
    let isCut = false;
    const visit = (node: number, depth: number): void => {
      if (isSeen[node] === 1) return;
      if (nodes.length >= nodesMax) {
        isCut = true;
        return;
      }
      isSeen[node] = 1;
      nodes.push({ node, depth });
    };
    for (const start of starts) visit(start, 0);
    for (let index = 0; index < nodes.length && !isCut; index += 1) {
      const { node, depth } = nodes[index] as WalkedNode;
      const [from, to] = [offsets[node] ?? 0, offsets[node + 1] ?? 0];
      if (depth >= depthMax) {
        for (let at = from; at < to; at += 1) if (isSeen[targets[at] ?? 0] === 0) isCut = true;
        // Other nodes of this depth have no neighbours that could be visited either.
        continue;
      }
      for (let at = from; at < to; at += 1) visit(targets[at] ?? 0, depth + 1);
    }
    return { nodes, isCut };
  }

  #downward(): Adjacency {
    return (this.#forward ??= this.#adjacency(this.#sources, this.#targets));
  }

  #upward(): Adjacency {
    return (this.#backward ??= this.#adjacency(this.#targets, this.#sources));
  }

  /** Counting sort of the edges by their first end; neighbours keep the order in which they were added. */
  #adjacency(ends: Uint32Array, others: Uint32Array): Adjacency {
    const offsets = new Uint32Array(this.#nodes.length + 1);
    for (let edge = 0; edge < this.#edgeCount; edge += 1) offsets[(ends[edge] ?? 0) + 1]! += 1;
    for (let node = 0; node < this.#nodes.length; node += 1) offsets[node + 1]! += offsets[node] ?? 0;
    const next = offsets.slice();
    const targets = new Uint32Array(this.#edgeCount);
    for (let edge = 0; edge < this.#edgeCount; edge += 1) {
      const end = ends[edge] ?? 0;
      targets[next[end] ?? 0] = others[edge] ?? 0;
      next[end]! += 1;
    }
    return { offsets, targets };
  }
}

function grown(array: Uint32Array): Uint32Array {
  const larger = new Uint32Array(array.length * 2);
  larger.set(array);
  return larger;
}
