/**
 * Protected starts: who does not fit is given the earliest time and place at which it will, as running work is expected to
 * end; whoever starts before it in spite of coming after it ends by then or stays out of that place. With one reservation
 * that is EASY backfill, with one for all of the first it is conservative backfill (Mu'alem and Feitelson, IEEE TPDS 2001).
 */
import type { WorkloadId } from "../../model/ids.ts";
import type { Attempt, Workload } from "../../model/workload.ts";
import { Ledger } from "../../state/ledger.ts";
import type { PlacementClass } from "../../state/queue.ts";
import type { World } from "../../state/world.ts";
import { findPlacement } from "../place.ts";
import { acceptableTypes } from "../request.ts";
import type { Placement } from "../request.ts";
import { expectedDurationMs, expectedEndMs } from "./expected-end.ts";

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
  /** By start; the ledger holds the first `#held` of them. */
  readonly #list: Reservation[] = [];
  #marks: number[] = [];
  #endings: readonly { readonly attempt: Attempt; readonly endMs: number }[] | null = null;

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
    const placement = findPlacement(this.#world, found);
    this.release();
    return placement;
  }

  /** Whether a reservation starts before the request would end: then it is the reservations that may keep it waiting. */
  concern(found: PlacementClass): boolean {
    const endMs = this.#nowMs + expectedDurationMs(this.#world, found.spec);
    return this.#list.some(({ startMs }) => startMs < endMs);
  }

  #holdThoseBefore(endMs: number): void {
    for (const { found, placement, startMs } of this.#list) {
      if (startMs >= endMs) break;
      this.#marks.push(this.#ledger.mark());
      this.#ledger.occupy(found, placement);
    }
  }

  /** Takes everything tentative back; done before anything is recorded. */
  release(): void {
    this.#ledger.rollback();
    this.#marks = [];
  }

  /** Protects the earliest start of the head of the class; false: nothing that is expected to end lets it start. */
  reserve(found: PlacementClass): boolean {
    const head = found.waiting.first() as Workload;
    const durationMs = expectedDurationMs(this.#world, found.spec);
    for (const startMs of this.#instants()) {
      const placement = this.#placementAt(found, startMs, durationMs);
      if (placement === null) continue;
      const reservation = { workloadId: head.id, found, placement, startMs, endMs: startMs + durationMs };
      const after = this.#list.findIndex((other) => other.startMs > startMs);
      this.#list.splice(after < 0 ? this.#list.length : after, 0, reservation);
      return true;
    }
    return false;
  }

  /** When more may be free than before: running work ends, or reserved work does. */
  #instants(): readonly number[] {
    const instants = new Set(this.#expectedEndings().map(({ endMs }) => endMs));
    for (const { endMs } of this.#list) instants.add(endMs);
    return [...instants].toSorted((left, right) => left - right);
  }

  #expectedEndings(): readonly { readonly attempt: Attempt; readonly endMs: number }[] {
    this.#endings ??= [...this.#world.state.attempts.values()]
      .map((attempt) => ({ attempt, endMs: expectedEndMs(this.#world, attempt, this.#nowMs) }))
      .toSorted((left, right) => left.endMs - right.endMs || left.attempt.placedSequence - right.attempt.placedSequence);
    return this.#endings;
  }

  #placementAt(found: PlacementClass, startMs: number, durationMs: number): Placement | null {
    const world = this.#world;
    try {
      for (const { attempt, endMs } of this.#expectedEndings()) {
        if (endMs > startMs) break;
        if (attempt.stop === null) this.#ledger.vacate(attempt, 0);
      }
      for (const other of this.#list)
        if (other.startMs < startMs + durationMs && other.endMs > startMs) this.#ledger.occupy(other.found, other.placement);
      const needed = found.gang.shareMilli === undefined ? found.workers * found.gang.accelerators : 0;
      const mayFit = acceptableTypes(world, found).some(({ freeCount, comingCount }) => freeCount + comingCount >= needed);
      return mayFit ? findPlacement(world, found, "coming") : null;
    } finally {
      this.#ledger.rollback();
    }
  }
}
