/**
 * Placement in HiveD cells: each worker gets accelerators of one node in the smallest cell that holds them, near the
 * other workers of its job. Guaranteed work uses only cells of its team, and only if the cells of the other teams can
 * still be assigned. All other work is opportunistic and may be evicted for guaranteed work.
 */
import { needsFraction, workerWithFraction } from "@headroom/model";
import type { TeamName, WorkerAllocation } from "@headroom/model";
import { isGuaranteed, isGuaranteedOpportunistic } from "./guaranteed.ts";
import { around, sizeOf } from "./cell-tree.ts";
import type { Cell, CellTree } from "./cell-tree.ts";
import { cellTreeOf, derivedFrom } from "./cells.ts";
import { acceleratorSetOf } from "../../cluster/node-slot.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import type { DomainBudget } from "../../placement/place-constrained.ts";
import { growingAttempt } from "../../cluster/request.ts";
import {
  bestOf,
  guaranteedWorkers,
  isAsGood,
  isOpenTo,
  layouts,
  ownerOf,
  shapesOn,
  staysAsGood,
  workerOf,
} from "./ownership.ts";
import type { GuaranteedWorker, Layout, OwnedShape } from "./ownership.ts";
import { Room } from "./room.ts";
import type { Picked } from "./room.ts";
import type { CandidateRequest } from "../../placement/strategy.ts";

export const isPlacedInCells = ({ gang }: PlacementRequest): boolean => gang.accelerators > 0;

/**
 * Returns whether the request uses its team's reserved topology. The priority decides, but growth of an opportunistic
 * job does not use it.
 */
export function isGuaranteedRequest(world: World, request: PlacementRequest): boolean {
  const { rules } = world;
  // Reserved topology does not support gangs with task groups. The request of a single task group has a gang without
  // groups, so its group is checked.
  if (request.group !== null) return false;
  const growing = growingAttempt(world, request);
  const { spec } = request;
  return growing === null ? isGuaranteed(rules, spec) : isGuaranteedOpportunistic(rules, spec, growing);
}

export function placeInCells(
  world: World,
  request: PlacementRequest,
  asked: CandidateRequest,
): readonly WorkerAllocation[] | null {
  const tree = cellTreeOf(world, asked.type);
  if (!isGuaranteedRequest(world, request)) {
    // Non-preemptible work must not use capacity that is guaranteed to other teams.
    if (!request.isPreemptible) return null;
    return new CellPlacing(world, request, { ...asked, tree, own: null }).place();
  }
  const owner = ownerOf(world, request.team);
  if (owner === null) return null;
  const owning = owningOn(world, tree, asked);
  const before = bestOf(owning.layouts);
  const ways = owning.layouts
    .map((layout): OwnedLayout => ({ owner, ...owning, layout, before, choice: "free" }))
    .filter((own) => roomLeft(own) >= request.workers * request.gang.accelerators);
  // Any free cell is usually safe. If a free cell turns out to be one that another team needs, each further choice is
  // checked. As the last resort, the cells set aside for the team always suffice for its reserved topology.
  const unsafe = new Set<OwnedLayout>();
  for (const choice of ["free", "checked", "setAside"] as const) {
    for (const own of ways) {
      if (choice === "checked" ? !unsafe.has(own) : choice === "setAside" && !isAsGood(own.layout, before)) continue;
      const placed = new CellPlacing(world, request, { ...asked, tree, own: { ...own, choice } }).place();
      if (placed !== null && isSafe(tree, own, placed)) return placed;
      if (placed !== null) unsafe.add(own);
    }
  }
  return null;
}

interface Owning extends Pick<OwnedLayout, "reservedTopology" | "workers"> {
  readonly layouts: readonly Layout[];
}

/** Ownership and usage of cells, cached until the next event, because every waiting request needs them. */
function owningOn(world: World, tree: CellTree, { type, relabelled }: CandidateRequest): Owning {
  const make = (): Owning => {
    const reservedTopology = shapesOn(world, tree, type.type);
    const workers = guaranteedWorkers(world, tree, type, relabelled ?? new Set());
    return { reservedTopology, workers, layouts: [...layouts(tree, reservedTopology, workers)] };
  };
  return (relabelled?.size ?? 0) > 0 ? make() : derivedFrom(world, tree, make);
}

/**
 * Upper bound of the accelerators that the team owns and does not use. It makes most searches for cells unnecessary.
 */
function roomLeft({ owner, reservedTopology, workers }: OwnedLayout): number {
  let room = 0;
  for (const { owner: other, shape } of reservedTopology) if (other === owner) room += shape.count * shape.accelerators;
  for (const { owner: other, leaves } of workers) if (other === owner) room -= leaves.length;
  return room;
}

const isSafe = (tree: CellTree, own: OwnedLayout, placed: readonly WorkerAllocation[]): boolean =>
  staysAsGood(tree, own, [...own.workers, ...placed.map((worker) => workerOf(tree, own.owner, worker))]);

/** Maximum number of rejected cells. After that only the cells set aside for the team are tried. */
const UNSAFE_CELLS_MAX = 8;

