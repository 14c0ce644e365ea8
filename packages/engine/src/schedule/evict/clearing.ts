/** Nodes that could be cleared: who is on them, and what it costs until another worker has room. */
import type { Batch } from "../../batch.ts";
import type { NodeId } from "../../model/ids.ts";
import type { NodeSlot } from "../../state/node-slot.ts";
import type { PlacementClass } from "../../state/queue.ts";
import { SortedList } from "../../state/sorted-list.ts";
import { acceptableTypes } from "../request.ts";
import type { Leaver } from "./leavers.ts";
import { hasRight } from "./search.ts";
import type { Search } from "./search.ts";
import { acceleratorsOfUnit } from "./victim-order.ts";

/** A node, and who could leave it. */
export interface Occupied {
  readonly slot: NodeSlot;
  /** Of its type in the order of preference. */
  readonly typeRank: number;
  /** Whose team may have to give. */
  readonly leavers: Leaver[];
  /** Who may only move. */
  readonly movers: Leaver[];
}

interface Cost {
  /** Accelerators of those who would have to move: what they hold is theirs by right. */
  readonly moving: number;
  readonly cost: number;
}

type Clearing = Occupied & Cost;

/** Who of them is on which node that the request may have. */
export function occupiedNodes(
  { world }: Batch,
  found: PlacementClass,
  { leavers, movers }: Pick<Occupied, "leavers" | "movers">,
): readonly Occupied[] {
  const types = acceptableTypes(world, found).map(({ type }) => type);
  const nodes = new Map<NodeId, Occupied>();
  const onNodes = (list: readonly Leaver[], role: "leavers" | "movers"): void => {
    for (const leaver of list) {
      const { attempt, keeps, upTo } = leaver;
      for (const id of new Set(attempt.workers.slice(keeps, upTo).map(({ node }) => node))) {
        const slot = world.capacity.slot(id);
        const typeRank = types.indexOf(slot.node.acceleratorType);
        if (!slot.usable || typeRank < 0) continue;
        const known = nodes.get(id) ?? { slot, typeRank, leavers: [], movers: [] };
        known[role].push(leaver);
        nodes.set(id, known);
      }
    }
  };
  onNodes(leavers, "leavers");
  onNodes(movers, "movers");
  return [...nodes.values()];
}

/**
 * Clears the nodes one by one for another worker of the request each, first those where least stays by right, then those that cost
 * least, until `isDone`. What is taken for several workers stays taken. False: there is no further node to clear.
 */
export function clearInTurn(batch: Batch, asked: Clearance, isDone: (cleared: Occupied) => boolean): boolean {
  const { takings } = asked.search;
  const open = new SortedList<Clearing>(
    (left, right) =>
      left.moving - right.moving ||
      left.cost - right.cost ||
      left.typeRank - right.typeRank ||
      left.slot.position - right.slot.position,
  );
  const count = (node: Occupied): void => {
    const cost = takings.tentatively(() => clear(batch, asked, node));
    if (cost !== null) open.insert({ ...node, ...cost });
  };
  for (const node of asked.nodes) count(node);
  for (let best = open.first(); best !== undefined; best = open.first()) {
    open.remove(best);
    // What was taken elsewhere may have made it dearer: another may be the best by now.
    const known = best;
    const cost = takings.tentatively(() => clear(batch, asked, known));
    if (cost === null) continue;
    if (cost.moving > best.moving || (cost.moving === best.moving && cost.cost > best.cost)) {
      open.insert({ ...best, ...cost });
      continue;
    }
    const clearBest = (): boolean => {
      clear(batch, asked, known);
      return isDone(known);
    };
    // One worker lies on one node: what others would leave does not help.
    const isAlone = asked.found.workers === 1;
    if (takings.tentatively(clearBest, (done) => done || !isAlone)) return true;
    if (!isAlone) count(best);
  }
  return false;
}

export interface Clearance {
  readonly search: Search;
  /** For whom the nodes are cleared. */
  readonly found: PlacementClass;
  readonly nodes: readonly Occupied[];
}

/** Takes of one node until another worker has room, those first who may be asked to leave; `null`: it never has. */
function clear(batch: Batch, { search, found }: Clearance, { slot, leavers, movers }: Occupied): Cost | null {
  const { takings, costOf } = search;
  const { gang, workers } = found;
  const before = slot.workersThatFit(gang, workers, "coming");
  const isCleared = (): boolean => slot.workersThatFit(gang, workers, "coming") > before;
  let cost = 0;
  for (const leaver of leavers) {
    if (!hasRight(batch, search, leaver) || !takings.take(leaver)) continue;
    cost += costOf(leaver);
    if (isCleared()) return { moving: 0, cost };
  }
  let moving = 0;
  for (const mover of movers) {
    if (!takings.take(mover)) continue;
    cost += costOf(mover);
    moving += acceleratorsOfUnit(mover);
    if (isCleared()) return { moving, cost };
  }
  return null;
}
