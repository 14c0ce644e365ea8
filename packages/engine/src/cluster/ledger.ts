/**
 * Tentative plans on the live indexes. A search evicts work, books places, calls the same placement code as the round,
 * and then undoes all of this. None of it is an event. Only a verified plan is executed, by events.
 */
import { isPreemptible } from "@headroom/model";
import type { Attempt, Nomination, WorkerAllocation } from "@headroom/model";
import type { Placement } from "./request.ts";
import { amountHeld } from "./amounts.ts";
import { workloadOf } from "./entities.ts";
import { holderOf } from "./holdings.ts";
import type { Layer } from "./node-slot.ts";
import type { PlacementRequest } from "./placement-request.ts";
import type { World } from "./world.ts";

type LedgerHolder = Pick<PlacementRequest, "gang" | "team" | "actor" | "isPreemptible">;

export class Ledger {
  readonly #world: World;
  readonly #undo: (() => void)[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Returns the present position in the list of changes, to which later changes can be rolled back. */
  mark(): number {
    return this.#undo.length;
  }

  rollback(mark = 0): void {
    while (this.#undo.length > mark) (this.#undo.pop() as () => void)();
  }

  /**
   * Keeps the attempt's first `keeps` workers. The other workers count as releasing and no longer count as usage of
   * their team.
   */
  vacate(attempt: Attempt, keeps: number): void {
    this.vacateWorkers(attempt, keeps, attempt.workers.length);
  }

  /** Marks the workers at the positions from `first` up to, but not including, `end` as terminating. */
  vacateWorkers(attempt: Attempt, first: number, end: number): void {
    this.#move(attempt, attempt.workers.slice(first, end), 1);
  }

  /** Marks workers as terminating (1), or undoes that (-1). */
  #move(attempt: Attempt, workers: readonly WorkerAllocation[], sign: 1 | -1): void {
    const { capacity } = this.#world;
    const { gang } = workloadOf(this.#world, attempt.workloadId).spec;
    const other = sign === 1 ? -1 : 1;
    capacity.leave(gang, workers, sign);
    this.#undo.push(() => capacity.leave(gang, workers, other));
    this.#count(attempt, workers, other);
  }

  /** Takes the workers of a stopping attempt out of its team's usage, which counts them until the attempt has ended. */
  endUsage(attempt: Attempt): void {
    this.#count(attempt, attempt.workers, -1);
  }

  /** Adds workers to their team's usage (1), or subtracts them (-1). */
  #count(attempt: Attempt, workers: readonly WorkerAllocation[], sign: 1 | -1): void {
    const { teamUse, rules } = this.#world;
    const workload = workloadOf(this.#world, attempt.workloadId);
    const { spec } = workload;
    const holder = holderOf(workload);
    const amount = amountHeld(this.#world, spec.gang, { workers, acceleratorType: attempt.acceleratorType });
    const isFixed = !isPreemptible(rules, spec);
    teamUse.try(holder, amount, isFixed, sign);
    this.#undo.push(() => teamUse.try(holder, amount, isFixed, sign === 1 ? -1 : 1));
  }

  /** The inverse of `vacateWorkers`. Other changes may have been made in between. */
  stay(attempt: Attempt, first: number, end: number): void {
    this.#move(attempt, attempt.workers.slice(first, end), -1);
  }

  /** Marks all workers as terminating, but keeps their amounts in the team's usage. */
  leaveOnly(attempt: Attempt): void {
    const { capacity } = this.#world;
    const { gang } = workloadOf(this.#world, attempt.workloadId).spec;
    capacity.leave(gang, attempt.workers, 1);
    this.#undo.push(() => capacity.leave(gang, attempt.workers, -1));
  }

  withdraw(nomination: Nomination): void {
    const workload = workloadOf(this.#world, nomination.workloadId);
    const { spec } = workload;
    const request = { ...holderOf(workload), gang: spec.gang, isPreemptible: isPreemptible(this.#world.rules, spec) };
    this.#nomination(request, nomination, -1);
  }

  /** Books workers in a place, and adds them to their team's usage. */
  occupy(request: LedgerHolder, placement: Placement): void {
    this.#nomination(request, placement, 1);
  }

  /** Books a nomination for workers (1), or removes it (-1). */
  #nomination(request: LedgerHolder, placement: Placement, sign: 1 | -1): void {
    const { capacity, teamUse } = this.#world;
    const { workers } = placement;
    const other = sign === 1 ? -1 : 1;
    const amount = amountHeld(this.#world, request.gang, placement);
    const isFixed = !request.isPreemptible;
    capacity.nomination(request.gang, workers, sign);
    teamUse.try(request, amount, isFixed, sign);
    this.#undo.push(() => {
      teamUse.try(request, amount, isFixed, other);
      capacity.nomination(request.gang, workers, other);
    });
  }
}

/** Returns the result of `run` and undoes all its changes to the ledger. */
export function simulate<T>(world: World, run: (ledger: Ledger) => T): T {
  const ledger = new Ledger(world);
  try {
    return run(ledger);
  } finally {
    ledger.rollback();
  }
}

/** Whether all of these workers of a gang fit at once in the capacity view. */
export function haveRoomTogether(
  { capacity }: World,
  gang: PlacementRequest["gang"],
  { workers, layer }: { readonly workers: readonly WorkerAllocation[]; readonly layer: Layer },
): boolean {
  capacity.nomination(gang, workers, 1);
  const fits = canKeepAll(capacity, workers, layer);
  capacity.nomination(gang, workers, -1);
  return fits;
}

/** Whether all of these workers could be bound now, without waiting for terminating work. */
export function isIdle({ capacity }: World, workers: readonly WorkerAllocation[]): boolean {
  return canKeepAll(capacity, workers, "idle");
}

const canKeepAll = (capacity: World["capacity"], workers: readonly WorkerAllocation[], layer: Layer): boolean =>
  workers.every(({ node, accelerators }) => {
    const slot = capacity.slot(node);
    return slot.canKeep(accelerators, layer) && capacity.hasPower(slot, accelerators, layer);
  });
