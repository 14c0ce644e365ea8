/**
 * Determines by trying every layout which accelerators of a small fleet belong to which team. Cells are sets of bits.
 * Shares no code with the engine.
 */
import { acceleratorIndices } from "@headroom/model";
import type { Node, ReservedTopology } from "@headroom/model";
import { isGuaranteedWork } from "./guaranteed-work.ts";
import type { Engine } from "../../src/index.ts";

/** Work that must lie in its team's cells, or a request: a number of workers with a number of accelerators each. */
export interface Held {
  readonly team: string;
  readonly bits: number;
}
export interface Asked {
  readonly team: string;
  readonly workers: number;
  readonly accelerators: number;
}
export interface Cell {
  readonly level: string;
  readonly size: number;
  readonly domain: readonly string[];
  readonly bits: number;
}
export interface SmallFleet {
  readonly cells: readonly Cell[];
  /** Accelerators of each node, as bits. */
  readonly nodes: readonly number[];
  readonly firstBit: ReadonlyMap<string, number>;
}

export const bitCount = (bits: number): number => bits.toString(2).replaceAll("0", "").length;

/** All cells of the fleet; nodes are named by their domains. */
export function smallFleet(nodes: readonly Node[], levels: readonly string[]): SmallFleet {
  const cells = new Map<string, Cell>();
  const firstBit = new Map<string, number>();
  let next = 0;
  const add = (key: string, cell: Cell): void => {
    const known = cells.get(key);
    cells.set(
      key,
      known === undefined ? cell : { ...cell, size: known.size + cell.size, bits: known.bits | cell.bits },
    );
  };
  for (const { id, fabric, acceleratorCount: count, acceleratorGroups = [] } of nodes) {
    const first = next;
    next += count;
    firstBit.set(id, first);
    const bitsOf = (from: number, size: number): number => (2 ** size - 1) * 2 ** (first + from);
    levels.forEach((level, depth) => {
      const domain = fabric.slice(0, depth + 1);
      add(`${level} ${domain.join()}`, { level, size: count, domain, bits: bitsOf(0, count) });
    });
    add(`node ${id}`, { level: "node", size: count, domain: fabric, bits: bitsOf(0, count) });
    for (const size of [...acceleratorGroups, 1])
      for (let from = 0; from < count; from += size)
        add(`${size} ${id} ${from}`, { level: "group", size, domain: fabric, bits: bitsOf(from, size) });
  }
  const all = [...cells.values()];
  const nodeBits = all.filter(({ level }) => level === "node").map(({ bits }) => bits);
  return { cells: all, nodes: nodeBits, firstBit };
}

/** Workers of guaranteed work that runs or is nominated. */
export function heldIn({ state }: Engine, { firstBit }: SmallFleet): Held[] {
  const held: Held[] = [];
  const placed = [...state.attempts.values()].filter((attempt) => isGuaranteedWork(state, attempt));
  const nominated = [...state.nominations.values()].filter((nomination) => isGuaranteedWork(state, nomination));
  for (const { workloadId, workers } of [...placed, ...nominated]) {
    const team = state.workloads.get(workloadId)?.spec.team as string;
    for (const { node, accelerators } of workers) {
      const first = firstBit.get(node) as number;
      held.push({ team, bits: acceleratorIndices(accelerators).reduce((sum, index) => sum + 2 ** (first + index), 0) });
    }
  }
  return held;
}

interface Owned {
  readonly team: string;
  readonly cells: readonly Cell[];
  readonly count: number;
}

export type Shapes = readonly { readonly team: string; readonly shape: ReservedTopology }[];

/**
 * Whether all reserved topologies can have separate cells, with the work of each team and the requested workers inside
 * their team's cells.
 */
export function canLayOut(
  fleet: SmallFleet,
  reservedTopology: Shapes,
  held: readonly Held[],
  asked: Asked | null = null,
): boolean {
  const owned = reservedTopology.map(({ team, shape }): Owned => ({
    team,
    count: shape.count,
    cells: cellsOf(fleet, shape),
  }));
  const mine = new Map<string, Cell[]>();
  const layFrom = (at: number, left: number, from: number, taken: number): boolean => {
    const next = owned[at];
    if (next === undefined) return holds(fleet, mine, held, asked);
    if (left === 0) return layFrom(at + 1, owned[at + 1]?.count ?? 0, 0, taken);
    for (let index = from; index < next.cells.length; index++) {
      const cell = next.cells[index] as Cell;
      if ((taken & cell.bits) !== 0 || held.some(({ team, bits }) => team !== next.team && (bits & cell.bits) !== 0))
        continue;
      const cells = mine.get(next.team) ?? [];
      mine.set(next.team, [...cells, cell]);
      const isLaid = layFrom(at, left - 1, index + 1, taken | cell.bits);
      mine.set(next.team, cells);
      if (isLaid) return true;
    }
    return false;
  };
  return layFrom(0, owned[0]?.count ?? 0, 0, 0);
}

const cellsOf = ({ cells }: SmallFleet, { within, accelerators, domain = [] }: ReservedTopology): readonly Cell[] =>
  cells.filter(
    (cell) =>
      cell.level === within && cell.size === accelerators && domain.every((name, depth) => cell.domain[depth] === name),
  );

function holds(
  { nodes }: SmallFleet,
  mine: ReadonlyMap<string, readonly Cell[]>,
  held: readonly Held[],
  asked: Asked | null,
): boolean {
  if (!held.every(({ team, bits }) => (mine.get(team) ?? []).some((cell) => (bits & ~cell.bits) === 0))) return false;
  if (asked === null) return true;
  const used = held.reduce((sum, { bits }) => sum | bits, 0);
  let workers = 0;
  for (const { bits } of mine.get(asked.team) ?? [])
    for (const node of nodes) workers += Math.floor(bitCount(bits & node & ~used) / asked.accelerators);
  return workers >= asked.workers;
}
