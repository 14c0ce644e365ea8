/**
 * The search for whoever needs several accelerators of one node, where what others hold above their claims is scattered: those who
 * cost least lie apart, and claims end before there is a place. So nodes are cleared one after the other, first where least stays by
 * right and then what costs least. Who is in the way by right, but of a team that holds too much elsewhere, moves within the plan.
 */
import type { Batch } from "../../batch.ts";
import type { NodeId } from "../../model/ids.ts";
import type { Attempt } from "../../model/workload.ts";
import type { NodeSlot } from "../../state/node-slot.ts";
import type { PlacementClass } from "../../state/queue.ts";
import { SortedList } from "../../state/sorted-list.ts";
import { findPlacement } from "../place.ts";
import { acceptableTypes } from "../request.ts";
import type { Placement } from "../request.ts";
import { RoomComing } from "../room-coming.ts";
import type { Leaver } from "./leavers.ts";
import type { Plan } from "./plan.ts";
import { requestOf, settle, victimsOf } from "./replace.ts";
import type { Returning } from "./replace.ts";
import { hasRight } from "./search.ts";
import type { Search } from "./search.ts";
import { acceleratorsOfUnit } from "./victim-order.ts";
import type { VictimUnit } from "./victim-order.ts";

/** A node, with what another worker there would cost as of when that was last counted. */
interface Clearing {
  readonly slot: NodeSlot;
  readonly there: readonly Leaver[];
  /** Accelerators of those who would have to move: what they hold is theirs by right. */
  readonly moving: number;
  readonly cost: number;
}

export function findByNode(batch: Batch, asked: Search): Plan | null {
  const { world } = batch;
  const { beneficiary, leavers, takings } = asked;
  const fits = (): Placement | null => findPlacement(world, beneficiary, "coming");
  if (takings.findBeyond(leavers, fits) === null) return null;
  const room = new RoomComing(world, beneficiary);
  const open = new SortedList<Clearing>(byCost);
  const add = (slot: NodeSlot, there: readonly Leaver[]): void => {
    const counted = takings.tentatively(() => clear(batch, asked, { slot, there }));
    if (counted !== null) open.insert({ slot, there, ...counted });
  };
  for (const [slot, there] of byNode(batch, asked)) add(slot, there);
  for (let best = open.first(); best !== undefined; best = open.first()) {
    open.remove(best);
    const { slot, there } = best;
    const counted = takings.tentatively(() => clear(batch, asked, { slot, there }));
    if (counted === null) continue;
    // What was taken elsewhere may have made it dearer: another may be the best by now.
    const next = open.first();
    if (next !== undefined && byCost({ slot, there, ...counted }, next) > 0) {
      open.insert({ slot, there, ...counted });
      continue;
    }
    clear(batch, asked, { slot, there });
    room.changed(there.flatMap(({ attempt }) => attempt.workers));
    const placement = room.suffices ? fits() : null;
    if (placement !== null) {
      const { needed, found } = takings.giveBackUnless(fits, placement);
      return planOf(batch, asked, { placement: found, needed });
    }
    // One worker lies on one node: what others would leave does not help.
    if (beneficiary.workers === 1) takings.giveAllBack();
    else add(slot, there);
  }
  return null;
}

const byCost = (left: Clearing, right: Clearing): number =>
  left.moving - right.moving || left.cost - right.cost || left.slot.position - right.slot.position;

/** Who of those that may be asked to leave is on which node that the beneficiary may have. */
function byNode({ world }: Batch, { beneficiary, leavers }: Search): ReadonlyMap<NodeSlot, readonly Leaver[]> {
  const types = new Set(acceptableTypes(world, beneficiary).map(({ type }) => type));
  const found = new Map<NodeSlot, Leaver[]>();
  for (const leaver of leavers) {
    const { attempt, keeps, upTo } = leaver;
    for (const node of new Set(attempt.workers.slice(keeps, upTo).map((worker): NodeId => worker.node))) {
      const slot = world.capacity.slot(node);
      if (!slot.usable || !types.has(slot.node.acceleratorType)) continue;
      const there = found.get(slot);
      if (there === undefined) found.set(slot, [leaver]);
      else there.push(leaver);
    }
  }
  return found;
}

