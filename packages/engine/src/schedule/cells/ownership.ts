/**
 * Which cells of one accelerator type are whose. Every team owns shapes; it is safe when all shapes of all teams have cells of
 * their own, such that the guaranteed work of each team lies inside its team's: then whatever a team asks for within its shapes
 * can be placed, by eviction of what uses idle accelerators at most (Zhao et al., OSDI 2020). Cells that hold
 * guaranteed work are bound to its team; the others are laid out anew whenever somebody asks, the largest first, each in the
 * tightest surroundings, so that large cells stay whole (buddy allocation). That finds a layout wherever there is one if the
 * cells of one level in one domain are divided alike; where they are not, it may miss one and is then too strict, never too lax.
 */
import { acceleratorIndices } from "../../model/accelerator-set.ts";
import type { AttemptId, TeamName } from "../../model/ids.ts";
import type { TeamShape } from "../../model/team.ts";
import type { WorkerAllocation } from "../../model/workload.ts";
import { isGuaranteed, isGuaranteedLoan } from "../../policy/guaranteed.ts";
import type { TypeCapacity } from "../../state/capacity.ts";
import { around, sizeOf } from "../../state/cell-tree.ts";
import type { Cell, CellTree } from "../../state/cell-tree.ts";
import { workloadOf } from "../../state/entities.ts";
import { isEviction } from "../../state/holdings.ts";
import type { World } from "../../state/world.ts";

/** A worker of guaranteed work. */
export interface GuaranteedWorker {
  readonly owner: TeamName;
  /** The smallest cell that holds all of it. */
  readonly cell: Cell;
  readonly leaves: readonly number[];
}

/** A shape of a team with the cells that could be it. */
export interface OwnedShape {
  readonly owner: TeamName;
  readonly shape: TeamShape;
  readonly cells: readonly Cell[];
}

/** A layout: which cells are whose. */
export interface Layout {
  /** Accelerators of guaranteed work outside its team's shapes. */
  readonly outside: number;
  /** Accelerators of shapes for which no cells are left. */
  readonly missing: number;
  /** By shape: cells with guaranteed work in them, and cells set aside for more. */
  readonly bound: ReadonlyMap<OwnedShape, readonly Cell[]>;
  readonly spare: ReadonlyMap<OwnedShape, readonly Cell[]>;
}

/** The team, itself or above, whose shapes the work of a team may use; `null`: none owns any. */
export function ownerOf({ teamUse }: World, team: TeamName): TeamName | null {
  for (let node = teamUse.node(team) as ReturnType<typeof teamUse.node> | null; node !== null; node = node.parent)
    if ((node.team.shapes?.length ?? 0) > 0) return node.name;
  return null;
}

/** All shapes that are cells of the type, those of pinned nodes first, then larger before smaller. */
export function shapesOn({ state }: World, tree: CellTree, type: string): readonly OwnedShape[] {
  const owned = [...state.teams.values()].flatMap(({ name, shapes = [] }) =>
    shapes.map((shape): OwnedShape => ({ owner: name, shape, cells: tree.cellsOf(shape, type) })),
  );
  const isPinned = ({ shape }: OwnedShape): number => Number(shape.nodes !== undefined);
  const depth = ({ shape }: OwnedShape): number => shape.domain?.length ?? 0;
  return owned
    .filter(({ cells }) => cells.length > 0)
    .toSorted(
      (left, right) =>
        isPinned(right) - isPinned(left) ||
        right.shape.accelerators - left.shape.accelerators ||
        depth(right) - depth(left),
    );
}

/** Guaranteed work on the type, oldest first: what runs, and what was promised a place. `relabelled`: as if these were so already. */
export function guaranteedWorkers(
  world: World,
  tree: CellTree,
  { type }: TypeCapacity,
  relabelled: ReadonlySet<AttemptId>,
): GuaranteedWorker[] {
  const { state, rules } = world;
  const found: GuaranteedWorker[] = [];
  const add = (team: TeamName, workers: readonly WorkerAllocation[]): void => {
    const owner = ownerOf(world, team);
    if (owner !== null)
      for (const worker of workers) if (worker.accelerators !== "") found.push(workerOf(tree, owner, worker));
  };
  for (const attempt of state.attempts.values()) {
    if (attempt.acceleratorType !== type || relabelled.has(attempt.id)) continue;
    // What a plan took is somebody else's already.
    if (attempt.stop !== null && isEviction(attempt.stop.reason)) continue;
    const { spec } = workloadOf(world, attempt.workloadId);
    if (isGuaranteedLoan(rules, spec, attempt)) add(spec.team, attempt.workers);
  }
  for (const { workloadId, acceleratorType, workers, growth, attemptId } of state.promises.values()) {
    const { spec } = workloadOf(world, workloadId);
    const isLoan = growth && state.attempts.get(attemptId)?.opportunistic === true;
    if (acceleratorType === type && !isLoan && isGuaranteed(rules, spec)) add(spec.team, workers);
  }
  return found;
}

