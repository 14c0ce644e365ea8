/**
 * Assigns cells of one accelerator type to teams. An assignment is safe if the reserved topologies of all teams have
 * distinct cells and the guaranteed work of each team lies in its own cells. Then every request within a team's
 * topology can be placed by evicting opportunistic jobs only (Zhao et al., OSDI 2020).
 * A cell with guaranteed work belongs to the work's team. Other cells are assigned on demand, largest first, each from
 * the parent cell with the fewest open accelerators, so that large cells stay whole (buddy allocation). If all cells of
 * a level in a domain are divided alike, this finds an assignment whenever one exists. Otherwise it may miss one: it is
 * then too strict, never too lax.
 */
import { acceleratorIndices, isEviction } from "@headroom/model";
import type { AttemptId, TeamName, ReservedTopology, WorkerAllocation } from "@headroom/model";
import { isGuaranteed, isGuaranteedOpportunistic } from "./guaranteed.ts";
import type { TypeCapacity } from "../../cluster/capacity.ts";
import { around, sizeOf } from "./cell-tree.ts";
import type { Cell, CellTree } from "./cell-tree.ts";
import { workloadOf } from "../../cluster/entities.ts";
import type { World } from "../../cluster/world.ts";

/** A worker of guaranteed work, with its accelerators. */
export interface GuaranteedWorker {
  readonly owner: TeamName;
  /** The smallest cell that contains all accelerators of the worker. */
  readonly cell: Cell;
  readonly leaves: readonly number[];
}

/** A reserved topology of a team, with the cells that could be assigned to it. */
export interface OwnedShape {
  readonly owner: TeamName;
  readonly shape: ReservedTopology;
  readonly cells: readonly Cell[];
  /** The candidate cells as a set. */
  readonly could: ReadonlySet<Cell>;
}

/** A layout: the owner of each cell. */
export interface Layout {
  /** Number of accelerators that guaranteed work uses outside the cells of its team. */
  readonly outside: number;
  /** Number of accelerators of each team's reserved topology for which no cells remain. */
  readonly missing: ReadonlyMap<TeamName, number>;
  /** Cells of each reserved topology that contain guaranteed work. */
  readonly bound: ReadonlyMap<OwnedShape, readonly Cell[]>;
  /** Cells of each reserved topology that are set aside for more guaranteed work. */
  readonly reserved: ReadonlyMap<OwnedShape, readonly Cell[]>;
}

/**
 * The team whose reserved topology the work may use: the work's own team or the nearest team above it that has one. It
 * is `null` if none has.
 */
export function ownerOf({ teamUse }: World, team: TeamName): TeamName | null {
  for (let node = teamUse.node(team) as ReturnType<typeof teamUse.node> | null; node !== null; node = node.parent)
    if ((node.team.reservedTopology?.length ?? 0) > 0) return node.name;
  return null;
}

/**
 * All reserved topologies on cells of the accelerator type. Those pinned to nodes come first, then larger ones before
 * smaller ones.
 */
export function shapesOn({ state, capacity }: World, tree: CellTree, type: string): readonly OwnedShape[] {
  const family = capacity.type(type)?.family;
  const owned = [...state.teams.values()].flatMap(({ name, reservedTopology = [] }) =>
    reservedTopology.map((shape): OwnedShape => {
      const cells = tree.cellsOf(shape, { type, family });
      return { owner: name, shape, cells, could: new Set(cells) };
    }),
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

/**
 * Workers of guaranteed work on the accelerator type, running or nominated, oldest first. `relabelled` are attempts
 * that the plan already treats as opportunistic.
 */
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
    // Evicted work no longer holds cells: they already count for the plan's preemptor.
    if (attempt.stop !== null && isEviction(attempt.stop.reason)) continue;
    const { spec } = workloadOf(world, attempt.workloadId);
    if (isGuaranteedOpportunistic(rules, spec, attempt)) add(spec.team, attempt.workers);
  }
  for (const { workloadId, acceleratorType, workers, growth, attemptId } of state.nominations.values()) {
    const { spec } = workloadOf(world, workloadId);
    const isOpportunistic = growth && state.attempts.get(attemptId)?.opportunistic === true;
    if (acceleratorType === type && !isOpportunistic && isGuaranteed(rules, spec)) add(spec.team, workers);
  }
  return found;
}

export function workerOf(tree: CellTree, owner: TeamName, { node, accelerators }: WorkerAllocation): GuaranteedWorker {
  const { first } = tree.nodeCells.get(node) as Cell;
  const leaves = acceleratorIndices(accelerators).map((index) => first + index);
  return { owner, leaves, cell: tree.enclosing(leaves) };
}

/**
 * Maximum number of layouts that are tried if teams own nested cells of several sizes, so that work could use more than
 * one size.
 */
