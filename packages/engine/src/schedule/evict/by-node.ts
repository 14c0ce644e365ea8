/**
 * The search for whoever needs several accelerators of one node, where what others hold above their claims is scattered: those who
 * cost least lie apart, and claims end before there is a place. So nodes are cleared one after the other. Who stands in the way and
 * holds its place by right moves within the plan: to what is idle, or to what others who hold too much give up for it elsewhere.
 */
import type { Batch } from "../../batch.ts";
import type { Attempt } from "../../model/workload.ts";
import { workloadOf } from "../../state/entities.ts";
import type { PlacementClass } from "../../state/queue.ts";
import type { World } from "../../state/world.ts";
import { findPlacement } from "../place.ts";
import { acceptableTypes, isInGroups } from "../request.ts";
import type { Placement } from "../request.ts";
import { RoomComing } from "../room-coming.ts";
import { clearInTurn, occupiedNodes } from "./clearing.ts";
import { evictionCost } from "./eviction-cost.ts";
import { steadily } from "./leavers.ts";
import type { Leaver } from "./leavers.ts";
import { mayMove } from "./make-room.ts";
import type { Plan } from "./plan.ts";
import { requestOf, settle, victimsOf } from "./replace.ts";
import type { Returning } from "./replace.ts";
import { isOnAny } from "./rights.ts";
import { takeByRight } from "./search.ts";
import type { Search } from "./search.ts";

export function findByNode(batch: Batch, search: Search): Plan | null {
  const { world } = batch;
  const { beneficiary, leavers, takings } = search;
  const fits = (): Placement | null => findPlacement(world, beneficiary, "coming");
  const movers = moversFor(batch, search);
  if (takings.findBeyond([...leavers, ...movers], fits) === null) return null;
  const nodes = occupiedNodes(batch, beneficiary, { leavers: [...leavers], movers });
  const room = new RoomComing(world, beneficiary);
  let plan: Plan | null = null;
  clearInTurn(batch, { search, found: beneficiary, nodes }, (cleared) => {
    for (const { attempt } of [...cleared.leavers, ...cleared.movers]) room.changed(attempt.workers);
    const placement = room.suffices ? fits() : null;
    if (placement === null) return false;
    const { needed, found } = takings.giveBackUnless(fits, placement);
    plan = planOf(batch, search, { placement: found, needed });
    return true;
  });
  return plan;
}

/** A further worker is worth no move, and a place that is forgotten after the round is none to move to. */
const isWorthMoves = ({ rules: { eviction } }: World, { isGrowth }: PlacementClass): boolean =>
  !isGrowth && eviction.promises === "kept" && eviction.movesMax !== 0;

/** Whether work of those who hold no more than they may claim moves as well: where the policy makes room by moving. */
export const mayOthersMove = (world: World, beneficiary: PlacementClass): boolean =>
  isWorthMoves(world, beneficiary) && !isInGroups(beneficiary) && world.rules.phases.includes("consolidate");

/** Who could go on elsewhere: work of those who hold too much, even what they would not have to give; and what may move for anybody. */
function moversFor(batch: Batch, { beneficiary, leavers }: Search): Leaver[] {
  const { world, nowMs } = batch;
  if (!isWorthMoves(world, beneficiary)) return [];
  const movers = leavers.filter(({ keeps }) => keeps === 0);
  if (!mayOthersMove(world, beneficiary)) return movers;
  const known = new Set<Attempt>(movers.map(({ attempt }) => attempt));
  const own = beneficiary.waiting.first();
  const others: Leaver[] = [];
  const types = new Set(acceptableTypes(world, beneficiary).map(({ type }) => type));
  for (const { attempts } of world.evictable.values())
    for (const attempt of attempts) {
      if (known.has(attempt) || attempt.workloadId === own?.id) continue;
      if (!isOnAny(world, attempt, types) || !mayMove(batch, attempt)) continue;
      const workload = workloadOf(world, attempt.workloadId);
      const cost = evictionCost(world, attempt, nowMs);
      const upTo = attempt.workers.length;
      others.push({ attempt, workload, promise: null, keeps: 0, upTo, cost, slowerMilli: 0 });
    }
  return [...movers, ...others.sort(steadily)];
}

interface Cleared {
  readonly placement: Placement;
  readonly needed: readonly Leaver[];
}

/** Who may be asked to leave does, everybody else who is needed moves; `null`: somebody has nowhere to go. */
function planOf(batch: Batch, search: Search, { placement, needed }: Cleared): Plan | null {
  const { world } = batch;
  const { beneficiary, ledger, takings } = search;
  takings.giveAllBack();
  const staying = takeByRight(batch, search, needed);
  if (staying.length === 0) return { beneficiary, placement, victims: victimsOf(needed, []) };
  if (staying.length > (world.rules.eviction.movesMax ?? Number.POSITIVE_INFINITY)) return null;
  for (const mover of staying) takings.take(mover);
  ledger.occupy(beneficiary, placement);
  const places = new Map<Attempt, Returning>();
  for (const unit of staying.toReversed()) {
    const found = requestOf(world, unit);
    const again = findPlacement(world, found, "coming") ?? placeBesideOthers(batch, search, found);
    if (again === null) return null;
    ledger.occupy(found, again);
    places.set(unit.attempt, { unit, found, placement: again });
  }
  const leaving = takings.taken.filter(({ attempt }) => !places.has(attempt));
  const returning = [
    ...leaving.map((unit): Returning => ({ unit, found: requestOf(world, unit), placement: null })),
    ...places.values(),
  ];
  const settled = settle(world, { ledger, beneficiary, placement, returning });
  takings.giveAllBack();
  // Who left for those who move was not among them when they were taken by size.
  if (settled === null || takeByRight(batch, search, leaving).length > 0) return null;
  return { beneficiary, placement: settled.placement, victims: settled.victims, moves: settled.moves };
}

/** A place for whoever moves where others who hold too much leave for it. */
function placeBesideOthers(batch: Batch, search: Search, found: PlacementClass): Placement | null {
  const nodes = occupiedNodes(batch, found, { leavers: [...search.leavers], movers: [] });
  let placement: Placement | null = null;
  clearInTurn(batch, { search, found, nodes }, () => {
    placement = findPlacement(batch.world, found, "coming");
    return placement !== null;
  });
  return placement;
}
