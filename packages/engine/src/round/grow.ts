/**
 * Elastic gangs grow into capacity that other requests left, without delaying protected starts: one worker at a time,
 * or by the steps of their throughput curves.
 */
import { growthCount, compareSteps, growthSteps, throughputMilli, minWorkersOf, mayEvict } from "@headroom/model";
import type { GrowthStep, GangSpec } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";
import { findBesideStarts } from "../placement/backfill/beside-starts.ts";
import { expectedEndMs } from "../usage/expected-duration.ts";
import { growingAttempt, wholeNeeded } from "../cluster/request.ts";
import type { Placement } from "../cluster/request.ts";
import { classesInTurn, isClosed, markRejected, roundOrder } from "../ordering/round-order.ts";
import { findPlacement } from "../placement/place.ts";
import { start } from "../transitions/start.ts";
import { HeldForOrders, mayHoldForOrders } from "../placement/backfill/held-for-orders.ts";
import { keepReservations, reservationsOf } from "../placement/backfill/reservations.ts";
import type { PlacementRequest } from "../cluster/placement-request.ts";
import { headOrder } from "../cluster/head-order.ts";
import type { CompareClasses } from "../cluster/head-order.ts";

export function growLast(batch: Batch): void {
  const { world, nowMs } = batch;
  if (world.rules.elastic.grow !== "last" || !world.queue.growsAny) return;
  if (mayHoldForOrders(world.rules, world.state, nowMs)) keepReservations(world, new HeldForOrders(world, nowMs).all());
  const growing = classesInTurn(world, [...world.queue.growthClasses()]);
  const order = roundOrder(world, growing, growthOrder(world));
  for (let bucket = order.first(); bucket !== null; bucket = order.first()) {
    const step = isClosed(world, bucket) ? null : placeStep(batch, bucket);
    order.drop(bucket);
    if (step === null) {
      // A request that fits except for a protected start is tried again in every round, so it is not marked as
      // rejected.
      if (reservationsOf(world).length === 0) markRejected(world, bucket);
      continue;
    }
    const more = world.queue.growthOf(start(batch, step.bucket, step.placement));
    if (more !== undefined) order.add(more);
  }
}

/**
 * Whether a gang could still grow in this round beside the protected starts. It may be a running gang, or a gang that
 * may start in this round.
 */
export function mayGrowYet({ rules, queue, capacity, state }: World): boolean {
  if (rules.elastic.grow !== "last") return false;
  // If nominations are withdrawn, elastic gangs may start.
  if (queue.growthClasses().next().done !== true || (mayEvict(rules) && !rules.eviction.leastVictims)) return true;
  for (const { workloadId } of state.nominations.values()) {
    const gang = state.workloads.get(workloadId)?.spec.gang;
    if (gang === undefined || isElastic(gang)) return true;
  }
  return queue
    .waitingClasses()
    .some(
      (bucket) =>
        isElastic(bucket.request.gang) &&
        capacity
          .acceptable(bucket.request.acceleratorTypes)
          .some(({ freeCount }) => freeCount >= wholeNeeded(bucket.request)),
    );
}

const isElastic = (gang: GangSpec): boolean => gang.taskGroups !== undefined || minWorkersOf(gang) < gang.workers;

interface PlacedStep {
  readonly bucket: QueueBucket;
  readonly placement: Placement;
}

/** Places the requested step of growth. If it does not fit, places the best smaller step of the throughput curve. */
function placeStep(batch: Batch, bucket: QueueBucket): PlacedStep | null {
  const { world } = batch;
  const placement = placeBesideReservations(batch, bucket);
  if (placement !== null) return { bucket, placement };
  const { workers = [] } = growingAttempt(world, bucket.request) ?? {};
  const has = workers.length;
  if (world.rules.elastic.by === "order" || has < minWorkersOf(bucket.request.gang)) return null;
  for (const { workers: more } of growthSteps(bucket.request.spec, has, growthCount(bucket.request.spec, workers))) {
    if (more >= bucket.request.workers) continue;
    const other = new QueueBucket(bucket.request.with({ workers: more }), bucket.waiting);
    const place = placeBesideReservations(batch, other);
    if (place !== null) return { bucket: other, placement: place };
  }
  return null;
}

/** A placement that delays no protected start. A new worker is assumed to run as long as its gang. */
function placeBesideReservations({ world, nowMs }: Batch, bucket: QueueBucket): Placement | null {
  const reservations = reservationsOf(world);
  const growing = growingAttempt(world, bucket.request);
  if (reservations.length === 0 || growing === null) return findPlacement(world, bucket.request);
  const { spec } = bucket.request;
  // At least one millisecond from now: work past its expected end may end at any moment.
  const endMs = Math.max(nowMs + 1, expectedEndMs(world.rules, growing, spec));
  const starts = reservations.filter(({ startMs }) => startMs < endMs);
  return findBesideStarts(world, bucket.request, starts);
}

function growthOrder(world: World): CompareClasses {
  const inQueue = headOrder(world);
  if (world.rules.elastic.by === "order") return inQueue;
  return (left, right) =>
    compareSteps(stepOf(world, right.request), stepOf(world, left.request)) || inQueue(left, right);
}

/**
 * The value of a step of growth. A gang below its minimum makes no progress without the missing workers, so their value
 * is the highest.
 */
function stepOf({ state }: World, { gang, grows, workers }: PlacementRequest): GrowthStep {
  const has = grows === null ? 0 : (state.attempts.get(grows)?.workers.length ?? 0);
  if (has < minWorkersOf(gang)) return { workers: 1, gainMilli: Number.MAX_SAFE_INTEGER };
  return { workers, gainMilli: throughputMilli(gang, has + workers) - throughputMilli(gang, has) };
}
