/**
 * The search for whoever needs several accelerators of one node, where what others hold above their claims is scattered: those who
 * cost least lie apart, and claims end before there is a place. So whole nodes are cleared. Who stands in the way there and holds its
 * place by right moves within the plan: to what is idle, or to what others who hold too much give up for it elsewhere.
 */
import type { Batch } from "../../batch.ts";
import type { NodeId } from "../../model/ids.ts";
import type { Attempt } from "../../model/workload.ts";
import { checkpointTimeoutOf } from "../../policy/checkpoint-timeout.ts";
import { workloadOf } from "../../state/entities.ts";
import type { PlacementClass } from "../../state/queue.ts";
import type { World } from "../../state/world.ts";
import { findPlacement } from "../place.ts";
import { acceptableTypes, isInGroups, wholeNeeded } from "../request.ts";
import type { Placement } from "../request.ts";
import { RoomComing } from "../room-coming.ts";
import { clearingsFor, merged } from "./clearing.ts";
import { evictionCost } from "./eviction-cost.ts";
import { steadily } from "./leavers.ts";
import type { Leaver } from "./leavers.ts";
import { MOVES_MAX, moveLossMsMax } from "./make-room.ts";
import type { Plan } from "./plan.ts";
import { requestOf, settle, victimsOf } from "./replace.ts";
import type { Returning } from "./replace.ts";
import { isEvictable, isOnAny } from "./rights.ts";
import { takeByRight, takeIfByRight } from "./search.ts";
import type { Search } from "./search.ts";

/** How often nodes are chosen anew without those who turned out to have nowhere to go. */
const CHOICES_MAX = 4;

/** Who would have to move and cannot. */
interface Stuck {
  readonly stuck: Leaver;
}

const isStuck = (answer: Plan | Stuck | null): answer is Stuck => answer !== null && "stuck" in answer;

export function findByNode(batch: Batch, search: Search): Plan | null {
  const { beneficiary } = search;
  if (wholeNeeded(beneficiary) === 0 && beneficiary.workers > 1) return null;
  const leavers = search.leavers.filter(({ keeps }) => keeps === 0);
  const strangers = strangersFor(batch, search);
  const stuck: Leaver[] = [];
  for (let choice = 0; choice < CHOICES_MAX; choice++) {
    const units = [
      ...leavers.filter(({ attempt }) => !stuck.some((unit) => unit.attempt === attempt)),
      ...strangers.filter((unit) => !isAsLarge(unit, stuck)),
    ];
    const before = stuck.length;
    const plan = clearNodes(batch, search, { units, stuck });
    search.takings.giveAllBack();
    // One worker is tried on every node at once.
    if (plan !== null || stuck.length === before || beneficiary.workers === 1) return plan;
  }
  return null;
}

/** Whoever is as large as one that found no place would not find one either; for single workers of a gang none was looked for. */
const isAsLarge = (unit: Leaver, stuck: readonly Leaver[]): boolean =>
  stuck.some(
    ({ attempt, workload, keeps }) =>
      keeps === 0 &&
      unit.attempt.workers.length >= attempt.workers.length &&
      unit.workload.spec.gang.accelerators >= workload.spec.gang.accelerators,
  );

interface Clearance {
  /** Who may leave or move. */
  readonly units: readonly Leaver[];
  /** Who turned out to have nowhere to go. */
  readonly stuck: Leaver[];
}

/** Clears nodes, the cheapest first, until there is a place. */
function clearNodes(batch: Batch, search: Search, { units, stuck }: Clearance): Plan | null {
  const { world } = batch;
  const { beneficiary, takings } = search;
  const fits = (): Placement | null => findPlacement(world, beneficiary, "coming");
  const room = new RoomComing(world, beneficiary);
  for (const clearing of clearingsFor(batch, search, { found: beneficiary, units })) {
    const leave = (): Placement | null => {
      for (const unit of clearing.units) takings.take(unit);
      room.changed(clearing.units.flatMap(({ attempt }) => attempt.workers));
      return room.suffices ? fits() : null;
    };
    // One worker lies on one node: what others would leave does not help.
    const isAlone = beneficiary.workers === 1;
    const placement = takings.tentatively(leave, (found) => found !== null || !isAlone);
    if (placement === null) {
      if (isAlone) room.changed(clearing.units.flatMap(({ attempt }) => attempt.workers));
      continue;
    }
    const { needed, found } = takings.giveBackUnless(fits, placement);
    const answer = planFor(batch, search, { placement: found, needed, stuck });
    if (isStuck(answer)) stuck.push(answer.stuck);
    else if (answer !== null) return answer;
    if (!isAlone) return null;
    // The next node may hold others.
    takings.giveAllBack();
    room.changed(needed.flatMap(({ attempt }) => attempt.workers));
  }
  return null;
}

/** A further worker is worth no move, and a place that is forgotten after the round is none to move to. */
const isWorthMoves = ({ rules: { eviction } }: World, { isGrowth }: PlacementClass): boolean =>
  !isGrowth && eviction.promises === "kept" && eviction.movesMax !== 0;