/** Cells that a guaranteed request may use. */
interface OwnedLayout {
  readonly owner: TeamName;
  readonly reservedTopology: readonly OwnedShape[];
  readonly workers: readonly GuaranteedWorker[];
  /** `layout` is the layout that the placement modifies, `before` is the best layout before the placement. */
  readonly layout: Layout;
  readonly before: Layout;
  /**
   * `free`: any open cell. `checked`: any cell that the other teams can spare, checked one by one. `setAside`: only the
   * cells set aside for the team.
   */
  readonly choice: "free" | "checked" | "setAside";
}

interface PlacingRequest extends CandidateRequest {
  readonly tree: CellTree;
  readonly own: OwnedLayout | null;
}

/** A cell that may hold a worker. */
interface Region {
  readonly cell: Cell;
  readonly owned: OwnedShape | null;
  /** True if the cell already contains guaranteed work of its team. */
  readonly isBound: boolean;
  readonly isReserved: boolean;
}

interface Spot {
  readonly region: Region;
  readonly slot: NodeSlot;
  readonly leaves: readonly number[];
  /** Sort keys. Spots are compared key by key, and the smaller one is better. */
  readonly rank: readonly number[];
}

class CellPlacing {
  readonly #request: PlacementRequest;
  readonly #tree: CellTree;
  readonly #own: OwnedLayout | null;
  readonly #room: Room;
  readonly #spread: DomainBudget;
  #regions: Region[];
  /** Number of cells of each shape that the request may still take. */
  readonly #left = new Map<OwnedShape, number>();
  /** Cells that contain accelerators of the job. */
  readonly #near = new Set<Cell>();
  /** Number of workers that the gang may still grow by. */
  #wanted: number;
  readonly #placed: WorkerAllocation[] = [];
  #unsafeCount = 0;

  constructor(world: World, request: PlacementRequest, { candidates, layer, spreadOver, tree, own }: PlacingRequest) {
    this.#request = request;
    this.#tree = tree;
    this.#own = own;
    this.#room = new Room(tree, { candidates, layer, gang: request.gang });
    this.#spread = spreadOver();
    const growing = growingAttempt(world, request);
    for (const worker of growing?.workers ?? []) {
      const node = tree.nodeCells.get(worker.node);
      if (node !== undefined && worker.accelerators !== "") this.#keepNear(workerOf(tree, request.team, worker).cell);
    }
    this.#wanted = Math.max(request.workers, request.gang.workers - (growing?.workers.length ?? 0));
    for (const owned of own?.reservedTopology ?? [])
      this.#left.set(owned, owned.shape.count - (own?.layout.bound.get(owned)?.length ?? 0));
    this.#regions =
      own === null
        ? tree.nodes.map((cell) => ({ cell, owned: null, isBound: true, isReserved: false }))
        : regionsOf(tree, own);
  }

