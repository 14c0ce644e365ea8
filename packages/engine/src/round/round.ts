/**
 * A round follows after the inputs of a batch were applied. It handles changes caused by time, then nominations, then
 * the phases of the policy in its order. Each phase can be called alone. If nothing has changed, a round only looks at
 * the timers and at the buckets that are not rejected.
 */
import type { Phase } from "@headroom/model";
import { settle } from "../apply/apply.ts";
import type { Batch } from "../batch/batch.ts";
import { reservationsOf } from "../placement/backfill/reservations.ts";
import type { Reservation } from "../placement/backfill/reservations.ts";
import { defragment } from "./defragment.ts";
import { freeCapacity } from "../preemption/pipeline.ts";
import { endBackOffs, expire } from "./expire.ts";
import { keepPipelines } from "./keep-pipelines.ts";
import { keepCapacityOrders } from "../lifecycle/capacity-orders.ts";
import { keepProposals, scoreProposals } from "./keep-proposals.ts";
import { continueStops } from "../lifecycle/stop-tasks.ts";
import { keepRollouts } from "./keep-rollouts.ts";
import { stopSurplusReplicas } from "./surplus-replicas.ts";
import { keepStartWindows } from "./keep-start-windows.ts";
import { growLast } from "./grow.ts";
import { placeWaiting } from "./place-waiting.ts";
import { roundStrategy, strategyPhases } from "../strategies/registry.ts";
import { finishRemovals, requeueForRemoval } from "./finish-removals.ts";
import { replaceLost } from "./replace-lost.ts";
import { keepNominations } from "../transitions/nominations.ts";
import { keepHotSpares, mayHaveHotSpares } from "./keep-hot-spares.ts";
import { giveUpOrders, keepBursts } from "./keep-bursts.ts";

const phases: { readonly [Name in Phase]: (batch: Batch) => void } = {
  place: placeWaiting,
  consolidate: (batch) => freeCapacity(batch, "migrated"),
  reclaim: (batch) => freeCapacity(batch, "reclaimed"),
  preempt: (batch) => freeCapacity(batch, "preempted"),
  defragment,
  grow: growLast,
  ...strategyPhases,
};

/**
 * Larger than the number of phases that any real round runs. Phases that still record events at this number continue in
 * the next round.
 */
const TURNS_MAX = 100;

/** Larger than the number of times that a round ends work by itself. The next round does the rest. */
const PIPELINE_TURNS_MAX = 3;

/**
 * Repeats the phases until none records an event. One phase may make another one possible, and the work would otherwise
 * wait for an unrelated event.
 */
function takeTurns(batch: Batch, named: readonly Phase[]): void {
  let idleCount = 0;
  // A node that becomes empty may become a hot spare, and degraded gangs may have waited for one.
  const turns: readonly (Phase | "hotSpares")[] = mayHaveHotSpares(batch.world) ? [...named, "hotSpares"] : named;
  for (let turn = 0; turn < TURNS_MAX && idleCount < turns.length && !batch.isOver; turn++) {
    const { placesLeft } = batch;
    const { length } = batch.events;
    const reservations = reservationsOf(batch.world);
    const phase = turns[turn % turns.length] as Phase | "hotSpares";
    if (phase === "hotSpares") keepHotSpares(batch);
    else phases[phase](batch);
    endBackOffs(batch);
    // After a withdrawal, the nomination no longer blocks others.
    if (batch.placesLeft !== placesLeft) keepPlaces(batch);
    if (batch.events.length > length) idleCount = 0;
    // Requests that did not fit beside the earlier protected starts may fit beside the new ones.
    else idleCount = areAlike(reservations, reservationsOf(batch.world)) ? idleCount + 1 : 1;
  }
}

/** Updates nominations and start windows. Work that lost its nomination waits again, subject to its start window. */
function keepPlaces(batch: Batch): void {
  keepNominations(batch);
  keepStartWindows(batch);
}

const areAlike = (before: readonly Reservation[], after: readonly Reservation[]): boolean =>
  before === after ||
  (before.length === after.length && before.every((each, index) => isLike(each, after[index] as Reservation)));

/**
 * Whether two protected starts have the same time and placement. The first comparison suffices for an unchanged one,
 * which is the same object.
 */
function isLike(left: Reservation, right: Reservation): boolean {
  if (left === right) return true;
  const [ours, theirs] = [left.placement.workers, right.placement.workers];
  return (
    left.workloadId === right.workloadId &&
    left.startMs === right.startMs &&
    left.endMs === right.endMs &&
    ours.length === theirs.length &&
    ours.every((own, at) => {
      const other = theirs[at];
      return own.node === other?.node && own.accelerators === other.accelerators && own.slice === other.slice;
    })
  );
}

function takePhases(batch: Batch): void {
  const { phases: named } = batch.world.rules;
  const strategy = roundStrategy(batch.world);
  if (strategy === null) takeTurns(batch, named);
  else {
    strategy.takeTurns(batch, named, (phase) => {
      phases[phase](batch);
      endBackOffs(batch);
    });
  }
}

export function runRound(batch: Batch): void {
  settle(batch.world);
  batch.world.calendar.nowMs = batch.nowMs;
  batch.world.decayedUsage.nowMs = batch.nowMs;
  continueStops(batch);
  if (!batch.hasRound) {
    batch.endRound();
    return;
  }
  expire(batch);
  keepRollouts(batch);
  stopSurplusReplicas(batch);
  requeueForRemoval(batch);
  endBackOffs(batch);
  replaceLost(batch);
  keepStartWindows(batch);
  keepPlaces(batch);
  finishRemovals(batch);
  keepCapacityOrders(batch);
  giveUpOrders(batch);
  keepProposals(batch);
  keepHotSpares(batch);
  keepPipelines(batch);
  takePhases(batch);
  // An attempt can end in a phase, and with it a step of a pipeline.
  for (let again = 0; batch.world.pipelines.isDue && again < PIPELINE_TURNS_MAX && !batch.isOver; again++) {
    keepPipelines(batch);
    takePhases(batch);
  }
  keepHotSpares(batch);
  scoreProposals(batch);
  keepBursts(batch);
  batch.endRound();
  batch.world.queue.dropEmptyClasses();
}
