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
import { ReleasingRoom } from "../placement/releasing-room.ts";
import { drainCandidatesFor } from "./drain-candidates.ts";
import { isAsLarge, isStuck, mayStrangersMove, planFor } from "./evict-or-migrate.ts";
import { steadily, wholeOf } from "./victim-candidates.ts";
import type { VictimCandidate } from "./victim-candidates.ts";
import { moveLossMsMax } from "./consolidate.ts";
import type { Plan } from "./plan.ts";
import { isEvictable, isOnAny } from "./eligibility.ts";
import type { Search } from "./search.ts";

/** How often nodes are chosen anew without those who turned out to have nowhere to go. */
const CHOICES_MAX = 4;

export function findByNode(batch: Batch, search: Search): Plan | null {
  const { preemptor } = search;
  if (wholeNeeded(preemptor.request) === 0 && preemptor.request.workers > 1) return null;
  const victimCandidates = search.victimCandidates.filter(({ keeps }) => keeps === 0);
  const strangers = strangersFor(batch, search);
  const stuck: VictimCandidate[] = [];
  for (let choice = 0; choice < CHOICES_MAX; choice++) {
    const units = [
      ...victimCandidates.filter(({ attempt }) => !stuck.some((unit) => unit.attempt === attempt)),
      ...strangers.filter((unit) => !isAsLarge(unit, stuck)),
    ];
    const before = stuck.length;
    const plan = clearNodes(batch, search, { units, stuck });
    search.tentativeEvictions.returnAll();
    // One worker is tried on every node at once.
    if (plan !== null || stuck.length === before || preemptor.request.workers === 1) return plan;
  }
  return null;
}

interface Clearance {
  /** Who may leave or move. */
  readonly units: readonly VictimCandidate[];
  /** Who turned out to have nowhere to go. */
  readonly stuck: VictimCandidate[];
}

/** Clears nodes, the cheapest first, until there is a place. */
function clearNodes(batch: Batch, search: Search, { units, stuck }: Clearance): Plan | null {
  const { world } = batch;
  const { preemptor, tentativeEvictions } = search;
  const fits = (): Placement | null => findPlacement(world, preemptor.request, "releasing");
  const room = new ReleasingRoom(world, preemptor.request);
  for (const drainCandidate of drainCandidatesFor(batch, search, { bucket: preemptor, units })) {
    const leave = (): Placement | null => {
      for (const unit of drainCandidate.units) tentativeEvictions.take(unit);
      room.changed(drainCandidate.units.flatMap(({ attempt }) => attempt.workers));
      return room.suffices ? fits() : null;
    };
    // One worker lies on one node: what others would leave does not help.
    const isAlone = preemptor.request.workers === 1;
    const placement = tentativeEvictions.tentatively(leave, (found) => found !== null || !isAlone);
    if (placement === null) {
      if (isAlone) room.changed(drainCandidate.units.flatMap(({ attempt }) => attempt.workers));
      continue;
    }
    const { needed, found } = tentativeEvictions.giveBackUnless(fits, placement);
    const answer = planFor(batch, search, { placement: found, needed, stuck });
    if (isStuck(answer)) stuck.push(answer.stuck);
    else if (answer !== null) return answer;
    if (!isAlone) return null;
    // The next node may hold others.
    tentativeEvictions.returnAll();
    room.changed(needed.flatMap(({ attempt }) => attempt.workers));
  }
  return null;
}

/**
 * Work of those who hold no more than they may claim, that would never lose much: it is asked for a checkpoint before. What it would lose
 * just now does not count: whether there is a plan must not change with time.
 */
function strangersFor(batch: Batch, { preemptor, donors }: Search): VictimCandidate[] {
  const { world } = batch;
  if (!mayStrangersMove(world, preemptor)) return [];
  const own = preemptor.waiting.first();
  const types = new Set(acceptableTypes(world, preemptor.request).map(({ type }) => type));
  const found: VictimCandidate[] = [];
  for (const [team, { attempts }] of world.evictable) {
    if (donors.has(team)) continue;
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
