/**
 * Changes the live indexes to the state expected at a future instant: work that should have ended is removed, and
 * capacity that is reserved while the request would run is booked. A move to another instant books only the
 * differences. Team usage is booked separately and only if a team has a quota, because the queue order depends on
 * present usage.
 */
import { isPreemptible } from "@headroom/model";
import type { WorkerAllocation } from "@headroom/model";
import { amountHeld } from "../../cluster/amounts.ts";
import { workloadOf } from "../../cluster/entities.ts";
import { holderOf } from "../../cluster/holdings.ts";
import type { World } from "../../cluster/world.ts";
import type { ExpectedEnd, ExpectedEnds } from "./expected-completions.ts";
import type { Reservation } from "./reservations.ts";

type Sign = 1 | -1;

/** Books the end of work, or a reservation, in one kind of index. The sign -1 undoes the booking. */
interface Index {
  leave(ended: ExpectedEnd, sign: Sign): void;
  take(reservation: Reservation, sign: Sign): void;
}

export class IndexesAt {
  readonly #capacity: Bookings;
  /** Bookings of team usage; `null` if no team states a quota. */
  readonly #use: Bookings | null;
  /** Called with the workers whose capacity a booking releases, takes or restores. */
  watch: ((workers: readonly WorkerAllocation[]) => void) | null = null;

  constructor(world: World, ends: ExpectedEnds) {
    this.#capacity = new Bookings(
      ends,
      capacityIndex(world, (workers) => this.watch?.(workers)),
    );
    this.#use = world.teamUse.isBounded ? new Bookings(ends, useIndex(world)) : null;
  }

  /**
   * Sets the indexes to their expected state at `atMs`, with the capacity of reservations that begin before `untilMs`
   * booked.
   */
  stand(atMs: number, untilMs: number, reservations: readonly Reservation[]): void {
    this.#capacity.stand(atMs, untilMs, reservations);
    this.#use?.stand(atMs, untilMs, reservations);
  }

  /** Restores the current team usage. */
  restoreUse(): void {
    this.#use?.restore();
  }

  /** Restores the current state of all indexes. */
  restore(): void {
    this.#capacity.restore();
    this.#use?.restore();
  }
}

class Bookings {
  readonly #ends: ExpectedEnds;
  readonly #index: Index;
  /** Number of expected ends that are booked as ended. */
  #leftCount = 0;
  readonly #taken = new Set<Reservation>();

  constructor(ends: ExpectedEnds, index: Index) {
    this.#ends = ends;
    this.#index = index;
  }

  stand(atMs: number, untilMs: number, reservations: readonly Reservation[]): void {
    this.#letLeave(atMs);
    for (const each of reservations) {
      const isTaken = each.startMs < untilMs && each.endMs > atMs;
      if (isTaken === this.#taken.has(each)) continue;
      if (isTaken) this.#taken.add(each);
      else this.#taken.delete(each);
      this.#index.take(each, isTaken ? 1 : -1);
    }
  }

  restore(): void {
    this.#letLeave(Number.NEGATIVE_INFINITY);
    for (const each of this.#taken) this.#index.take(each, -1);
    this.#taken.clear();
  }

  #letLeave(untilMs: number): void {
    for (;;) {
      const last = this.#leftCount === 0 ? undefined : this.#ends.at(this.#leftCount - 1);
      if (last === undefined || last.endMs <= untilMs) break;
      this.#leftCount--;
      this.#move(last, -1);
    }
    for (let next = this.#ends.at(this.#leftCount); next !== undefined && next.endMs <= untilMs;) {
      this.#move(next, 1);
      next = this.#ends.at(++this.#leftCount);
    }
  }

  #move(ended: ExpectedEnd, sign: Sign): void {
    // Terminating work counts as ended.
    if (ended.attempt.stop === null) this.#index.leave(ended, sign);
  }
}

const capacityIndex = ({ capacity }: World, tell: (workers: readonly WorkerAllocation[]) => void): Index => ({
  leave: ({ gang, attempt: { workers } }, sign) => {
    capacity.leave(gang, workers, sign);
    tell(workers);
  },
  take: ({ bucket, placement: { workers } }, sign) => {
    capacity.nomination(bucket.request.gang, workers, sign);
    tell(workers);
  },
});

const useIndex = (world: World): Index => ({
  leave: ({ attempt }, sign) => {
    const { teamUse, rules } = world;
    const workload = workloadOf(world, attempt.workloadId);
    const amount = amountHeld(world, workload.spec.gang, attempt);
    teamUse.try(holderOf(workload), amount, !isPreemptible(rules, workload.spec), sign === 1 ? -1 : 1);
  },
  take: ({ bucket, placement }, sign) =>
    world.teamUse.try(
      bucket.request,
      amountHeld(world, bucket.request.gang, placement),
      !bucket.request.isPreemptible,
      sign,
    ),
});