const LAYOUTS_MAX = 16;

/**
 * The best of several layouts: the one with the least work outside its team's cells, and of equal ones the one with the
 * fewest missing accelerators.
 */
export function bestOf(all: readonly Layout[]): Layout {
  return all.reduce((best, other) => {
    const isBetter =
      other.outside < best.outside || (other.outside === best.outside && sumOf(other.missing) < sumOf(best.missing));
    return isBetter ? other : best;
  });
}

/** Returns whether the reserved topologies can be laid out around the work so that no team is worse off than before. */
export function staysAsGood(
  tree: CellTree,
  { reservedTopology, before }: OwnedShare,
  workers: readonly GuaranteedWorker[],
): boolean {
  for (const layout of layouts(tree, reservedTopology, workers)) if (isAsGood(layout, before)) return true;
  return false;
}

interface OwnedShare {
  readonly reservedTopology: readonly OwnedShape[];
  readonly before: Layout;
}

const sumOf = (missing: ReadonlyMap<TeamName, number>): number =>
  [...missing.values()].reduce((sum, count) => sum + count, 0);

/**
 * Returns whether the first layout is as good as the second: it has no more work outside the cells of its team, and no
 * team lacks more accelerators.
 */
export function isAsGood(first: Layout, second: Layout): boolean {
  if (first.outside > second.outside) return false;
  return [...first.missing].every(([owner, count]) => count <= (second.missing.get(owner) ?? 0));
}

/**
 * A bounded number of candidate layouts. There are several if a team owns cells of several sizes and its work fits in
 * more than one size. The first layout prefers the widest cells, the second the narrowest, and others follow.
 */
export function* layouts(
  tree: CellTree,
  reservedTopology: readonly OwnedShape[],
  workers: readonly GuaranteedWorker[],
): Generator<Layout> {
  const binding = new Binding(tree, reservedTopology, workers);
  let count = 0;
  for (const order of [reservedTopology, reservedTopology.toReversed()]) {
    for (const bound of binding.ways(order)) {
      yield completed(tree, reservedTopology, workers, binding, bound);
      if (++count === LAYOUTS_MAX) return;
      if (order === reservedTopology && count === 1 && binding.isOpen) break;
    }
    if (!binding.isOpen) return;
  }
}

/** Completes a layout by setting cells aside for the reserved topology that is not in use. */
function completed(
  tree: CellTree,
  reservedTopology: readonly OwnedShape[],
  workers: readonly GuaranteedWorker[],
  binding: Binding,
  bound: ReadonlyMap<OwnedShape, readonly Cell[]>,
): Layout {
  const open = new Open(tree, binding);
  const inUse = new Set([...bound.values()].flat());
  const reserved = new Map<OwnedShape, Cell[]>();
  const missing = new Map<TeamName, number>();
  for (const owned of reservedTopology) {
    const count = owned.shape.count - (bound.get(owned)?.length ?? 0);
    const cells = setAside(owned, count, open);
    reserved.set(owned, cells);
    const lacking = (count - cells.length) * owned.shape.accelerators;
    missing.set(owned.owner, (missing.get(owned.owner) ?? 0) + lacking);
  }
  let outside = 0;
  for (const { cell, leaves } of workers) {
    let isInside = false;
    for (const at of around(cell)) isInside ||= inUse.has(at);
    if (!isInside) outside += leaves.length;
  }
  return { outside, missing, bound, reserved };
}

/** Enumerates the ways to assign guaranteed work to cells of its team. */
class Binding {
  readonly holder: (TeamName | null)[];
  /** 1 for each accelerator in a cell that is in use, 0 for the others. */
  readonly taken: Uint8Array;
  /** True if some work fits in cells of several sizes, so that there is more than one way to assign it. */
  isOpen = false;
  readonly #bound = new Map<OwnedShape, Cell[]>();
  readonly #inUse = new Set<Cell>();
  /** Workers that fit in cells of several sizes. */
  readonly #undecided: GuaranteedWorker[] = [];

