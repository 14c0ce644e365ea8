/** Colour of every accelerator for each colouring of the map, and the legend. */
import { forEachRange } from "@headroom/model";
import { DEFAULT_TEAM } from "@headroom/protocol";
import type { AcceleratorReading, Node, NodeHolder, NodeReadings } from "@headroom/protocol";
import type { Colouring } from "../../routes/search-params.ts";

/** Meaning of a cell's colour. Another module maps it to colours. Categories are numbers from 0 on. */
export type CellKind =
  | "free"
  | "down"
  /** Used by work that Headroom does not run. */
  | "foreign"
  | "launching"
  | "running"
  | "stopping"
  | "faulty"
  | "unread"
  | { readonly category: number }
  /** Utilization in steps: 0 is idle, `USE_STEPS` fully busy. */
  | { readonly useStep: number };

export const USE_STEPS = 4;
/** Utilization below which an accelerator counts as idle. */
const BUSY_MILLI_MIN = 50;

/** Number of hues. Only twelve can be told apart, so further teams or workloads share them. */
export const CATEGORIES = 12;

/**
 * Category of each team for its colour. It follows the team's place among all team names, not current usage, so a team
 * keeps its colour when the fleet changes. Leaf teams come first, because work is submitted to these teams.
 */
export function categoryOfTeams(teams: readonly string[]): ReadonlyMap<string, number> {
  const names = [...new Set(teams)].toSorted();
  const isLeaf = (name: string): boolean =>
    name !== DEFAULT_TEAM && !names.some((other) => other.startsWith(`${name}/`));
  const ordered = [...names.filter(isLeaf), ...names.filter((name) => !isLeaf(name))];
  return new Map(ordered.map((team, index) => [team, index % CATEGORIES]));
}

function categoryOfWorkload(id: string): number {
  let hash = 7;
  for (let index = 0; index < id.length; index++) hash = (Math.imul(hash, 31) + id.charCodeAt(index)) >>> 0;
  return hash % CATEGORIES;
}

export type Categorise = (holder: NodeHolder) => CellKind;

export function categoriser(colouring: Exclude<Colouring, "use">, teams: ReadonlyMap<string, number>): Categorise {
  if (colouring === "state") return ({ phase }) => phase;
  if (colouring === "team") return ({ team }) => ({ category: teams.get(team) ?? 0 });
  return ({ workloadId }) => ({ category: categoryOfWorkload(workloadId) });
}

/** The meaning of the colours of a node's accelerators, one for each. */
export function cellsOf(node: Node, categorise: Categorise): CellKind[] {
  const cells = new Array<CellKind>(node.acceleratorCount).fill(node.health === "up" ? "free" : "down");
  if (node.health === "up")
    forEachRange(node.foreignUse?.accelerators ?? "", (first, last) => cells.fill("foreign", first, last + 1));
  for (const holder of node.holders) {
    const kind = categorise(holder);
    forEachRange(holder.accelerators, (first, last) => cells.fill(kind, first, last + 1));
  }
  return cells;
}

export type CellsOf = (node: Node) => readonly CellKind[];

/** Cells by the utilization that the vendor's tool reports, whether or not work holds them. */
export function utilizationCells(node: Node, read: NodeReadings | undefined): CellKind[] {
  const cells = new Array<CellKind>(node.acceleratorCount).fill(node.health === "up" ? "unread" : "down");
  if (node.health !== "up") return cells;
  for (const { index, busyMilli, fault } of read?.accelerators ?? []) {
    if (index >= cells.length) continue;
    if (fault !== null) cells[index] = "faulty";
    else if (busyMilli !== null) cells[index] = { useStep: utilizationStepOf(busyMilli) };
  }
  return cells;
}

const utilizationStepOf = (busyMilli: number): number =>
  busyMilli < BUSY_MILLI_MIN ? 0 : Math.max(1, Math.min(USE_STEPS, Math.ceil((USE_STEPS * busyMilli) / 1000)));

export function readingOf(read: NodeReadings | undefined, index: number): AcceleratorReading | undefined {
  return read?.accelerators.find((each) => each.index === index);
}

/** The work that holds an accelerator of the node; `null`: idle. */
export function holderAt(node: Node, accelerator: number): NodeHolder | null {
  for (const holder of node.holders) {
    let isInside = false;
    forEachRange(holder.accelerators, (first, last) => {
      if (accelerator >= first && accelerator <= last) isInside = true;
    });
    if (isInside) return holder;
  }
  return null;
}

export function freeCountOf(node: Node): number {
  let count = 0;
  forEachRange(node.freeAccelerators, (first, last) => {
    count += last - first + 1;
  });
  return count;
}

type NodeState = Pick<
  Node,
  | "phase"
  | "health"
  | "draining"
  | "suspended"
  | "hotSpare"
  | "notice"
  | "acceleratorsChanged"
  | "maintenance"
  | "qualification"
>;

export function nodeStateText(node: NodeState): string {
  const { phase, health, draining, suspended, hotSpare, notice, acceleratorsChanged, maintenance, qualification } =
    node;
  if (hotSpare === true) return "Spare";
  if (health === "lost") return draining ? "Lost, draining" : "Lost";
  if (suspended === true) return "Suspended by its executor";
  if (acceleratorsChanged === true) return "Changing accelerators";
  if (phase.name === "removing") return "Being removed";
  if (notice !== undefined) return draining ? "Leaving, draining" : "Leaving";
  if (maintenance !== undefined) return draining ? "Maintenance, draining" : "Maintenance";
  if (draining) return "Draining";
  if (qualification?.phase === "failed") return "Not qualified";
  return qualification === undefined ? "Up" : "Qualifying";
}

export function nodeStateTone(node: NodeState): "bad" | "wait" | "good" {
  const { phase, health, draining, suspended, notice, acceleratorsChanged, maintenance, qualification } = node;
  if (health === "lost" || qualification?.phase === "failed") return "bad";
  const isClosed =
    draining ||
    qualification !== undefined ||
    phase.name === "removing" ||
    suspended === true ||
    acceleratorsChanged === true ||
    notice !== undefined ||
    maintenance !== undefined;
  return isClosed ? "wait" : "good";
}

/** Text that screen readers read when the arrow keys reach a cell. */
export function nodeSentence(node: Node): string {
  const place = [node.pool, ...node.fabric].join(", ");
  const names = [...new Set(node.holders.map(({ workloadName }) => workloadName))];
  const work =
    names.length === 0
      ? "idle"
      : `running ${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""}`;
  return `${node.id}, ${place}: ${nodeStateText(node)}, ${freeCountOf(node)} of ${node.acceleratorCount} free, ${work}.`;
}