  #keepNear(cell: Cell): void {
    for (const at of around(cell)) this.#near.add(at);
  }

  place(): readonly WorkerAllocation[] | null {
    while (this.#placed.length < this.#request.workers) {
      const spot = this.#bestSpot();
      if (spot === null) return null;
      if (!this.#isAllowed(spot)) {
        const isLast = ++this.#unsafeCount === UNSAFE_CELLS_MAX;
        const remains = (region: Region): boolean =>
          region !== spot.region && (!isLast || region.isBound || region.isReserved);
        this.#regions = this.#regions.filter(remains);
        continue;
      }
      this.#take(spot);
    }
    return this.#placed;
  }

  #bestSpot(): Spot | null {
    let best: Spot | null = null;
    // Completely free nodes of the same kind are interchangeable, so only the first is tried.
    const seen = new Set<string>();
    for (const region of this.#regions) {
      if (!region.isBound && region.owned !== null && (this.#left.get(region.owned) ?? 0) === 0) continue;
      if (this.#room.freeIn(region.cell) < this.#request.gang.accelerators) continue;
      for (const container of containersIn(region.cell)) {
        const kind = this.#room.isWhole(container) ? this.#kindOf(region, container) : null;
        if (kind !== null && seen.has(kind)) continue;
        const spot = this.#spotIn(region, container);
        if (spot !== null && kind !== null) seen.add(kind);
        if (spot !== null && (best === null || isBefore(spot.rank, best.rank))) best = spot;
      }
    }
    return best;
  }

  #kindOf({ isBound, isReserved, owned }: Region, container: Cell): string {
    const parent = container.parent ?? container;
    const slot = container.slot as NodeSlot;
    const groups = slot.node.acceleratorGroups?.join() ?? "";
    return `${isBound}|${isReserved}|${owned?.shape.within ?? ""}|${sizeOf(container)}|${groups}|${this.#room.freeIn(parent)}|${this.#distance(container)}`;
  }

  #spotIn(region: Region, container: Cell): Spot | null {
    const slot = container.slot as NodeSlot;
    if (!this.#room.hasWorkerFree(slot) || this.#spread.left(slot) === 0) return null;
    const inNarrow = this.#room.pick(this.#narrowed(container));
    const needsPatience = inNarrow === null || this.#room.awaited(inNarrow.leaves) > 0;
    const inAll = needsPatience ? this.#room.pick(container) : null;
    const picked = this.#sooner(inNarrow, inAll);
    if (picked === null) return null;
    const { cell, leaves } = picked;
    const parent = cell.parent ?? cell;
    const rank = [
      this.#room.awaited(leaves),
      this.#distance(cell),
      Number(!region.isBound),
      Number(!region.isReserved),
      sizeOf(cell),
      this.#room.freeIn(cell),
      this.#room.freeIn(parent),
      this.#room.freeIn(container),
      leaves[0] as number,
    ];
    return { region, slot, leaves, rank };
  }

  /**
   * The preferred part of a node: a part with other workers of the job, or for a new job a part that holds all its
   * workers.
   */
  #narrowed(container: Cell): Cell {
    const { accelerators } = this.#request.gang;
    const isNear = this.#near.size > 0;
    const needed = isNear ? accelerators : (this.#wanted - this.#placed.length) * accelerators;
    let cell = container;
    for (let next: Cell | null = cell; next !== null;) {
      cell = next;
      next = null;
      for (const child of cell.children) {
        if (this.#room.freeIn(child) < needed || (isNear && !this.#near.has(child))) continue;
        if (next === null || this.#room.freeIn(child) < this.#room.freeIn(next)) next = child;
      }
    }
    return cell;
  }

  /** The pick with fewer accelerators that other work still uses. */
  #sooner(first: Picked | null, second: Picked | null): Picked | null {
    if (first === null || second === null) return first ?? second;
    return this.#room.awaited(second.leaves) < this.#room.awaited(first.leaves) ? second : first;
  }

  /**
   * How far the cell is from the other workers of the job: the number of accelerators in the smallest cell that
   * contains both. For a new job, it is that of the smallest cell around it that could hold all workers.
   */
  #distance(cell: Cell): number {
    const needed = (this.#wanted - this.#placed.length) * this.#request.gang.accelerators;
    for (const at of around(cell)) {
      if (this.#near.size > 0 ? this.#near.has(at) : this.#room.freeIn(at) >= needed) return sizeOf(at);
    }
    return this.#tree.leaves.length;
  }

  #isAllowed({ region, leaves }: Spot): boolean {
    const own = this.#own;
    if (own === null || region.isBound || own.choice !== "checked") return true;
    const added = [
      ...this.#placed.map((worker) => workerOf(this.#tree, own.owner, worker)),
      { owner: own.owner, leaves, cell: this.#tree.enclosing(leaves) },
    ];
    return staysAsGood(this.#tree, own, [...own.workers, ...added]);
  }

  #take({ region, slot, leaves }: Spot): void {
    const part = this.#room.give(slot, leaves);
    this.#spread.take(slot, 1);
    this.#keepNear(this.#tree.enclosing(leaves));
    const indices = leaves.map((leaf) => this.#tree.indices[leaf] as number);
    const { gang } = this.#request;
    this.#placed.push(
      needsFraction(gang)
        ? workerWithFraction(gang, slot.node, indices[0] as number)
        : { node: slot.node.id, accelerators: acceleratorSetOf(indices), ...part },
    );
    if (region.isBound || region.owned === null) return;
    this.#left.set(region.owned, (this.#left.get(region.owned) as number) - 1);
    // Cells that contain the new cell, or that it contains, no longer count as separate cells of the team.
    const { first, end } = region.cell;
    const others = this.#regions.filter(({ cell, isBound }) => isBound || cell.end <= first || cell.first >= end);
    this.#regions = [...others, { ...region, isBound: true }];
  }
}

/** The cells of the team's reserved topology that contain its work, and the cells that could hold more of its work. */
function regionsOf(tree: CellTree, { owner, reservedTopology, workers, layout, choice }: OwnedLayout): Region[] {
  const holder: (TeamName | null)[] = tree.leaves.map(() => null);
  for (const worker of workers) for (const leaf of worker.leaves) holder[leaf] = worker.owner;
  const taken = new Uint8Array(tree.leaves.length);
  for (const cells of layout.bound.values()) for (const { first, end } of cells) taken.fill(1, first, end);
  const regions: Region[] = [];
  for (const owned of reservedTopology) {
    if (owned.owner !== owner) continue;
    const bound = new Set(layout.bound.get(owned));
    const reserved = new Set(layout.reserved.get(owned));
    for (const cell of owned.cells) {
      const isBound = bound.has(cell);
      if (choice === "setAside" && !isBound && !reserved.has(cell)) continue;
      if (isBound || (bound.size < owned.shape.count && isOpenTo(cell, owner, { holder, taken })))
        regions.push({ cell, owned, isBound, isReserved: reserved.has(cell) });
    }
  }
  return regions;
}

/** The parts of a cell by node, because a worker runs on one node. */
function* containersIn(cell: Cell): Generator<Cell> {
  if (cell.slot !== null) yield cell;
  else for (const child of cell.children) yield* containersIn(child);
}

function isBefore(left: readonly number[], right: readonly number[]): boolean {
  for (let at = 0; at < left.length; at++) {
    const difference = (left[at] as number) - (right[at] as number);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
