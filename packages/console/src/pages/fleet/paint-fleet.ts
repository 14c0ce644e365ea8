/** Draws the map from its arguments. It keeps no state. */
import { forEachRange } from "@headroom/model";
import { tokenColours } from "../../theme/token-colours.ts";
import { CATEGORIES, USE_STEPS, type CellKind, type CellsOf } from "./cell-colours.ts";
import { cellAt, namesNodes, nodeSize, type FleetLayout, type NodeBox } from "./fleet-layout.ts";

const tokens = [
  "ink-3",
  "ink",
  "line",
  "accent",
  "run",
  "run-soft",
  "stop",
  "wait",
  "bad",
  "cell-free",
  "cell-down",
  "sunken",
] as const;

export interface Palette {
  readonly token: Readonly<Record<(typeof tokens)[number], string>>;
  readonly categories: readonly string[];
  readonly font: string;
}

/** Hues in an order in which neighbours differ much, so that a few categories are easy to tell apart. */
const hues = [250, 45, 150, 320, 95, 195, 15, 285, 70, 170, 345, 225] as const;

export function categoryColour(category: number, theme: string): string {
  const hue = hues[category % CATEGORIES] ?? 0;
  return theme === "dark" ? `oklch(0.72 0.12 ${hue})` : `oklch(0.6 0.13 ${hue})`;
}

export function paletteFor(host: Element, theme: string): Palette {
  return {
    token: tokenColours(host, tokens),
    categories: hues.map((_, category) => categoryColour(category, theme)),
    font: `500 11px ${getComputedStyle(host).fontFamily}`,
  };
}

export interface FleetPicture {
  readonly layout: FleetLayout;
  readonly cellsOf: CellsOf;
  readonly palette: Palette;
  /** The node that is under the pointer, or selected by the arrow keys. */
  readonly cursor: NodeBox | null;
  /** The workload whose accelerators are marked. */
  readonly workloadId: string | null;
}

export function paintFleet(context: CanvasRenderingContext2D, picture: FleetPicture): void {
  const { layout, palette, cursor } = picture;
  context.clearRect(0, 0, layout.width, layout.height);
  context.font = palette.font;
  context.textBaseline = "top";
  for (const pool of layout.pools) paintGroups(context, palette, pool.groups);
  for (const box of layout.boxes) paintNode(context, picture, box);
  if (picture.workloadId !== null) markWorkload(context, picture, picture.workloadId);
  if (cursor !== null) {
    const { width, height } = nodeSize(layout.grid, cursor.node.acceleratorCount);
    context.strokeStyle = palette.token.accent;
    context.lineWidth = 2;
    context.strokeRect(cursor.x - 1, cursor.y - 1, width + 2, height + 2);
  }
}

function paintGroups(
  context: CanvasRenderingContext2D,
  { token }: Palette,
  groups: FleetLayout["pools"][number]["groups"],
): void {
  context.lineWidth = 1;
  for (const { label, x, y, width, height } of groups) {
    context.strokeStyle = token.line;
    context.beginPath();
    context.roundRect(x + 0.5, y + 0.5, width - 1, height - 1, 5);
    context.stroke();
    context.fillStyle = token["ink-3"];
    if (label !== "") context.fillText(label, x + 8, y + 7, width - 16);
  }
}

/** The name below the cells, shortened to the width of the node: names differ mostly at their ends. */
function paintName(
  context: CanvasRenderingContext2D,
  { layout, palette }: FleetPicture,
  { node, x, y }: NodeBox,
): void {
  if (!namesNodes(layout.grid)) return;
  const { width, height } = nodeSize(layout.grid, node.acceleratorCount);
  let text: string = node.id;
  for (let kept = text.length - 1; context.measureText(text).width > width && kept > 1; kept--)
    text = `…${node.id.slice(-kept)}`;
  context.fillStyle = palette.token["ink-3"];
  context.fillText(text, x + 2, y + height + 1);
}

function paintNode(context: CanvasRenderingContext2D, picture: FleetPicture, box: NodeBox): void {
  const { layout, palette, cellsOf } = picture;
  const { node } = box;
  const { cell } = layout.grid;
  cellsOf(node).forEach((kind, accelerator) => {
    const { x, y } = cellAt(layout.grid, box, accelerator);
    context.fillStyle = colourOf(kind, palette);
    context.fillRect(x, y, cell, cell);
    if (kind === "unread" || kind === "faulty" || kind === "foreign") {
      const colour = kind === "faulty" ? palette.token.bad : palette.token[kind === "foreign" ? "ink-3" : "line"];
      hatch(context, { x, y, cell, colour });
    }
    if (kind === "launching") hatch(context, { x, y, cell, colour: palette.token.run });
  });
  paintName(context, picture, box);
  const isClosed =
    node.draining || node.suspended === true || node.qualification !== undefined || node.maintenance !== undefined;
  const outline = node.health === "lost" ? palette.token.bad : isClosed ? palette.token.wait : null;
  if (outline === null && node.acceleratorCount > 0) return;
  const { width, height } = nodeSize(layout.grid, node.acceleratorCount);
  context.strokeStyle = outline ?? palette.token["ink-3"];
  context.lineWidth = 1.5;
  context.setLineDash(node.health === "lost" ? [] : [3, 2]);
  context.strokeRect(box.x + 0.25, box.y + 0.25, width - 0.5, height - 0.5);
  context.setLineDash([]);
}

function colourOf(kind: CellKind, { token, categories }: Palette): string {
  if (typeof kind === "object" && "useStep" in kind)
    return kind.useStep === 0 ? token["cell-free"] : utilizationColour(kind.useStep, token);
  if (typeof kind === "object") return categories[kind.category] ?? token.run;
  switch (kind) {
    case "free":
      return token["cell-free"];
    case "down":
      return token["cell-down"];
    case "faulty":
      return token["cell-down"];
    case "unread":
    case "foreign":
      return token.sunken;
    case "launching":
      return token["run-soft"];
    case "running":
      return token.run;
    case "stopping":
      return token.stop;
  }
}

/** Colour of a utilization step. The busier an accelerator, the closer its colour is to that of running work. */
function utilizationColour(step: number, token: Palette["token"]): string {
  return `color-mix(in oklab, ${token.run} ${Math.round((100 * step) / USE_STEPS)}%, ${token["cell-free"]})`;
}

interface HatchedCell {
  readonly x: number;
  readonly y: number;
  readonly cell: number;
  readonly colour: string;
}

function hatch(context: CanvasRenderingContext2D, { x, y, cell, colour }: HatchedCell): void {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x + 0.5, y + cell - 0.5);
  context.lineTo(x + cell - 0.5, y + 0.5);
  context.stroke();
  context.strokeRect(x + 0.5, y + 0.5, cell - 1, cell - 1);
}

/** A gang spans many nodes, so a border marks all its accelerators. */
function markWorkload(context: CanvasRenderingContext2D, { layout, palette }: FleetPicture, workloadId: string): void {
  const { grid } = layout;
  context.strokeStyle = palette.token.ink;
  context.lineWidth = grid.cell >= 8 ? 1.5 : 1;
  for (const box of layout.boxes) {
    for (const holder of box.node.holders) {
      if (holder.workloadId !== workloadId) continue;
      forEachRange(holder.accelerators, (first, last) => {
        for (let accelerator = first; accelerator <= last; accelerator++) {
          const { x, y } = cellAt(grid, box, accelerator);
          context.strokeRect(x - 0.25, y - 0.25, grid.cell + 0.5, grid.cell + 0.5);
        }
      });
    }
  }
}
