/**
 * The placing phase of a round: starts requests in the policy's order while they fit. Requests of one bucket fit or
 * fail together, and capacity only shrinks within a round, so a rejected bucket is not asked again until capacity is
 * freed: the cost follows what may have changed, not the length of the queue.
 */
import type { Batch } from "../batch/batch.ts";
import type { AttemptId } from "../model/ids.ts";
import type { Workload } from "../model/workload.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";
import { heedsHead } from "../policy/rules.ts";
import { keepReservations, Reservations, reservationsOf } from "../placement/backfill/reservations.ts";
import type { Reservation } from "../placement/backfill/reservations.ts";
import { heedsClosed, isClosed, capacityEpochOf, markRejected, queueOrder } from "../ordering/round-order.ts";
import { isHeldByLimit } from "../placement/could-ever.ts";
import { mayGrowYet } from "./grow.ts";
import { findPlacement } from "../placement/place.ts";
import { placeOnHotSpares, takeHotSpares } from "../placement/place-on-hot-spares.ts";
import type { PlacementOnHotSpares } from "../placement/place-on-hot-spares.ts";
import { isInGroups, wholeNeeded } from "../cluster/request.ts";
import { nomination, start } from "../transitions/start.ts";
import { placementStrategy } from "../placement/strategy.ts";
import { askForMore, listClasses } from "../placement/classes-in-line.ts";

const NOTHING_RESERVED: readonly Reservation[] = [];

export function placeWaiting(batch: Batch): void {
  const { world } = batch;
  const { queue } = world;
  if (!queue.hasRequests) {
    keepReservations(world, NOTHING_RESERVED);
    return;
  }
  const isClean = queue.isClean(capacityEpochOf(world)) && !world.decayedUsage.hasMovedSince(queue.cleanAtMs);
  if (isClean && !hasOverrun(world, batch.nowMs)) return;
  const { size } = world.capacity.hotSpares;
  const isFinal = startWhatFits(batch);
  if (batch.isOver) return;
  // A used spare is an ordinary node: rejected requests may fit beside its new work.
  if (world.capacity.hotSpares.size < size) return placeWaiting(batch);
  if (isFinal) queue.markClean(capacityEpochOf(world), batch.nowMs);
}

/** Whether something was expected to end by now and did not: then protected starts move on with time. */
function hasOverrun({ completions }: World, nowMs: number): boolean {
  const expectedMs = completions.first();
  return expectedMs !== null && expectedMs <= nowMs;
}

/** Whether usage affects the order. */
const takesTurns = ({ rules }: World): boolean => rules.teams.order.length > 0 || rules.order.includes("user");

/**
 * False: everything must be checked again. If teams take turns, a start may change the head. Starts behind protected
 * starts may have changed those, and task groups, which are placed greedily, may find a place. A used spare is open to
 * requests asked before.
 */
function startWhatFits(batch: Batch): boolean {
  const { world, nowMs } = batch;
  const hotSpareCount = world.capacity.hotSpares.size;
  const { whenHeadBlocked, backfill } = world.rules;
  const reservations = backfill.reserve === "none" ? null : new Reservations(world, nowMs, batch.isCounterfactual);
  const asking = classesToAsk(world);
  const least = leastOf(world, asking);
  const order = queueOrder(world, asking);
  let isFinal = true;
  let hasStarted = false;
  let isBlocked = false;
  let mayFindRoomYet = false;
  for (let head = order.first(); head !== null; head = order.first()) {
    // No request could start, and no further start is to be protected.
    const isProtected = reservations?.isComplete ?? true;
    if (isProtected && least !== null && isFull(world, reservations, least)) break;
    const started = isClosed(world, head) ? null : placeFrom(batch, head, reservations);
    batch.asked(head, started !== null);
    if (batch.isOver) break;
    if (started !== null) {
      hasStarted = true;
      isFinal &&= !mayFindRoomYet && (reservations === null || reservations.list.length === 0);
      order.served(head);
      askForMore(world, order, started);
      continue;
    }
    mayFindRoomYet ||= !isSureToStayOut(world, head);
    reservations?.releaseUse();
    // A team at its limit blocks only itself, and growth requests block no other request.
    if (!head.request.isGrowth) {
      if (whenHeadBlocked === "stop" && !isHeldByLimit(world, head.request)) {
        isBlocked = true;
        break;
      }
      reservations?.protect(head);
      reservations?.releaseUse();
    }
    order.drop(head);
  }
  if (batch.isCounterfactual && mayGrowYet(world)) reservations?.protectDue();
  reservations?.release();
  keepReservations(world, reservations?.list ?? NOTHING_RESERVED);
  // In a counterfactual run, deferred protected starts also block others.
  const isHeldUp = isBlocked || reservationsOf(world).length > 0 || (batch.isCounterfactual && reservations !== null);
  if (hasStarted && isHeldUp && takesTurns(world)) return false;
  return isFinal && world.capacity.hotSpares.size === hotSpareCount;
}

