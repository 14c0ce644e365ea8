/**
 * The placing phase of a round: starts requests in the policy's order while they fit. Requests of one bucket fit or
 * fail together, and capacity only shrinks within a round, so a rejected bucket is not tried again until capacity is
 * freed. The cost of a round thus depends on changes, not on the length of the queue.
 */
import { heedsHead } from "@headroom/model";
import type { AttemptId, Workload } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { WaitingLines } from "../cluster/waiting-lines.ts";
import type { World } from "../cluster/world.ts";
import { HeldForOrders, mayHoldForOrders } from "../placement/backfill/held-for-orders.ts";
import { keepReservations, Reservations, reservationsOf } from "../placement/backfill/reservations.ts";
import type { Reservation } from "../placement/backfill/reservations.ts";
import {
  heedsClosed,
  isClosed,
  capacityEpochOf,
  markRejected,
  queueOrder,
  waitingOrder,
} from "../ordering/round-order.ts";
import type { RoundOrder } from "../ordering/round-order.ts";
import { couldEverFit, isHeldByLimit } from "../placement/could-ever.ts";
import { mayGrowYet } from "./grow.ts";
import { findPlacement } from "../placement/place.ts";
import { placeOnHotSpares, takeHotSpares } from "../placement/place-on-hot-spares.ts";
import type { PlacementOnHotSpares } from "../placement/place-on-hot-spares.ts";
import { isInGroups, needsNothing, wholeNeeded } from "../cluster/request.ts";
import { start } from "../transitions/start.ts";
import { placementStrategy } from "../placement/strategy.ts";
import { roundStrategy } from "../strategies/registry.ts";
import { askForMore, listClasses } from "../placement/classes-in-line.ts";

const NOTHING_RESERVED: readonly Reservation[] = [];

export function placeWaiting(batch: Batch): void {
  const { world } = batch;
  const { queue } = world;
  if (!queue.hasRequests) {
    keepReservations(world, NOTHING_RESERVED);
    return;
  }
  const isClean = queue.isClean(capacityEpochOf(world)) && !world.decayedUsage.hasSteppedSince(queue.cleanAtMs);
  if (isClean && !hasOverrun(world, batch.nowMs)) return;
  const { size } = world.capacity.hotSpares;
  const isFinal = startWhatFits(batch);
  if (batch.isOver) return;
  // Work was placed on a hot spare, which is now an ordinary node. Rejected requests may fit beside that work.
  if (world.capacity.hotSpares.size < size) return placeWaiting(batch);
  if (isFinal) queue.markClean(capacityEpochOf(world), batch.nowMs);
}

/** Whether an attempt is past its expected end. Protected starts then move later as time passes. */
function hasOverrun({ completions }: World, nowMs: number): boolean {
  const expectedMs = completions.first();
  return expectedMs !== null && expectedMs <= nowMs;
}

/** Whether the usage of teams or users affects the queue order. */
const takesTurns = ({ rules }: World): boolean => rules.teams.order.length > 0 || rules.order.includes("user");

/**
 * Starts the requests that fit. Returns false if every bucket must be checked again, because a start may have changed
 * the answer for a rejected one: it may change the head of the queue, move protected starts, leave capacity that suits
 * task groups (which are placed greedily), or open a hot spare to other requests.
 */
