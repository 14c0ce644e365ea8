/**
 * Position of every accelerator on the map. Nodes are grouped by pool and fabric domain; the cell size depends on the
 * fleet's size, so that 64 nodes fill the screen and 10,000 still fit a scrolling page.
 */
import type { Node } from "@headroom/protocol";

export interface NodeBox {
  readonly node: Node;
  /** Position of the node in the order of the map, for the arrow keys. */
  readonly index: number;
  readonly x: number;
  readonly y: number;
}

export interface GroupBox {
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface PoolMap {
  readonly pool: string;
  readonly site: string;
  readonly acceleratorType: string;
  readonly y: number;
  readonly height: number;
  readonly groups: readonly GroupBox[];
}

export interface CellGrid {
  readonly columns: number;
  readonly cell: number;
  readonly gap: number;
}

export interface FleetLayout {
  readonly grid: CellGrid;
  readonly pools: readonly PoolMap[];
  readonly boxes: readonly NodeBox[];
  readonly width: number;
  readonly height: number;
}

/** Possible sizes of a cell in pixels, largest first. */
const CELL_SIZES = [28, 24, 20, 18, 16, 14, 12, 10, 8, 6, 5, 4] as const;
/** Height in pixels above which the map uses smaller cells, as long as there are smaller ones. */
const HEIGHT_WANTED = 560;
const POOL_HEADER = 26;
const POOL_GAP = 18;
const GROUP_PADDING = 8;
const GROUP_LABEL = 18;
const GROUP_GAP = 10;
/** Height of a node's name below its cells, and the smallest cell of a node that is wide enough for a name. */
const NODE_LABEL = 13;
const NAMED_CELL_MIN = 14;

/** Whether nodes have their names below them. Smaller nodes are named by the tip and the table. */
export const namesNodes = ({ cell }: CellGrid): boolean => cell >= NAMED_CELL_MIN;

export function layoutFleet(nodes: readonly Node[], width: number): FleetLayout {
  let layout = layoutWith(nodes, width, CELL_SIZES[0]);
  for (const cell of CELL_SIZES) {
    layout = layoutWith(nodes, width, cell);
    if (layout.height <= HEIGHT_WANTED) break;
  }
  return layout;
}

/** The box of one node. Its cells are in rows of four, or of eight if nodes have many accelerators. */
export function nodeSize(
  { columns, cell, gap }: CellGrid,
  acceleratorCount: number,
): { width: number; height: number } {
  const rows = Math.max(1, Math.ceil(acceleratorCount / columns));
  return { width: columns * (cell + gap) - gap + 4, height: rows * (cell + gap) - gap + 4 };
}

/** The cell of one accelerator on the map. */
export function cellAt(grid: CellGrid, box: NodeBox, accelerator: number): { readonly x: number; readonly y: number } {
  const step = grid.cell + grid.gap;
  return {
    x: box.x + 2 + (accelerator % grid.columns) * step,
    y: box.y + 2 + Math.floor(accelerator / grid.columns) * step,
  };
}

interface NodeGroup {
  readonly label: string;
  readonly nodes: Node[];
}

/** Pools in the order in which their first nodes joined, and the domains of each pool in the same order. */
function groupNodes(nodes: readonly Node[]): ReadonlyMap<string, ReadonlyMap<string, NodeGroup>> {
  const pools = new Map<string, Map<string, NodeGroup>>();
  for (const node of nodes) {
    const groups = pools.get(node.pool) ?? new Map<string, NodeGroup>();
    pools.set(node.pool, groups);
    const label = node.fabric.join(" / ");
    const group = groups.get(label) ?? { label, nodes: [] };
    groups.set(label, group);
    group.nodes.push(node);
  }
  return pools;
}

function layoutWith(nodes: readonly Node[], width: number, cell: number): FleetLayout {
  const widest = nodes.reduce((most, { acceleratorCount }) => Math.max(most, acceleratorCount), 1);
  const grid: CellGrid = { columns: widest <= 4 ? widest : widest <= 16 ? 4 : 8, cell, gap: cell >= 8 ? 2 : 1 };
  const { width: nodeWidth, height: nodeHeight } = nodeSize(grid, widest);
  const size = { width: nodeWidth, height: nodeHeight + (namesNodes(grid) ? NODE_LABEL : 0) };
  const pools: PoolMap[] = [];
  const boxes: NodeBox[] = [];
  let y = 0;
  for (const [pool, groups] of groupNodes(nodes)) {
    const first = [...groups.values()][0]?.nodes[0];
    const placed = placeGroups({ groups: [...groups.values()], size, width, top: y + POOL_HEADER, into: boxes });
    const height = placed.bottom - y;
    pools.push({
      pool,
      site: first?.site ?? "",
      acceleratorType: first?.acceleratorType ?? "",
      y,
      height,
      groups: placed.groups,
    });
    y += height + POOL_GAP;
  }
  return { grid, pools, boxes, width, height: Math.max(0, y - POOL_GAP) };
}

interface Placing {
  readonly groups: readonly NodeGroup[];
  readonly size: { readonly width: number; readonly height: number };
  readonly width: number;
  readonly top: number;
  readonly into: NodeBox[];
}

/** Groups are wrapped like words; a group wider than the page is broken into rows of its own. */
function placeGroups({ groups, size, width, top, into }: Placing): { groups: GroupBox[]; bottom: number } {
  const [stepX, stepY] = [size.width + 6, size.height + 6];
  const roomInGroup = Math.max(1, Math.floor((width - 2 * GROUP_PADDING + 6) / stepX));
  const placed: GroupBox[] = [];
  let [x, y, lineHeight] = [0, top, 0];
  for (const { label: domain, nodes } of groups) {
    const label = domain === "" && nodes.length === 1 ? (nodes[0]?.id ?? "") : domain;
    const columns = Math.min(
      nodes.length,
      roomInGroup,
      groups.length === 1 ? roomInGroup : Math.max(4, Math.ceil(Math.sqrt(nodes.length))),
    );
    const rows = Math.ceil(nodes.length / columns);
    const labelHeight = label === "" ? 0 : GROUP_LABEL;
    const groupWidth = columns * stepX - 6 + 2 * GROUP_PADDING;
    const groupHeight = rows * stepY - 6 + 2 * GROUP_PADDING + labelHeight;
    if (x > 0 && x + groupWidth > width) [x, y, lineHeight] = [0, y + lineHeight + GROUP_GAP, 0];
    placed.push({ label, x, y, width: groupWidth, height: groupHeight });
    nodes.forEach((node, position) => {
      const left = x + GROUP_PADDING + (position % columns) * stepX;
      const above = y + GROUP_PADDING + labelHeight + Math.floor(position / columns) * stepY;
      into.push({ node, index: into.length, x: left, y: above });
    });
    x += groupWidth + GROUP_GAP;
    lineHeight = Math.max(lineHeight, groupHeight);
  }
  return { groups: placed, bottom: y + lineHeight };
}

/** The node under a point of the map, and the accelerator if there is one at the point. */
export function nodeAtPoint(
  layout: FleetLayout,
  x: number,
  y: number,
): { box: NodeBox; accelerator: number | null } | null {
  const { grid } = layout;
  for (const box of layout.boxes) {
    const { width, height } = nodeSize(grid, box.node.acceleratorCount);
    if (x < box.x || y < box.y || x >= box.x + width || y >= box.y + height) continue;
    const step = grid.cell + grid.gap;
    const accelerator =
      Math.floor((y - box.y - 2) / step) * grid.columns +
      Math.min(grid.columns - 1, Math.floor((x - box.x - 2) / step));
    return { box, accelerator: accelerator >= 0 && accelerator < box.node.acceleratorCount ? accelerator : null };
  }
  return null;
}

/**
 * The node that an arrow key selects: the nearest in that direction. Nodes straight ahead come before diagonal ones.
 */
export function neighbour(
  layout: FleetLayout,
  from: NodeBox,
  direction: "left" | "right" | "up" | "down",
): NodeBox | null {
  const isHorizontal = direction === "left" || direction === "right";
  const sign = direction === "right" || direction === "down" ? 1 : -1;
  let best: NodeBox | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const box of layout.boxes) {
    const ahead = sign * (isHorizontal ? box.x - from.x : box.y - from.y);
    const aside = Math.abs(isHorizontal ? box.y - from.y : box.x - from.x);
    if (ahead <= 0) continue;
    const distance = ahead + 4 * aside;
    if (distance < bestDistance) [best, bestDistance] = [box, distance];
  }
  return best;
}
