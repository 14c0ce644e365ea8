/**
 * Protected starts: who does not fit is given the earliest time and place at which it will, as running work is expected to
 * end; whoever starts before it in spite of coming after it ends by then or stays out of that place. With one reservation
 * that is EASY backfill, with one for all of the first it is conservative backfill (Mu'alem and Feitelson, IEEE TPDS 2001).
 */
import type { WorkloadId } from "../../model/ids.ts";
import type { Workload } from "../../model/workload.ts";
import { Ledger } from "../../state/ledger.ts";
import type { PlacementClass } from "../../state/queue.ts";
import type { World } from "../../state/world.ts";
import { findPlacement } from "../place.ts";
import { acceptableTypes } from "../request.ts";
import type { Placement } from "../request.ts";
import { expectedDurationMs } from "./expected-duration.ts";

export interface Reservation {
  readonly workloadId: WorkloadId;
  readonly found: PlacementClass;
  readonly placement: Placement;
  readonly startMs: number;
  readonly endMs: number;
}

export class Reservations {
  readonly #world: World;
  readonly #nowMs: number;
  readonly #ledger: Ledger;
  /** By start. */
  readonly #list: Reservation[] = [];
  /** How many of them the ledger holds, the first ones. */
  #heldCount = 0;

  constructor(world: World, nowMs: number) {
    this.#world = world;
    this.#nowMs = nowMs;
    this.#ledger = new Ledger(world);
  }

  get list(): readonly Reservation[] {
    return this.#list;
  }

  /** A place for the request among what nobody is promised who would need it before the request ends. */
  findPlacement(found: PlacementClass): Placement | null {
    const endMs = this.#nowMs + expectedDurationMs(this.#world, found.spec);
    this.#holdThoseBefore(endMs);
    return findPlacement(this.#world, found);
  }

  /** Whether a reservation starts before the request would end: then it is the reservations that may keep it waiting. */
  concern(found: PlacementClass): boolean {
    const endMs = this.#nowMs + expectedDurationMs(this.#world, found.spec);
    return this.#list.some(({ startMs }) => startMs < endMs);
  }

  /** What is held stays held for the next request: most of them end after the same reservations begin. */
  #holdThoseBefore(endMs: number): void {
    const count = this.#list.filter(({ startMs }) => startMs < endMs).length;
    if (count === this.#heldCount) return;
    this.release();
    for (const { found, placement } of this.#list.slice(0, count)) this.#ledger.occupy(found, placement);
    this.#heldCount = count;
  }

  /** Takes everything tentative back; done before anything is recorded. */
  release(): void {
    this.#ledger.rollback();
    this.#heldCount = 0;
  }

  /** Protects the earliest start of the head of the class; false: nothing that is expected to end lets it start. */
  reserve(found: PlacementClass): boolean {
    this.release();
    const head = found.waiting.first() as Workload;
    const durationMs = expectedDurationMs(this.#world, found.spec);
    const start = this.#earliestStart(found, durationMs);
    if (start === null) return false;
    const { placement, startMs } = start;
    const reservation = { workloadId: head.id, found, placement, startMs, endMs: startMs + durationMs };
    const after = this.#list.findIndex((other) => other.startMs > startMs);
    this.#list.splice(after < 0 ? this.#list.length : after, 0, reservation);
    return true;
  }

  /** Lets running work end in the order in which it is expected to, until the request fits for as long as it lasts. */
  #earliestStart(
    found: PlacementClass,
    durationMs: number,
  ): { readonly placement: Placement; readonly startMs: number } | null {
    const endings = this.#world.endings.inOrder();
    const reservedEnds = this.#list.map(({ endMs }) => endMs).toSorted((left, right) => left - right);
    try {
      let next = endings.next();
      for (;;) {
        const endingMs = next.done === true ? Number.POSITIVE_INFINITY : this.#notBeforeNow(next.value.endMs);
        const startMs = Math.min(endingMs, reservedEnds[0] ?? Number.POSITIVE_INFINITY);
        if (startMs === Number.POSITIVE_INFINITY) return null;
        while (next.done !== true && this.#notBeforeNow(next.value.endMs) <= startMs) {
          if (next.value.attempt.stop === null) this.#ledger.vacate(next.value.attempt, 0);
          next = endings.next();
        }
        while (reservedEnds[0] !== undefined && reservedEnds[0] <= startMs) reservedEnds.shift();
        const placement = this.#placementAt(found, startMs, durationMs);
        if (placement !== null) return { placement, startMs };
      }
    } finally {
      this.#ledger.rollback();
    }
  }

  #notBeforeNow(endMs: number): number {
    return Math.max(endMs, this.#nowMs + 1);
  }

  /** A place among what is free then and stays so, as far as reservations go. */
  #placementAt(found: PlacementClass, startMs: number, durationMs: number): Placement | null {
    const world = this.#world;
    const needed = found.gang.shareMilli === undefined ? found.workers * found.gang.accelerators : 0;
    if (!acceptableTypes(world, found).some(({ freeCount, comingCount }) => freeCount + comingCount >= needed))
      return null;
    const mark = this.#ledger.mark();
    for (const other of this.#list)
      if (other.startMs < startMs + durationMs && other.endMs > startMs)
        this.#ledger.occupy(other.found, other.placement);
    const placement = world.calendar.at(startMs, () => findPlacement(world, found, "later"));
    this.#ledger.rollback(mark);
    return placement;
  }
}