export function workerOf(tree: CellTree, owner: TeamName, { node, accelerators }: WorkerAllocation): GuaranteedWorker {
  const { first } = tree.nodeCells.get(node) as Cell;
  const leaves = acceleratorIndices(accelerators).map((index) => first + index);
  return { owner, leaves, cell: tree.enclosing(leaves) };
}

/** Lays out all shapes around the work. */
export function layOut(tree: CellTree, shapes: readonly OwnedShape[], workers: readonly GuaranteedWorker[]): Layout {
  return layouts(tree, shapes, workers).reduce((best, other) => (isAsGood(best, other) ? best : other));
}

/** Layouts to choose from, as they differ for a team that owns cells of several sizes: the widest bound to its work first, or the narrowest. */
export function layouts(
  tree: CellTree,
  shapes: readonly OwnedShape[],
  workers: readonly GuaranteedWorker[],
): readonly Layout[] {
  const wide = layOutBy(tree, shapes, { workers, binding: shapes });
  return [wide, layOutBy(tree, shapes, { workers, binding: shapes.toReversed() })];
}

export const isAsGood = (left: Layout, right: Layout): boolean =>
  left.outside <= right.outside && left.missing <= right.missing;

interface Work {
  readonly workers: readonly GuaranteedWorker[];
  /** The shapes in the order in which they are bound to work. */
  readonly binding: readonly OwnedShape[];
}

function layOutBy(tree: CellTree, shapes: readonly OwnedShape[], { workers, binding }: Work): Layout {
  const holder: (TeamName | null)[] = tree.leaves.map(() => null);
  for (const { owner, leaves } of workers) for (const leaf of leaves) holder[leaf] = owner;
  /** Accelerators in cells that are somebody's. */
  const taken = new Uint8Array(tree.leaves.length);
  const bound = new Map<OwnedShape, Cell[]>();
  const inside = new Set<GuaranteedWorker>();
  for (const owned of binding) bound.set(owned, bind(owned, { workers, inside, holder, taken }));
  const spare = new Map<OwnedShape, Cell[]>();
  let missing = 0;
  for (const owned of shapes) {
    const count = owned.shape.count - (bound.get(owned)?.length ?? 0);
    const cells = setAside(tree, { owned, count, holder, taken });
    spare.set(owned, cells);
    missing += (count - cells.length) * owned.shape.accelerators;
  }
  let outside = 0;
  for (const worker of workers) if (!inside.has(worker)) outside += worker.leaves.length;
  return { outside, missing, bound, spare };
}

interface Bindings extends Pick<Work, "workers"> {
  readonly inside: Set<GuaranteedWorker>;
  readonly holder: readonly (TeamName | null)[];
  readonly taken: Uint8Array;
}

/** Cells of the shape around the work of its team, until it has as many as it owns. */
function bind({ owner, shape, cells }: OwnedShape, { workers, inside, holder, taken }: Bindings): Cell[] {
  const could = new Set(cells);
  const bound = new Set<Cell>();
  for (const worker of workers) {
    if (worker.owner !== owner || inside.has(worker)) continue;
    for (const cell of around(worker.cell)) {
      if (!could.has(cell)) continue;
      if (!bound.has(cell)) {
        if (bound.size === shape.count || !isOpenTo(cell, owner, { holder, taken })) continue;
        bound.add(cell);
        taken.fill(1, cell.first, cell.end);
      }
      inside.add(worker);
      break;
    }
  }
  return [...bound];
}

/** Nobody else's work lies in the cell, and no part of it belongs to another. */
export function isOpenTo(
  { first, end }: Cell,
  owner: TeamName,
  { holder, taken }: Pick<Bindings, "holder" | "taken">,
): boolean {
  for (let leaf = first; leaf < end; leaf++)
    if (taken[leaf] === 1 || (holder[leaf] !== null && holder[leaf] !== owner)) return false;
  return true;
}

interface Aside extends Pick<Bindings, "holder" | "taken"> {
  readonly owned: OwnedShape;
  readonly count: number;
}

/** Whole cells on usable nodes without guaranteed work, where least around them is left. */
function setAside(tree: CellTree, { owned, count, holder, taken }: Aside): Cell[] {
  if (count <= 0) return [];
  // Open accelerators before each: how many are open in a cell is a difference.
  const before = new Int32Array(tree.leaves.length + 1);
  for (let leaf = 0; leaf < tree.leaves.length; leaf++) {
    const isOpen = taken[leaf] === 0 && holder[leaf] === null && (tree.leaves[leaf] as Cell).slot?.usable === true;
    before[leaf + 1] = (before[leaf] as number) + Number(isOpen);
  }
  const openIn = ({ first, end }: Cell): number => (before[end] as number) - (before[first] as number);
  const open = owned.cells.filter((cell) => openIn(cell) === sizeOf(cell));
  const compare = (left: Cell, right: Cell): number => {
    let [a, b] = [left.parent, right.parent];
    for (; a !== null && b !== null && a !== b; a = a.parent, b = b.parent) {
      const difference = openIn(a) - openIn(b);
      if (difference !== 0) return difference;
    }
    return left.id - right.id;
  };
  const chosen = open.toSorted(compare).slice(0, count);
  for (const { first, end } of chosen) taken.fill(1, first, end);
  return chosen;
}