  constructor(tree: CellTree, reservedTopology: readonly OwnedShape[], workers: readonly GuaranteedWorker[]) {
    this.holder = tree.leaves.map(() => null);
    for (const { owner, leaves } of workers) for (const leaf of leaves) this.holder[leaf] = owner;
    this.taken = new Uint8Array(tree.leaves.length);
    // Workers with only one suitable size of cell are assigned first, because the others have alternatives.
    for (const worker of workers) {
      const options = this.#optionsFor(worker, reservedTopology);
      if (new Set(options.map(({ owned }) => owned)).size > 1) this.#undecided.push(worker);
      else if (!this.#isInside(worker) && options[0] !== undefined) this.#bind(options[0]);
    }
    this.isOpen = this.#undecided.some((worker) => !this.#isInside(worker));
  }

  #isInside({ cell }: GuaranteedWorker): boolean {
    for (const at of around(cell)) if (this.#inUse.has(at)) return true;
    return false;
  }

  #optionsFor({ owner, cell }: GuaranteedWorker, order: readonly OwnedShape[]): Option[] {
    const options: Option[] = [];
    for (const owned of order) {
      if (owned.owner !== owner || (this.#bound.get(owned)?.length ?? 0) >= owned.shape.count) continue;
      for (const at of around(cell))
        if (owned.could.has(at) && isOpenTo(at, owner, this)) options.push({ owned, cell: at });
    }
    return options;
  }

  #bind({ owned, cell }: Option): void {
    const cells = this.#bound.get(owned);
    if (cells === undefined) this.#bound.set(owned, [cell]);
    else cells.push(cell);
    this.#inUse.add(cell);
    this.taken.fill(1, cell.first, cell.end);
  }

  #unbind({ owned, cell }: Option): void {
    (this.#bound.get(owned) as Cell[]).pop();
    this.#inUse.delete(cell);
    this.taken.fill(0, cell.first, cell.end);
  }

  /**
   * Generates the assignments one by one. Each assignment is applied to this object until the next one is requested.
   * `order` is the order in which each worker tries the cell sizes.
   */
  *ways(order: readonly OwnedShape[], from = 0): Generator<ReadonlyMap<OwnedShape, readonly Cell[]>> {
    let at = from;
    let options: Option[] = [];
    for (; at < this.#undecided.length && options.length === 0; at++) {
      const worker = this.#undecided[at] as GuaranteedWorker;
      if (!this.#isInside(worker)) options = this.#optionsFor(worker, order);
    }
    if (options.length === 0) {
      yield new Map([...this.#bound].map(([owned, cells]) => [owned, [...cells]]));
      return;
    }
    for (const option of options) {
      this.#bind(option);
      try {
        yield* this.ways(order, at);
      } finally {
        // The assignment is undone in `finally`, because the caller may stop early.
        this.#unbind(option);
      }
    }
  }
}

interface Option {
  readonly owned: OwnedShape;
  readonly cell: Cell;
}

interface Bindings {
  readonly holder: readonly (TeamName | null)[];
  readonly taken: Uint8Array;
}

/**
 * Returns whether the cell is open to the team `owner`: it contains no work of other teams, and no part of it is in use
 * as a cell.
 */
export function isOpenTo({ first, end }: Cell, owner: TeamName, { holder, taken }: Bindings): boolean {
  for (let leaf = first; leaf < end; leaf++)
    if (taken[leaf] === 1 || (holder[leaf] !== null && holder[leaf] !== owner)) return false;
  return true;
}

/** Number of unused and unassigned accelerators of each cell; 0 on nodes that take no work. */
class Open {
  readonly #counts: Int32Array;

  constructor(tree: CellTree, { holder, taken }: Bindings) {
    this.#counts = new Int32Array(tree.cells.length);
    tree.leaves.forEach((leaf, at) => {
      if (taken[at] === 1 || holder[at] !== null || leaf.slot?.usable !== true) return;
      for (let cell: Cell | null = leaf; cell !== null; cell = cell.parent) this.#add(cell, 1);
    });
  }

  #add({ id }: Cell, count: number): void {
    this.#counts[id] = (this.#counts[id] as number) + count;
  }

  in({ id }: Cell): number {
    return this.#counts[id] as number;
  }

  /** Assigns a completely open cell, so that it is no longer open. */
  take(cell: Cell): void {
    const size = sizeOf(cell);
    for (let at = cell.parent; at !== null; at = at.parent) this.#add(at, -size);
    this.#clear(cell);
  }

  #clear(cell: Cell): void {
    this.#counts[cell.id] = 0;
    for (const child of cell.children) this.#clear(child);
  }
}

/**
 * Chooses whole cells on usable nodes without guaranteed work. Cells whose parent cells have the fewest open
 * accelerators come first, so that large cells stay whole.
 */
function setAside({ cells }: OwnedShape, count: number, open: Open): Cell[] {
  if (count <= 0) return [];
  const compare = (left: Cell, right: Cell): number => {
    let [a, b] = [left.parent, right.parent];
    for (; a !== null && b !== null && a !== b; a = a.parent, b = b.parent) {
      const difference = open.in(a) - open.in(b);
      if (difference !== 0) return difference;
    }
    return left.id - right.id;
  };
  const whole = cells.filter((cell) => open.in(cell) === sizeOf(cell));
  const chosen = whole.toSorted(compare).slice(0, count);
  for (const cell of chosen) open.take(cell);
  return chosen;
}
