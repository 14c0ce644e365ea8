/** Who may have to leave for a beneficiary, in the order in which they are asked: what is lost for nobody first, then the cheapest. */
import type { Batch } from "../../batch.ts";
import type { TeamName } from "../../model/ids.ts";
import { throughputMilli } from "../../model/throughput.ts";
import { minWorkersOf } from "../../model/workload.ts";
import type { Attempt, EvictionReason, Workload } from "../../model/workload.ts";
import { workloadOf } from "../../state/entities.ts";
import { canResize } from "../../state/holdings.ts";
import type { PlacementClass } from "../../state/queue.ts";
import { acceptableTypes } from "../request.ts";
import { evictionCost } from "./eviction-cost.ts";
import { isEvictable, isOnAny, mayPreempt } from "./rights.ts";
import type { VictimUnit } from "./victim-order.ts";

export interface Leaver extends VictimUnit {
  /** Work that would be lost. */
  readonly cost: number;
  /** What its gang gets done less, by its curve, in thousandths of a worker; 0 where the policy does not ask. */
  readonly slowerMilli: number;
}

interface Asked {
  readonly beneficiary: PlacementClass;
  readonly reason: EvictionReason;
  /** Whether a team holds more than it may claim, so that something may be reclaimed from it. */
  isOver(team: TeamName): boolean;
}

export interface Leavers {
  /** In an order that no time changes. */
  readonly steady: readonly Leaver[];
  readonly cheapest: readonly Leaver[];
}

/** Evictable work that the beneficiary may have a right to: workers beyond what their gang needs, one by one, then gangs whole. */
export function leaversFor(batch: Batch, { beneficiary, reason, isOver }: Asked): Leavers {
  const { world } = batch;
  const head = beneficiary.waiting.first() as Workload;
  const types = new Set(acceptableTypes(world, beneficiary).map(({ type }) => type));
  const spare: Leaver[] = [];
  const whole: Leaver[] = [];
  for (const [team, attempts] of world.evictable) {
    if ((team === beneficiary.team) !== (reason === "preempted")) continue;
    if (reason === "reclaimed" && !isOver(team)) continue;
    for (const attempt of attempts) {
      if (!isEvictable(batch, attempt) || !isOnAny(world, attempt, types)) continue;
      const workload = workloadOf(world, attempt.workloadId);
      if (reason === "preempted" && !mayPreempt(beneficiary, head, workload)) continue;
      const core = coreOf(batch, workload, attempt);
      spare.push(...spareOf(batch, { attempt, workload, promise: null, keeps: core, upTo: attempt.workers.length }));
      const cost = evictionCost(world, attempt, batch.nowMs);
      whole.push({ attempt, workload, promise: null, keeps: 0, upTo: core, cost, slowerMilli: 0 });
    }
  }
  spare.sort(steadily);
  whole.sort(steadily);
  const byCost = (left: Leaver, right: Leaver): number =>
    left.workload.spec.priority - right.workload.spec.priority || left.cost - right.cost || steadily(left, right);
  return { steady: [...spare, ...whole], cheapest: [...spare, ...whole.toSorted(byCost)] };
}

/** Whose gang misses it least, then the last placed first, of a gang its last worker. */
const steadily = (left: Leaver, right: Leaver): number =>
  left.workload.spec.priority - right.workload.spec.priority ||
  left.slowerMilli - right.slowerMilli ||
  right.attempt.placedSequence - left.attempt.placedSequence ||
  right.keeps - left.keeps;

/**
 * Workers beyond the core, the last first. A worker is not asked before those behind it, so it is as dear as the dearest of them: a
 * curve may fall again.
 */
function spareOf({ world }: Batch, { attempt, workload, keeps: core, upTo }: VictimUnit): Leaver[] {
  const { gang } = workload.spec;
  const leavers: Leaver[] = [];
  let slowerMilli = 0;
  for (let keeps = upTo - 1; keeps >= core; keeps--) {
    if (world.rules.elastic.by === "throughput")
      slowerMilli = Math.max(slowerMilli, throughputMilli(gang, keeps + 1) - throughputMilli(gang, keeps));
    leavers.push({ attempt, workload, promise: null, keeps, upTo: keeps + 1, cost: 0, slowerMilli });
  }
  return leavers;
}

/** How many workers leave only together: all, where the gang cannot be smaller. */
function coreOf({ world }: Batch, { spec }: Workload, attempt: Attempt): number {
  const { length } = attempt.workers;
  const least = minWorkersOf(spec.gang);
  return least < length && canResize(world.state, attempt) ? least : length;
}
