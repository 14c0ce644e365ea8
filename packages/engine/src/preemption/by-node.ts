/**
 * The search for whoever needs several accelerators of one node, where what others hold above their claims is scattered: those who
 * cost least lie apart, and claims end before there is a place. So whole nodes are cleared, the cheapest first; who leaves
 * for that and who moves: `leave-or-move.ts`.
 */
import type { Batch } from "../batch/batch.ts";
import { checkpointTimeoutOf } from "../policy/checkpoint-timeout.ts";
import { workloadOf } from "../cluster/entities.ts";
import { findPlacement } from "../placement/place.ts";
import { acceptableTypes, wholeNeeded } from "../cluster/request.ts";
import type { Placement } from "../cluster/request.ts";
import { RoomComing } from "../placement/room-coming.ts";
import { clearingsFor } from "./clearing.ts";
import { isAsLarge, isStuck, mayStrangersMove, planFor } from "./leave-or-move.ts";
import { steadily, wholeOf } from "./leavers.ts";
import type { Leaver } from "./leavers.ts";
import { moveLossMsMax } from "./make-room.ts";
import type { Plan } from "./plan.ts";
import { isEvictable, isOnAny } from "./rights.ts";
import type { Search } from "./search.ts";

/** How often nodes are chosen anew without those who turned out to have nowhere to go. */
const CHOICES_MAX = 4;

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

/**
 * Work of those who hold no more than they may claim, that would never lose much: it is asked for a checkpoint before. What it would lose
 * just now does not count: whether there is a plan must not change with time.
 */
function strangersFor(batch: Batch, { beneficiary, givers }: Search): Leaver[] {
  const { world } = batch;
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
      found.push(wholeOf(batch, workload, attempt));
    }
  }
  return found.sort(steadily);
}
