/**
 * Protected starts. A blocked request gets a reservation at the earliest time and place at which it fits, by the
 * expected ends of running work. Requests behind it in the queue may start earlier only if they end before the
 * reservation begins or use other capacity. One reservation gives EASY backfill, one for each of the first requests
 * gives conservative backfill (Mu'alem and Feitelson, IEEE TPDS 2001).
 */
import { needsPart } from "@headroom/model";
import type { WorkloadId, Workload, WorkerAllocation } from "@headroom/model";
import type { NodeSlot } from "../../cluster/node-slot.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import { bookedSequenceOf } from "../../cluster/world.ts";
import { Slot } from "../../cluster/scratch.ts";
import { plannedStagingMs } from "../../cluster/transfers.ts";
import type { World } from "../../cluster/world.ts";
import { findPlacement } from "../place.ts";
import { isHeldByLimit } from "../could-ever.ts";
import { acceptableTypes, isInGroups, wholeNeeded } from "../../cluster/request.ts";
import type { Placement } from "../../cluster/request.ts";
import { ReleasingRoom } from "../releasing-room.ts";
import { creditsUntil } from "./credits.ts";
import { ExpectedEnds } from "./expected-completions.ts";
import { FreeOverTime } from "./free-over-time.ts";
import { IndexesAt } from "./indexes-at.ts";
import { withPowerLent } from "./power-credits.ts";

export interface Reservation {
  readonly workloadId: WorkloadId;
  readonly bucket: QueueBucket;
  readonly placement: Placement;
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * The result of a search for a protected start, with the inputs of the search. It is reused until an allocation, a
 * nomination, a definition or an earlier protected start changes, or the time reaches an expected end. New queue entries
 * do not invalidate it.
 */
interface LookedFor {
  readonly bookedSequence: number;
  readonly nowMs: number;
  readonly bucket: QueueBucket;
  readonly head: Workload;
  readonly reservation: Reservation | null;
  readonly durationMs: number;
}

const lookedForStarts = new Slot<LookedFor[]>(() => [], { survivesUndo: false });

/** Protected starts found by the last round that searched for them. */
const protectedStarts = new Slot<readonly Reservation[]>(() => [], { survivesUndo: false });
export const reservationsOf = (world: World): readonly Reservation[] => world.scratch.get(protectedStarts);
export const keepReservations = (world: World, list: readonly Reservation[]): void =>
  world.scratch.set(protectedStarts, list);

/** Planned time in ms for which a start now holds its accelerators: the transfer of its inputs, and its run time. */
export const heldMs = (world: World, { request }: Pick<QueueBucket, "request">): number =>
  request.durationMs + (request.isGrowth ? 0 : plannedStagingMs(world, request.spec, request.given));

/** Expected future capacity; recomputed after each start. */
interface Forecast {
  /** Accelerators of each type that are free now. */
  readonly idle: ReadonlyMap<string, number>;
  readonly ends: ExpectedEnds;
  readonly indexes: IndexesAt;
  /** `null` until the first reservation is searched. */
  free: FreeOverTime | null;
  /** The cached result of `idleMost`. `beside` is the number of reservations when it was computed. */
  idleMost: { readonly durationMs: number; readonly beside: number; readonly count: number } | null;
}

/** Returns whether a node has free accelerators for a worker but may lack cores, memory or worker slots. */
function mayLackCredit(slot: NodeSlot, { gang }: PlacementRequest): boolean {
  if (!needsPart(gang) && gang.taskGroups === undefined && slot.freeCount < gang.accelerators) return false;
  const { coresMilli, memoryMib } = gang;
  return gang.taskGroups !== undefined || slot.workersThatFit({ accelerators: 0, coresMilli, memoryMib }, 1) === 0;
}

function mostIdle(types: readonly { readonly freeCount: number }[]): number {
  let most = 0;
  for (const { freeCount } of types) most = Math.max(most, freeCount);
  return most;
}

export class Reservations {
  readonly #world: World;
  readonly #nowMs: number;
  #forecast: Forecast | null = null;
  /** Protected starts in order of time. */
  readonly #list: Reservation[] = [];
  readonly #most: number;
  /**
   * Buckets whose starts are not protected until another request could delay them. It is `null` if each start is
   * protected at once.
   */
  readonly #due: QueueBucket[] | null;
  /** Number of requests for which a protected start was searched. */
  #askedCount = 0;