function startWhatFits(batch: Batch): boolean {
  const { world, nowMs } = batch;
  const hotSpareCount = world.capacity.hotSpares.size;
  const { whenHeadBlocked, backfill } = world.rules;
  const reservations = backfill.protectedStarts === 0 ? null : new Reservations(world, nowMs, batch.isCounterfactual);
  const held = mayHoldForOrders(world.rules, world.state, nowMs) ? new HeldForOrders(world, nowMs) : null;
  const lines = linesToAsk(batch);
  const asking = lines === null ? classesToAsk(world) : [];
  const least = lines === null ? leastOf(world, asking) : leastIn(lines);
  const order = orderOf(world, lines, asking);
  let isFinal = true;
  let hasStarted = false;
  let isBlocked = false;
  let mayFindRoomYet = false;
  const free = new FreeStarts(batch);
  for (;;) {
    // Requests that need more than all idle accelerators need not be tried once no further start gets protection.
    const isProtected = reservations?.isComplete ?? true;
    const room = isProtected && least !== null ? roomFor(world, reservations, least) : Number.POSITIVE_INFINITY;
    if (least !== null && room < least.accelerators) break;
    const head = order.first(reservations === null || whenHeadBlocked === "stop" ? undefined : room);
    if (head === null) break;
    const started = isClosed(world, head) ? null : placeFrom(batch, head, { reservations, held });
    batch.asked(head, started !== null);
    if (batch.isOver) break;
    if (started !== null) {
      hasStarted = true;
      isFinal &&= !mayFindRoomYet && (reservations === null || reservations.list.length === 0);
      order.served(head);
      askForMore(world, order, started);
      if (free.isEnough(head)) order.drop(head);
      continue;
    }
    mayFindRoomYet ||= !isSureToStayOut(world, head);
    reservations?.releaseUse();
    // A request whose team is at its limit blocks no other request. Neither does a growth request.
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
  // A start that changed held places may have left room for a request that was refused before it.
  if (held?.isOutdated === true && !batch.isOver && !free.isCut) {
    startWhatFits(batch);
    return false;
  }
  keepReservations(world, reservations?.list ?? held?.list ?? NOTHING_RESERVED);
  if (free.isCut) batch.cut();
  // In a counterfactual run, protected starts that were not computed yet also block other requests.
  const isHeldUp = isBlocked || reservationsOf(world).length > 0 || (batch.isCounterfactual && reservations !== null);
  if (hasStarted && isHeldUp && takesTurns(world)) return false;
  // Requests that fit beside nothing held are tried in every round until the ordered nodes have come.
  if (held?.hasBlocked === true) return false;
  return isFinal && world.capacity.hotSpares.size === hotSpareCount;
}

/** Starts of tasks that need nothing, by bucket, in one round. */
class FreeStarts {
  #counts: Map<QueueBucket, number> | null = null;
  readonly #max: number;
  isCut = false;

  /**
   * No capacity ends the starts of such tasks, and other work loses nothing to them. So one bucket starts only a part of
   * the bound of a round, and other buckets get their turn.
   */
  constructor({ startsMax }: Batch) {
    this.#max = startsMax / 16;
  }

  /** Counts a start. Returns whether the bucket has started enough tasks in this round and has more of them. */
  isEnough(bucket: QueueBucket): boolean {
    if (!needsNothing(bucket.request) || bucket.waiting.length === 0) return false;
    this.#counts ??= new Map();
    const count = (this.#counts.get(bucket) ?? 0) + 1;
    this.#counts.set(bucket, count);
    this.isCut ||= count >= this.#max;
    return count >= this.#max;
  }
}

/** The smallest number of whole accelerators of any request, and the shortest duration of any request. */
interface SmallestRequest {
  readonly accelerators: number;
  readonly durationMs: number;
}

/** The smallest request of these buckets. `null` if it is unknown, because further requests may join in this round. */
function leastOf(world: World, classes: readonly QueueBucket[]): SmallestRequest | null {
  if (world.rules.elastic.grow === "in-order") return null;
  // Gangs that lost workers may use hot spares even if nothing else is idle.
  if (world.capacity.hotSpares.size > 0 && classes.some(({ request }) => request.lostWorkers > 0)) return null;
  let accelerators = Number.POSITIVE_INFINITY;
  let durationMs = Number.POSITIVE_INFINITY;
  for (const { request } of classes) {
    accelerators = Math.min(accelerators, wholeNeeded(request));
    durationMs = Math.min(durationMs, request.durationMs);
  }
  return { accelerators, durationMs };
}

const leastIn = ({ acceleratorsMin, durationMinMs }: WaitingLines): SmallestRequest => ({
  accelerators: acceleratorsMin,
  durationMs: durationMinMs,
});

/**
 * Upper bound of the whole accelerators of one type that any of the requests could still get. Without reservations only the
 * comparison with the smallest request matters.
 */
function roomFor(
  { capacity }: World,
  reservations: Reservations | null,
  { accelerators, durationMs }: SmallestRequest,
): number {
  if (reservations !== null) return reservations.idleMost(durationMs);
  if (accelerators === 0) return Number.POSITIVE_INFINITY;
  for (const { freeCount } of capacity.allTypes) if (freeCount >= accelerators) return freeCount;
  return 0;
}

/** The order in which this round asks the waiting requests. */
const orderOf = (world: World, lines: WaitingLines | null, asking: QueueBucket[]): RoundOrder =>
  lines === null ? queueOrder(world, asking) : waitingOrder(world, lines, couldEverFit);

/** The lines of the queue, if a round may walk along them: see `WaitingOrder`. */
function linesToAsk({ world, isCounterfactual }: Batch): WaitingLines | null {
  const { queue, rules, capacity } = world;
  const { lines } = queue;
  // Hot spares change which requests the fleet could hold while the round places work.
  if (lines === null || isCounterfactual || capacity.hotSpares.size > 0) return null;
  return roundStrategy(world) === null && rules.fabric.placedBy === null ? lines : null;
}

/**
 * Buckets to check. If the head blocks others, these are all buckets that the fleet could hold. Otherwise they are the
 * buckets that are not known to be rejected.
 */
function classesToAsk(world: World): QueueBucket[] {
  const { rules } = world;
  // The head must be known if it blocks others or gets a protected start.
  if (heedsHead(rules)) return listClasses(world, "all");
  const open = listClasses(world, "open");
  return heedsClosed(world, open) ? listClasses(world, "all") : open;
}

/** The bucket whose head ends the round if it does not fit. `null` if the policy does not stop at a blocked head. */
export function blockingClass(world: World): QueueBucket | null {
  const order = queueOrder(world, listClasses(world, "all"));
  for (let head = order.first(); head !== null; head = order.first()) {
    if (!head.request.isGrowth && !isHeldByLimit(world, head.request)) return head;
    order.drop(head);
  }
  return null;
}

/** Capacity that a request must leave free. */
interface KeptFree {
  readonly reservations: Reservations | null;
  readonly held: HeldForOrders | null;
}

/**
 * Starts the next task of the bucket's first workload, or returns `null` if it does not fit. If only capacity is
 * missing, the bucket is marked as rejected.
 */
function placeFrom(batch: Batch, bucket: QueueBucket, { reservations, held }: KeptFree): AttemptId | null {
  const { world } = batch;
  const fits = reservations === null ? findPlacement(world, bucket.request) : reservations.findPlacement(bucket);
  const placement = fits === null || held === null ? fits : held.beside(bucket, fits);
  if (placement === null && fits !== null) return null;
  const place = placement === null ? onHotSpares(world, bucket, reservations) : { placement, taken: [] };
  if (place !== null) {
    reservations?.release();
    reservations?.forget();
    held?.started({ bucket, workers: place.placement.workers, isBeside: placement !== null });
    if (place.taken.length > 0) takeHotSpares(batch, (bucket.waiting.first() as Workload).id, place);
    return start(batch, bucket, place.placement);
  }
  const nominated = roundStrategy(world)?.placeLater(batch, bucket) ?? null;
  if (nominated !== null) {
    const { workers = [] } = world.state.nominations.get(nominated) ?? {};
    held?.started({ bucket, workers, isBeside: false });
    return nominated;
  }
  // A request that fits except for a protected start is tried in every round: the protected request may start without
  // any capacity being freed.
  if (isSureToStayOut(world, bucket) && (reservations === null || !reservations.concern(bucket)))
    markRejected(world, bucket);
  return null;
}

/** A placement that uses hot spares, for a request that lost workers with their nodes. */
function onHotSpares(
  world: World,
  bucket: QueueBucket,
  reservations: Reservations | null,
): PlacementOnHotSpares | null {
  if (bucket.request.lostWorkers === 0 || world.capacity.hotSpares.size === 0) return null;
  // Forecasts of capacity exclude hot spares, so they are discarded before and after the search.
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
 * Whether a rejected request stays rejected after other work has taken more capacity. This is not certain for requests
 * with a placement strategy: it chooses fabric domains by how full they are, and on fuller nodes it may choose a domain
 * that fits.
 */
const isSureToStayOut = (world: World, { request }: QueueBucket): boolean =>
  request.isGrowth || (!isInGroups(request) && placementStrategy(world, request) === null);