/** The minimum over all requests: whole accelerators of one type, and duration. */
interface SmallestRequest {
  readonly accelerators: number;
  readonly durationMs: number;
}

/** `null`: others may join them. */
function leastOf(world: World, classes: readonly QueueBucket[]): SmallestRequest | null {
  if (world.rules.elastic.grow === "in-order") return null;
  // If nothing else is idle, gangs that lost workers may still use spares.
  if (world.capacity.hotSpares.size > 0 && classes.some(({ request }) => request.lostWorkers > 0)) return null;
  let accelerators = Number.POSITIVE_INFINITY;
  let durationMs = Number.POSITIVE_INFINITY;
  for (const { request } of classes) {
    accelerators = Math.min(accelerators, wholeNeeded(request));
    durationMs = Math.min(durationMs, request.durationMs);
  }
  return { accelerators, durationMs };
}

/** Whether no request fits, however small. */
function isFull(
  { capacity }: World,
  reservations: Reservations | null,
  { accelerators, durationMs }: SmallestRequest,
): boolean {
  if (accelerators === 0) return false;
  if (reservations !== null) return reservations.idleMost(durationMs) < accelerators;
  for (const { freeCount } of capacity.allTypes) if (freeCount >= accelerators) return false;
  return true;
}

/** Classes that have to be looked at: where the head blocks, all that the fleet could hold; else those not known to be closed. */
function classesToAsk(world: World): QueueBucket[] {
  const { rules } = world;
  // The head must be known if it blocks others or gets a protected start.
  if (heedsHead(rules)) return listClasses(world, "all");
  const open = listClasses(world, "open");
  return heedsClosed(world, open) ? listClasses(world, "all") : open;
}

/** Under a blocking policy: the bucket whose head ends the round unless it fits; `null`: none blocks. */
export function blockingClass(world: World): QueueBucket | null {
  const order = queueOrder(world, listClasses(world, "all"));
  for (let head = order.first(); head !== null; head = order.first()) {
    if (!head.request.isGrowth && !isHeldByLimit(world, head.request)) return head;
    order.drop(head);
  }
  return null;
}

/**
 * Starts the next task of the bucket's first workload; `null`: it does not fit, and the bucket is marked clean if only
 * capacity is missing.
 */
function placeFrom(batch: Batch, bucket: QueueBucket, reservations: Reservations | null): AttemptId | null {
  const { world } = batch;
  const placement = reservations === null ? findPlacement(world, bucket.request) : reservations.findPlacement(bucket);
  const viaHotSpares = placement === null ? onHotSpares(world, bucket, reservations) : null;
  const place = placement ?? viaHotSpares?.placement ?? null;
  if (place !== null) {
    reservations?.release();
    reservations?.forget();
    if (viaHotSpares !== null) takeHotSpares(batch, (bucket.waiting.first() as Workload).id, viaHotSpares);
    return start(batch, bucket, place);
  }
  const nominated = nominateReleasing(batch, bucket);
  if (nominated !== null) return nominated;
  // Requests that wait only for a reservation are asked again in every round: the protected request may start without
  // any capacity being freed.
  if (isSureToStayOut(world, bucket) && (reservations === null || !reservations.concern(bucket)))
    markRejected(world, bucket);
  return null;
}

/**
 * Where nominations last for a round, a request that fits on idle and releasing capacity together is nominated there, so that no
 * later request of the round takes its part. KAI-Scheduler pipelines such pods in its allocate action.
 */
function nominateReleasing(batch: Batch, bucket: QueueBucket): AttemptId | null {
  const { world } = batch;
  if (world.rules.eviction.nominations === "kept" || world.terminating.size === 0) return null;
  const placement = findPlacement(world, bucket.request, "releasing");
  if (placement === null) return null;
  const event = batch.events.length;
  nomination(batch, bucket, placement);
  const given = batch.events[event];
  return given?.kind === "placementNominated" ? given.nomination.attemptId : null;
}

/** A place with the help of spares, for what lost workers with their nodes. */
function onHotSpares(
  world: World,
  bucket: QueueBucket,
  reservations: Reservations | null,
): PlacementOnHotSpares | null {
  if (bucket.request.lostWorkers === 0 || world.capacity.hotSpares.size === 0) return null;
  // Knowledge about future capacity excludes the spares.
  const forget = (): void => {
    reservations?.release();
    reservations?.forget();
  };
  forget();
  reservations?.protectDue();
  forget();
  return placeOnHotSpares(world, bucket.request, () => {
    const placement = reservations === null ? findPlacement(world, bucket.request) : reservations.findPlacement(bucket);
    forget();
    return placement;
  });
}

/**
 * Whether a rejected request stays rejected after other work has taken more capacity. Not by a strategy of its own: the fabric
 * domains that are chosen for it need not be those in which the strategy would place it, and are others once nodes are fuller.
 */
const isSureToStayOut = (world: World, { request }: QueueBucket): boolean =>
  request.isGrowth || (!isInGroups(request) && placementStrategy(world, request) === null);