/** Takes of one node until another worker has room, those first who may be asked to leave; `null`: it never has. */
function clear(
  batch: Batch,
  asked: Search,
  { slot, there }: Pick<Clearing, "slot" | "there">,
): Pick<Clearing, "moving" | "cost"> | null {
  const { beneficiary, takings, costOf } = asked;
  const { gang, workers } = beneficiary;
  const before = slot.workersThatFit(gang, workers, "coming");
  const isCleared = (): boolean => slot.workersThatFit(gang, workers, "coming") > before;
  let cost = 0;
  for (const leaver of there) {
    if (!hasRight(batch, asked, leaver) || !takings.take(leaver)) continue;
    cost += costOf(leaver);
    if (isCleared()) return { moving: 0, cost };
  }
  if (movesMax(batch, beneficiary) === 0) return null;
  let moving = 0;
  for (const leaver of there) {
    if (leaver.keeps > 0 || !takings.take(leaver)) continue;
    cost += costOf(leaver);
    moving += acceleratorsOfUnit(leaver);
    if (isCleared()) return { moving, cost };
  }
  return null;
}

/** A place that is forgotten after the round is none to move to; and a further worker is worth no move. */
function movesMax({ world: { rules } }: Batch, { isGrowth }: PlacementClass): number {
  return isGrowth || rules.eviction.promises !== "kept" ? 0 : (rules.eviction.movesMax ?? Number.POSITIVE_INFINITY);
}

interface Cleared {
  readonly placement: Placement;
  readonly needed: readonly Leaver[];
}

function planOf(batch: Batch, asked: Search, { placement, needed }: Cleared): Plan | null {
  const { beneficiary, takings } = asked;
  takings.giveAllBack();
  const staying = heldByRight(batch, asked, needed);
  if (staying.size === 0) return { beneficiary, placement, victims: victimsOf(needed, []) };
  const units = wholeUnits(needed);
  if (units.some(({ attempt, keeps }) => keeps > 0 && staying.has(attempt))) return null;
  const returning = placesElsewhere(batch, asked, { placement, units, staying });
  const settled = settle(batch.world, { ledger: asked.ledger, beneficiary, placement, returning });
  takings.giveAllBack();
  if (settled === null) return null;
  const moved = new Set(settled.moves.map(({ attempt }) => attempt));
  const lost = needed.filter(({ attempt }) => !moved.has(attempt));
  if (heldByRight(batch, asked, lost).size > 0) return null;
  return { beneficiary, placement: settled.placement, victims: settled.victims, moves: settled.moves };
}

/** Work of which something may not be asked to leave once those before it have. */
function heldByRight(batch: Batch, asked: Search, leavers: readonly Leaver[]): ReadonlySet<Attempt> {
  const { takings } = asked;
  const held = new Set<Attempt>();
  for (const leaver of leavers) {
    if (held.has(leaver.attempt)) continue;
    if (hasRight(batch, asked, leaver)) takings.take(leaver);
    else held.add(leaver.attempt);
  }
  takings.giveAllBack();
  return held;
}

/** One for each attempt: all that it would give. */
function wholeUnits(needed: readonly Leaver[]): readonly VictimUnit[] {
  const units = new Map<Attempt, VictimUnit>();
  for (const { attempt, workload, keeps } of needed) {
    const least = Math.min(keeps, units.get(attempt)?.keeps ?? keeps);
    units.set(attempt, { attempt, workload, promise: null, keeps: least, upTo: attempt.workers.length });
  }
  return [...units.values()];
}

interface Leaving {
  readonly placement: Placement;
  readonly units: readonly VictimUnit[];
  readonly staying: ReadonlySet<Attempt>;
}

/**
 * Places beside the beneficiary for as much as its owners hold by right: first for what may not be asked to leave, then for others
 * whose right passes on to that, the dearest first.
 */
function placesElsewhere(
  batch: Batch,
  { beneficiary, ledger }: Search,
  { placement, units, staying }: Leaving,
): readonly Returning[] {
  const { world } = batch;
  for (const { attempt, keeps, upTo } of units) ledger.vacateWorkers(attempt, keeps, upTo);
  ledger.occupy(beneficiary, placement);
  const whole = units.filter(({ keeps }) => keeps === 0).toReversed();
  const mustMove = whole.filter(({ attempt }) => staying.has(attempt));
  let missing = mustMove.reduce((sum, unit) => sum + acceleratorsOfUnit(unit), 0);
  let left = movesMax(batch, beneficiary);
  const places = new Map<VictimUnit, Returning>();
  const moveIfPossible = (unit: VictimUnit): void => {
    const found = requestOf(world, unit);
    const again = left > 0 ? findPlacement(world, found, "coming") : null;
    if (again === null) return;
    ledger.occupy(found, again);
    places.set(unit, { unit, found, placement: again });
    missing -= acceleratorsOfUnit(unit);
    left--;
  };
  for (const unit of mustMove) moveIfPossible(unit);
  for (const unit of whole) if (missing > 0 && !places.has(unit)) moveIfPossible(unit);
  return units.map((unit) => places.get(unit) ?? { unit, found: requestOf(world, unit), placement: null });
}
