/**
 * Elastic gangs grow into what is left when all else was served, out of the way of protected starts: by one worker at a time, or by
 * the steps of their curves.
 */
import type { Batch } from "../batch/batch.ts";
import { growthCount } from "../model/slices.ts";
import { growthSteps } from "../model/throughput.ts";
import { minWorkersOf } from "../model/workload.ts";
import type { GangSpec, Workload } from "../model/workload.ts";
import { mayEvict } from "../policy/rules.ts";
import { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";
import { findBesideStarts } from "../placement/backfill/beside-starts.ts";
import { expectedEndMs } from "../usage/expected-duration.ts";
import type { Placement } from "../cluster/request.ts";
import { growingAttempt, wholeNeeded } from "../cluster/request.ts";
import { growthOrder } from "../ordering/growth-order.ts";
import { classesInTurn, isClosed, capacityEpochOf, roundOrder } from "../ordering/round-order.ts";
import { findPlacement } from "../placement/place.ts";
import { start } from "../transitions/start.ts";
import { reservationsOf } from "../placement/backfill/reservations.ts";

export function growLast(batch: Batch): void {
  const { world } = batch;
  if (world.rules.elastic.grow !== "last" || !world.queue.growsAny) return;
  const growing = classesInTurn(world, [...world.queue.growthClasses()]);
  const order = roundOrder(world, growing, growthOrder(world));
  for (let found = order.first(); found !== null; found = order.first()) {
    const step = isClosed(world, found) ? null : placeStep(batch, found);
    order.drop(found);
    if (step === null) {
      // What waits for a protected start alone is asked again in every round.
      if (reservationsOf(world).length === 0) found.rejectedAtEpoch = capacityEpochOf(world);
      continue;
    }
    const more = world.queue.growthOf(start(batch, step.found, step.placement));
    if (more !== undefined) order.add(more);
  }
}

/** Whether a gang might grow yet in this round, beside the starts that are protected: one that runs, or that may start at once in it. */
export function mayGrowYet({ rules, queue, capacity, state }: World): boolean {
  if (rules.elastic.grow !== "last") return false;
  // Promises that make way for others may let those be kept.
  if (queue.growthClasses().next().done !== true || (mayEvict(rules) && rules.eviction.search !== "lowest-cost"))
    return true;
  for (const { workloadId } of state.nominations.values()) {
    const gang = state.workloads.get(workloadId)?.spec.gang;
    if (gang === undefined || isElastic(gang)) return true;
  }
  return queue
    .waitingClasses()
    .some(
      (found) =>
        isElastic(found.gang) &&
        capacity.acceptable(found.acceleratorTypes).some(({ freeCount }) => freeCount >= wholeNeeded(found)),
    );
}

const isElastic = (gang: GangSpec): boolean => gang.taskGroups !== undefined || minWorkersOf(gang) < gang.workers;

interface PlacedStep {
  readonly found: QueueBucket;
  readonly placement: Placement;
}

/** The step that it asks for; where there is no room for that, the best of the other steps of its curve. */
function placeStep(batch: Batch, found: QueueBucket): PlacedStep | null {
  const { world } = batch;
  const placement = placeBesideReservations(batch, found);
  if (placement !== null) return { found, placement };
  const { workers = [] } = growingAttempt(world, found) ?? {};
  const has = workers.length;
  if (world.rules.elastic.by === "order" || has < minWorkersOf(found.gang)) return null;
  for (const { workers: more } of growthSteps(found.spec, has, growthCount(found.spec, workers))) {
    if (more >= found.workers) continue;
    const options = { rules: world.rules, growth: more, grows: found.grows };
    const other = new QueueBucket(found.waiting.first() as Workload, options, found.waiting);
    const place = placeBesideReservations(batch, other);
    if (place !== null) return { found: other, placement: place };
  }
  return null;
}

/** A further worker stays as long as its gang is expected to run. */
function placeBesideReservations({ world, nowMs }: Batch, found: QueueBucket): Placement | null {
  const reservations = reservationsOf(world);
  const growing = growingAttempt(world, found);
  if (reservations.length === 0 || growing === null) return findPlacement(world, found);
  const { spec } = found;
  // Never before the next instant: what runs over its time ends at any moment.
  const endMs = Math.max(nowMs + 1, expectedEndMs(world.rules, growing, spec));
  const starts = reservations.filter(({ startMs }) => startMs < endMs);
  return findBesideStarts(world, found, starts);
}
