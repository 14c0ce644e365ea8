/**
 * Takes back what a round recorded that was only tried, on a fork that goes on with the next trial: everything that was
 * written to leaves the indexes and comes back as it was, by the same steps by which indexes are built from the state. All of it
 * happens at one instant, so that nothing was used up in between.
 */
import type { Event } from "../events.ts";
import type { Account } from "../model/budget.ts";
import type { AttemptId, TeamName, WorkloadId } from "../model/ids.ts";
import type { Attempt, PromisedPlace } from "../model/workload.ts";
import { activeAttempt, removeAttempt, workloadOf } from "../state/entities.ts";
import { growthOf, holdAttempt, holdPromise, releaseAttempt } from "../state/holdings.ts";
import type { AttemptEntity, World, WorkloadEntity } from "../state/world.ts";

/** As it was before it was first written to; `null`: it was not there. */
type Before<Entity> = Entity | null;

export class RoundTakenBack {
  readonly #world: World;
  readonly #sequence: number;
  readonly #queueEventCount: number;
  readonly #attempts = new Map<AttemptId, Before<AttemptEntity>>();
  readonly #workloads = new Map<WorkloadId, WorkloadEntity>();
  /** All promises in their order, once any of them is written to. */
  #promises: ReadonlyMap<AttemptId, PromisedPlace> | null = null;
  /** What was used up as of when it was last looked at; it is the same, looked at or not. */
  readonly #accounts: ReadonlyMap<TeamName, Account> | null;
  #isKnown = true;

  /** Of what is recorded from now on. */
  constructor(world: World) {
    this.#world = world;
    this.#sequence = world.state.sequence;
    this.#queueEventCount = world.queueEventCount;
    const { accounts } = world.state;
    this.#accounts = accounts.size === 0 ? null : new Map(accounts);
  }

  /** Told of every event before it is applied. */
  note(event: Event): void {
    switch (event.kind) {
      case "gangPlaced":
        this.#noteAttempt(event.attemptId);
        return this.#noteWorkload(event.workloadId);
      case "placePromised":
        return this.#notePromise(event.promise);
      case "promiseWithdrawn": {
        const withdrawn = this.#world.state.promises.get(event.attemptId);
        return withdrawn === undefined ? undefined : this.#notePromise(withdrawn);
      }
      case "attemptStopRequested":
      case "checkpointRequested":
      case "gangShrinkRequested":
      case "gangGrown":
        return this.#noteAttempt(event.attemptId);
      case "evictionPlanned":
        // What was moved for others' sake rests, and that is remembered in an order.
        this.#isKnown &&= event.pairsGathered === undefined;
        return;
      default:
        this.#isKnown = false;
    }
  }

  #noteAttempt(id: AttemptId): void {
    const { state } = this.#world;
    if (state.promises.has(id)) this.#promises ??= new Map(state.promises);
    if (this.#attempts.has(id)) return;
    const attempt = activeAttempt(this.#world, id);
    this.#attempts.set(id, attempt === undefined ? null : { ...attempt });
    if (attempt !== undefined) this.#noteWorkload(attempt.workloadId);
  }

  #noteWorkload(id: WorkloadId): void {
    if (this.#workloads.has(id)) return;
    const workload = workloadOf(this.#world, id);
    const { activeAttempts } = workload;
    const own = activeAttempts.length === 0 ? activeAttempts : [...activeAttempts];
    this.#workloads.set(id, { ...workload, activeAttempts: own });
  }

  #notePromise({ attemptId, workloadId, afterAttempt }: PromisedPlace): void {
    this.#promises ??= new Map(this.#world.state.promises);
    this.#noteAttempt(attemptId);
    if (afterAttempt !== undefined) this.#noteAttempt(afterAttempt);
    this.#noteWorkload(workloadId);
  }

  /** False: more was recorded than can be taken back, and nothing is. */
  takeBack(): boolean {
    if (!this.#isKnown) return false;
    const world = this.#world;
    const { state, capacity, queue } = world;
    if (state.sequence === this.#sequence) return true;
    const after = this.#promises === null ? [] : [...state.promises.values()];
    const before = this.#promises === null ? [] : [...this.#promises.values()];
    for (const promise of after) holdPromise(world, promise, -1);
    this.#release();
    if (this.#promises !== null) {
      state.promises.clear();
      for (const promise of before) state.promises.set(promise.attemptId, promise);
    }
    for (const [team, account] of this.#accounts ?? []) state.accounts.set(team, account);
    this.#restoreWorkloads();
    this.#holdAgain();
    for (const promise of before) holdPromise(world, promise, 1);
    state.sequence = this.#sequence;
    world.queueEventCount = this.#queueEventCount;
    // What was remembered of a sequence is of another one now.
    world.standings = null;
    world.lookedFor.length = 0;
    world.reservations = [];
    world.cells.forget();
    capacity.freedEpoch++;
    queue.unsettle();
    return true;
  }

  #release(): void {
    const world = this.#world;
    for (const [id, before] of this.#attempts) {
      const attempt = activeAttempt(world, id);
      if (attempt === undefined) continue;
      releaseAttempt(world, attempt);
      world.queue.setGrowth(workloadOf(world, attempt.workloadId), id, 0);
      if (before === null) removeAttempt(world, id);
      else restore(attempt, before);
    }
  }

  #restoreWorkloads(): void {
    const { queue } = this.#world;
    for (const before of this.#workloads.values()) {
      const workload = workloadOf(this.#world, before.id);
      const waited = before.placementClass !== null;
      queue.remove(workload);
      restore(workload, before);
      workload.placementClass = null;
      if (waited) queue.add(workload);
    }
  }

  #holdAgain(): void {
    const world = this.#world;
    for (const [id, before] of this.#attempts) {
      if (before === null) continue;
      const attempt = activeAttempt(world, id) as Attempt;
      const workload = workloadOf(world, attempt.workloadId);
      holdAttempt(world, attempt);
      world.queue.setGrowth(workload, id, growthOf(world, workload, attempt));
    }
  }
}

/** What an entity says is what it said before, and nothing else. */
function restore<Entity extends object>(entity: Entity, before: Entity): void {
  for (const key of Object.keys(entity) as (keyof Entity)[]) if (!(key in before)) delete entity[key];
  Object.assign(entity, before);
}