/** Whether work of those who hold no more than they may claim moves as well: where the policy makes room by moving. */
export const mayStrangersMove = (world: World, beneficiary: PlacementClass): boolean =>
  isWorthMoves(world, beneficiary) && !isInGroups(beneficiary) && world.rules.phases.includes("consolidate");

/**
 * Work of those who hold no more than they may claim, that would never lose much: it is asked for a checkpoint before. What it would lose
 * just now does not count: whether there is a plan must not change with time.
 */
function strangersFor(batch: Batch, { beneficiary, givers }: Search): Leaver[] {
  const { world, nowMs } = batch;
  if (!mayStrangersMove(world, beneficiary)) return [];
  const own = beneficiary.waiting.first();
  const types = new Set(acceptableTypes(world, beneficiary).map(({ type }) => type));
  const found: Leaver[] = [];
  for (const [team, { attempts }] of world.evictable) {
    if (givers.has(team)) continue;
    for (const attempt of attempts) {
      const workload = workloadOf(world, attempt.workloadId);
      const { spec } = workload;
      const timeoutMs = checkpointTimeoutOf(world.rules, spec);
      if (timeoutMs === 0 || timeoutMs + (spec.restartCostMs ?? 0) > moveLossMsMax(world)) continue;
      if (workload.id === own?.id || !isEvictable(batch, attempt) || !isOnAny(world, attempt, types)) continue;
      const cost = evictionCost(world, attempt, nowMs);
      found.push({ attempt, workload, promise: null, keeps: 0, upTo: attempt.workers.length, cost, slowerMilli: 0 });
    }
  }
  return found.sort(steadily);
}

interface Cleared {
  readonly placement: Placement;
  readonly needed: readonly Leaver[];
  /** Whoever moves is smaller than these. */
  readonly stuck?: readonly Leaver[];
}

/** Who may be asked to leave does, everybody else who is needed moves. */
export function planFor(batch: Batch, search: Search, { placement, needed, stuck = [] }: Cleared): Plan | Stuck | null {
  const { world } = batch;
  const { beneficiary, ledger, takings } = search;
  takings.giveAllBack();
  const staying = takeByRight(batch, search, merged(needed));
  if (staying.length === 0) return { beneficiary, placement, victims: victimsOf(needed, []) };
  if (!isWorthMoves(world, beneficiary)) return null;
  if (staying.length > (world.rules.eviction.movesMax ?? MOVES_MAX)) return null;
  if (staying.some((unit) => isAsLarge(unit, stuck))) return null;
  const worker = staying.find(({ keeps }) => keeps > 0);
  if (worker !== undefined) return { stuck: worker };
  for (const mover of staying) takings.take(mover);
  ledger.occupy(beneficiary, placement);
  const moving: Returning[] = [];
  for (const unit of staying) {
    const found = requestOf(world, unit);
    const again = findPlacement(world, found, "coming") ?? placeBesideOthers(batch, search, { found, placement });
    if (again === null) return { stuck: unit };
    ledger.occupy(found, again);
    moving.push({ unit, found, placement: again });
  }
  const leaving = takings.taken.filter(({ attempt }) => !staying.some((unit) => unit.attempt === attempt));
  const gone = leaving.map((unit): Returning => ({ unit, found: requestOf(world, unit), placement: null }));
  const settled = settle(world, { ledger, beneficiary, placement, returning: [...gone, ...moving] });
  takings.giveAllBack();
  // Who could stay where it is would not have had to move, nor somebody else to leave for it.
  if (settled === null || settled.moves.length < staying.length) return null;
  // Who left for those who move was not among them when they were taken by size.
  if (takeByRight(batch, search, merged(leaving)).length > 0) return null;
  return { beneficiary, placement: settled.placement, victims: settled.victims, moves: settled.moves };
}

interface Moving {
  readonly found: PlacementClass;
  /** The beneficiary's place. */
  readonly placement: Placement;
}

/** A place for whoever moves where others who hold too much leave for it: on one node, for one worker. */
function placeBesideOthers(batch: Batch, search: Search, { found, placement: kept }: Moving): Placement | null {
  const { takings } = search;
  if (found.workers > 1 || isInGroups(found)) return null;
  const taken = new Set<Attempt>(takings.taken.map(({ attempt }) => attempt));
  const mayLeave = (unit: Leaver): boolean => takings.tentatively(() => takeIfByRight(batch, search, unit));
  const whole = search.leavers.filter(({ attempt, keeps }) => keeps === 0 && !taken.has(attempt));
  const units = whole.filter((unit) => mayLeave({ ...unit, upTo: unit.attempt.workers.length }));
  const cleared = new Set<NodeId>(kept.workers.map(({ node }) => node));
  for (const clearing of clearingsFor(batch, search, { found, units })) {
    if (cleared.has(clearing.slot.node.id)) continue;
    const leave = (): Placement | null =>
      clearing.units.every((unit) => takeIfByRight(batch, search, unit))
        ? findPlacement(batch.world, found, "coming")
        : null;
    const placement = takings.tentatively(leave, (place) => place !== null);
    if (placement !== null) return placement;
  }
  return null;
}