  /** If `isPutOff` is true, a start is protected only when another request could delay it. */
  constructor(world: World, nowMs: number, isPutOff: boolean) {
    const { backfill } = world.rules;
    this.#world = world;
    this.#nowMs = nowMs;
    this.#most = backfill.protectedStarts;
    this.#due = isPutOff ? [] : null;
  }

  get list(): readonly Reservation[] {
    return this.#list;
  }

  /**
   * True if `protect` would reserve nothing now: the maximum number of reservations is reached, or reservations are
   * deferred until another request could delay them.
   */
  get isComplete(): boolean {
    return this.#due !== null || this.#list.length >= this.#most;
  }

  /** Upper bound of the idle accelerators of any one type that are available to work of this duration or longer. */
  idleMost(durationMs: number): number {
    if (this.#list.length === 0) return mostIdle(this.#world.capacity.acceptable([]));
    const forecast = this.#look();
    if (forecast.idleMost?.durationMs !== durationMs || forecast.idleMost.beside !== this.#list.length) {
      forecast.indexes.stand(this.#nowMs, this.#nowMs + durationMs, this.#list);
      const count = mostIdle(this.#world.capacity.allTypes);
      forecast.idleMost = { durationMs, beside: this.#list.length, count };
      forecast.indexes.restoreUse();
    }
    return forecast.idleMost.count;
  }

  /** A placement that delays no protected start. */
  findPlacement(bucket: QueueBucket): Placement | null {
    const placement = this.#findBeside(bucket);
    if (this.#due === null || this.#due.length === 0) return placement;
    // A request that does not fit now does not fit with more protected starts either. Task groups are an exception,
    // because they are placed greedily.
    if (placement === null && !isInGroups(bucket.request)) return null;
    this.protectDue();
    return this.#findBeside(bucket);
  }

  #findBeside(bucket: QueueBucket): Placement | null {
    const world = this.#world;
    if (this.#list.length === 0) return findPlacement(world, bucket.request);
    const { idle, indexes } = this.#look();
    const needed = wholeNeeded(bucket.request);
    if (!acceptableTypes(world, bucket.request).some(({ type }) => (idle.get(type) as number) >= needed)) return null;
    const untilMs = this.#nowMs + heldMs(this.#world, bucket);
    indexes.stand(this.#nowMs, untilMs, this.#list);
    return withPowerLent(
      world,
      this.#look().ends,
      { starts: this.#list, untilMs },
      () => findPlacement(world, bucket.request) ?? this.#findOnCredit(bucket.request, untilMs),
    );
  }

  /**
   * Like `findPlacement`, but with credits (`credits.ts`): capacity that protected starts do not need before running
   * work releases it. The indexes must be in their current state.
   */
  #findOnCredit(request: PlacementRequest, untilMs: number): Placement | null {
    const world = this.#world;
    const { capacity } = world;
    const isShort = ({ node }: WorkerAllocation): boolean => mayLackCredit(capacity.slot(node), request);
    if (!this.#list.some(({ startMs, placement }) => startMs < untilMs && placement.workers.some(isShort))) return null;
    const credits = creditsUntil(world, this.#look().ends, this.#list, untilMs);
    if (credits.size === 0) return null;
    for (const [node, credit] of credits) capacity.lend(node, credit, 1);
    try {
      return findPlacement(world, request);
    } finally {
      for (const [node, credit] of credits) capacity.lend(node, credit, -1);
    }
  }

  /**
   * Returns whether a protected start begins before the request would end. Only then may reservations block the
   * request.
   */
  concern(bucket: QueueBucket): boolean {
    const [first] = this.#list;
    return first !== undefined && first.startMs < this.#nowMs + heldMs(this.#world, bucket);
  }

  /** Removes all tentative bookings. Must be called before an event is recorded. */
  release(): void {
    this.#forecast?.indexes.restore();
  }

  /** Restores the current team usage, which quotas and queue order read. */
  releaseUse(): void {
    this.#forecast?.indexes.restoreUse();
  }

  /** Discards the forecast after an event. There must be no tentative bookings. */
  forget(): void {
    this.#forecast = null;
  }

  /**
   * Protects the earliest start of the bucket's first request, unless the maximum number of protected starts is reached
   * or only a quota blocks the request.
   */
  protect(bucket: QueueBucket): void {
    if (this.#due !== null) this.#due.push(bucket);
    else if (this.#list.length < this.#most && !isHeldByLimit(this.#world, bucket.request)) this.reserve(bucket);
  }

  /** Protects the deferred starts. No event may have been recorded since they were deferred. */
  protectDue(): void {
    if (this.#due === null) return;
    for (const bucket of this.#due.splice(0)) {
      if (this.#list.length >= this.#most) return;
      this.releaseUse();
      if (!isHeldByLimit(this.#world, bucket.request)) this.reserve(bucket);
    }
    this.releaseUse();
  }

  /**
   * Protects the earliest start of the bucket's first request. Returns false if no expected end of running work lets it
   * start.
   */
  reserve(bucket: QueueBucket): boolean {
    const reservation = this.#reservationFor(bucket, bucket.waiting.first() as Workload);
    if (reservation === null) return false;
    const after = this.#list.findIndex((other) => other.startMs > reservation.startMs);
    this.#list.splice(after < 0 ? this.#list.length : after, 0, reservation);
    this.#forecast?.free?.reserve(reservation);
    return true;
  }

  #reservationFor(bucket: QueueBucket, head: Workload): Reservation | null {
    const lookedFor = this.#world.scratch.get(lookedForStarts);
    const bookedSequence = bookedSequenceOf(this.#world);
    const nowMs = this.#nowMs;
    const position = this.#askedCount++;
    const known = lookedFor[position];
    const durationMs = heldMs(this.#world, bucket);
    const isKnown = known?.bookedSequence === bookedSequence && this.#expectsTheSame(known.nowMs);
    if (isKnown && known.bucket === bucket && known.head === head && known.durationMs === durationMs)
      return known.reservation;
    const start = this.#earliestStart(bucket, durationMs);
    const reservation =
      start === null ? null : { ...start, workloadId: head.id, bucket, endMs: start.startMs + durationMs };
    lookedFor.splice(position, lookedFor.length, { bookedSequence, nowMs, bucket, head, durationMs, reservation });
    return reservation;
  }

  /** Whether no expected end lies between `thenMs` and now. Then the same ends are expected, at the same instants. */
  #expectsTheSame(thenMs: number): boolean {
    return thenMs === this.#nowMs || (this.#world.completions.first() ?? Number.POSITIVE_INFINITY) > this.#nowMs;
  }

  /**
   * The first expected end of running work at which the request fits for its whole duration beside the other
   * reservations.
   */
  #earliestStart(
    bucket: QueueBucket,
    durationMs: number,
  ): { readonly placement: Placement; readonly startMs: number } | null {
    const world = this.#world;
    const forecast = this.#look();
    if (forecast.free === null) {
      forecast.indexes.restore();
      forecast.free = new FreeOverTime(world, forecast.ends, this.#list);
    }
    const { indexes } = forecast;
    let room: ReleasingRoom | null = null;
    try {
      for (const startMs of forecast.free.startsAfter(this.#nowMs, bucket.request, durationMs)) {
        indexes.stand(startMs, startMs + durationMs, this.#list);
        if (room !== null && !room.suffices) continue;
        const placement = world.calendar.at(startMs, () => findPlacement(world, bucket.request, "eventual"));
        if (placement !== null) return { placement, startMs };
        // The next instant will probably not suffice either. From here on, the workers that fit are counted from the
        // changes between instants, which is cheaper than a search.
        room ??= this.#counted(bucket, indexes);
      }
    } finally {
      indexes.watch = null;
    }
    return null;
  }

  /** Counts the workers that fit on each node, and updates the counts as the indexes move forward in time. */
  #counted(bucket: QueueBucket, indexes: IndexesAt): ReleasingRoom {
    const room = new ReleasingRoom(this.#world, bucket.request);
    indexes.watch = (workers) => room.changed(workers);
    return room;
  }

  /** Builds the forecast when it is first needed. There must be no tentative bookings. */
  #look(): Forecast {
    if (this.#forecast === null) {
      const world = this.#world;
      const ends = new ExpectedEnds(world, this.#nowMs);
      const idle = new Map(world.capacity.allTypes.map(({ type, freeCount }) => [type, freeCount]));
      this.#forecast = { idle, ends, indexes: new IndexesAt(world, ends), free: null, idleMost: null };
    }
    return this.#forecast;
  }
}
