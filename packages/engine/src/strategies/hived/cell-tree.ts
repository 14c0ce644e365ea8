/**
 * The topology cells of one accelerator type: fabric domains, nodes, groups of accelerators inside a node, and single
 * accelerators. Each cell is divided into the next smaller cells. The size of a cell counts all its accelerators, even
 * on nodes that are down, so a cell does not change when hardware fails. The accelerators of a cell have consecutive
 * numbers, from `first` up to but not including `end`.
 */
import { GROUP_LEVEL, compareText } from "@headroom/model";
import type { Node, Pool, Site, NodeId, PoolName, SiteName, ReservedTopology } from "@headroom/model";
import type { TypeCapacity } from "../../cluster/capacity.ts";
import { NODE_LEVEL } from "../../cluster/fabric-index.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";

export interface Cell {
  readonly id: number;
  /** A level of the site's fabric, `node` or `group`; `""` for the whole site. */
  readonly level: string;
  /** Fabric domains from the widest level down; for a cell inside a node, all domains of the node. */
  readonly path: readonly string[];
  readonly parent: Cell | null;
  readonly children: Cell[];
  readonly first: number;
  end: number;
  /** The node that is the cell or contains it; `null` for a cell that is wider than a node. */
  readonly slot: NodeSlot | null;
}

export const sizeOf = ({ first, end }: Cell): number => end - first;

const kindOf = (level: string, size: number): string => `${size} ${level}`;

interface DeclaredCells {
  readonly sites: ReadonlyMap<SiteName, Site>;
  readonly pools: ReadonlyMap<PoolName, Pool>;
}

export class CellTree {
  readonly cells: Cell[] = [];
  /**
   * The smallest cell of each accelerator, by its number. `indices` holds the index of each accelerator within its
   * node.
   */
  readonly leaves: Cell[] = [];
  readonly indices: number[] = [];
  /** Nodes in the order of their accelerators. */
  readonly nodes: Cell[] = [];
  readonly nodeCells: ReadonlyMap<NodeId, Cell>;
  readonly #byKind: ReadonlyMap<string, readonly Cell[]>;

  constructor(declared: DeclaredCells, slots: readonly NodeSlot[]) {
    const levelsOf = new Map<NodeId, { readonly site: SiteName; readonly levels: readonly string[] }>();
    for (const { node } of slots) {
      const site = declared.sites.get(declared.pools.get(node.pool)?.site as SiteName);
      levelsOf.set(node.id, { site: site?.name as SiteName, levels: site?.fabricLevels ?? [] });
    }
    const siteOf = ({ id }: Node): SiteName => levelsOf.get(id)?.site as SiteName;
    const ordered = slots.toSorted(
      (left, right) =>
        compareText(siteOf(left.node), siteOf(right.node)) ||
        comparePaths(left.node.fabric, right.node.fabric) ||
        left.node.ordinal - right.node.ordinal,
    );
    let open: Cell[] = [];
    for (const slot of ordered) {
      const { levels } = levelsOf.get(slot.node.id) as { readonly levels: readonly string[] };
      open = this.#descend(open, { site: siteOf(slot.node), levels, slot });
      const node = this.#add({ level: NODE_LEVEL, path: slot.node.fabric, parent: open.at(-1) as Cell, slot });
      this.nodes.push(node);
      this.#divide(node, slot.node.acceleratorGroups ?? [], slot.totalCount);
      for (const cell of open) cell.end = this.leaves.length;
    }
    this.#byKind = Map.groupBy(this.cells, (cell) => kindOf(cell.level, sizeOf(cell)));
    this.nodeCells = new Map(this.nodes.map((cell) => [(cell.slot as NodeSlot).node.id, cell]));
  }

  #add({ level, path, parent, slot }: Pick<Cell, "level" | "path" | "parent" | "slot">): Cell {
    const cell: Cell = {
      id: this.cells.length,
      level,
      path,
      parent,
      children: [],
      first: this.leaves.length,
      end: this.leaves.length,
      slot,
    };
    this.cells.push(cell);
    parent?.children.push(cell);
    return cell;
  }

  /** Adds the cells of the node's site and fabric domains. Cells that also contain the previous node exist already. */
  #descend(
    open: readonly Cell[],
    place: { readonly site: SiteName; readonly levels: readonly string[]; readonly slot: NodeSlot },
  ): Cell[] {
    const { site, levels, slot } = place;
    const names = [site as string, ...levels.map((_, depth) => slot.node.fabric[depth] ?? "")];
    const chain: Cell[] = [];
    let shares = true;
    names.forEach((name, depth) => {
      const known = open[depth];
      shares &&= known !== undefined && (depth === 0 ? known.path[0] === site : known.path[depth - 1] === name);
      const path = depth === 0 ? [site as string] : names.slice(1, depth + 1);
      const level = depth === 0 ? "" : (levels[depth - 1] as string);
      chain.push(shares ? (known as Cell) : this.#add({ level, path, parent: chain.at(-1) ?? null, slot: null }));
    });
    return chain;
  }

  /**
   * Divides a cell into groups of the first size in `sizes`, each group into groups of the next size, and so on. The
   * smallest groups are divided into single accelerators.
   */
  #divide(cell: Cell, sizes: readonly number[], count: number): void {
    const [size = 1, ...smaller] = sizes;
    if (size >= count && count > 1) return this.#divide(cell, smaller, count);
    const { path, slot } = cell;
    for (let taken = 0; taken < count; taken += size) {
      const part = this.#add({ level: GROUP_LEVEL, path, parent: cell, slot });
      if (size === 1) {
        this.leaves.push(part);
        this.indices.push(this.leaves.length - 1 - this.#nodeOf(cell).first);
        part.end = this.leaves.length;
      } else this.#divide(part, smaller, Math.min(size, count - taken));
    }
    cell.end = this.leaves.length;
  }

  #nodeOf(cell: Cell): Cell {
    let at = cell;
    while (at.level !== NODE_LEVEL) at = at.parent as Cell;
    return at;
  }

  /**
   * The cells that match a reserved topology, in the order of the tree. If the topology is pinned to nodes, only cells
   * on these nodes match.
   */
  cellsOf(
    { within, accelerators, acceleratorType, domain = [], nodes }: ReservedTopology,
    { type, family }: Pick<TypeCapacity, "type" | "family">,
  ): Cell[] {
    if (acceleratorType !== undefined && acceleratorType !== type && acceleratorType !== family) return [];
    const alike = this.#byKind.get(kindOf(within, accelerators)) ?? [];
    return alike.filter(
      ({ path, slot }) =>
        domain.every((name, depth) => path[depth] === name) &&
        (nodes === undefined || (slot !== null && nodes.includes(slot.node.id))),
    );
  }

  /** The smallest cell that contains all accelerators in `leaves`. */
  enclosing(leaves: readonly number[]): Cell {
    const first = Math.min(...leaves);
    const last = Math.max(...leaves);
    let cell = this.leaves[first] as Cell;
    while (cell.end <= last) cell = cell.parent as Cell;
    return cell;
  }
}

/** The cell itself and all cells that enclose it. */
export function* around(cell: Cell): Generator<Cell> {
  for (let at: Cell | null = cell; at !== null; at = at.parent) yield at;
}

function comparePaths(left: readonly string[], right: readonly string[]): number {
  for (let depth = 0; depth < Math.max(left.length, right.length); depth++) {
    const difference = compareText(left[depth] ?? "", right[depth] ?? "");
    if (difference !== 0) return difference;
  }
  return 0;
}
