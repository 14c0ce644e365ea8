/**
 * Undoes the events of a counterfactual run (decisions of a round, and ends before it), so that the next run can use
 * the same fork. Modified entities are removed from the indexes and restored by the same steps that build indexes from
 * the state. All events have the same time, so no usage accrues in between.
 */
import type { Event, Account, AttemptId, TeamName, WorkloadId, Nomination } from "@headroom/model";
import { predictsRuns } from "../usage/run-times.ts";
import type { DemandMix } from "../state/demand-mix.ts";
import { activeAttempt, removeAttempt, removeWorkload, workloadOf } from "./writable.ts";
import { growthOf, holdAttempt, holdNomination, releaseAttempt } from "../cluster/holdings.ts";
import { writable } from "./writable.ts";
import type { WritableWorld } from "./writable.ts";
import type { World } from "../cluster/world.ts";
import type { WritableAttempt, WritableWorkload } from "../state/mutable-state.ts";

interface RecordedAttempt<Entity> {
  readonly entity: Entity;
  readonly before: Entity;
}

export class UndoLog {
  readonly #world: WritableWorld;
  readonly #sequence: number;
  readonly #queueEventCount: number;
  readonly #submittedCount: number;
  readonly #endedCount: number;
  readonly #endedKeptCount: number;
  readonly #endedDropped: number;
  /** Attempts as they were before the first change. `null`: the attempt did not exist. */
  readonly #attempts = new Map<AttemptId, RecordedAttempt<WritableAttempt> | null>();
  /** All attempts in their former order, recorded when the first one ends. */
  #order: readonly AttemptId[] | null = null;
  readonly #workloads = new Map<WorkloadId, WritableWorkload>();
  /** Workloads that were in the queue before their first change. */
  readonly #waited = new Set<WorkloadId>();
  /** All nominations in their former order, recorded when the first one changes. */
  #nominations: ReadonlyMap<AttemptId, Nomination> | null = null;
  /**
   * Budget accounts at the start of the recording, or `null` if there are none. All events have the same time, so
   * bringing an account up to date does not change it.
   */
  readonly #accounts: ReadonlyMap<TeamName, Account> | null;
  /** Usage history in its former order, or `null` if no history is kept. */
  readonly #decayedUsage: WritableWorld["state"]["decayedUsage"] | null;
  readonly #submitted = new Set<WorkloadId>();
  #demand: DemandMix | null = null;
  #isKnown = true;

  constructor(world: World) {
    this.#world = writable(world);
    this.#sequence = world.state.sequence;
    this.#queueEventCount = world.queueEventCount;
    const { accounts } = world.state;
    this.#accounts = accounts.size === 0 ? null : new Map(accounts);
    this.#decayedUsage = world.decayedUsage.halfLife === null ? null : new Map(world.state.decayedUsage);
    this.#submittedCount = world.state.submittedCount;
    this.#endedCount = world.state.endedCount;
    this.#endedKeptCount = world.endedKept.length;
    this.#endedDropped = world.endedDropped;
  }

  /** Called with every event before it is applied. */
  note(event: Event): void {
    switch (event.kind) {
      case "gangPlaced":
        this.#noteAttempt(event.attemptId);
        return this.#noteWorkload(event.workloadId);
      case "placementNominated":
        return this.#noteNomination(event.nomination);
      case "nominationWithdrawn": {
        const withdrawn = this.#world.state.nominations.get(event.attemptId);
        return withdrawn === undefined ? undefined : this.#noteNomination(withdrawn);
      }
      case "attemptStarted":
      case "attemptStopRequested":
      case "checkpointRequested":
      case "gangShrinkRequested":
      case "gangGrown":
        return this.#noteAttempt(event.attemptId);
      case "attemptEnded":
        return this.#noteEnd(event);
      case "execStarted":
        return;
      case "workloadSubmitted":
        return this.#noteSubmission(event);
      case "workloadStopRequested":
      case "workloadHeld":
        return this.#noteWorkload(event.workloadId);
      case "workloadEnded":
        this.#isKnown &&= isForItself(this.#world, event.workloadId);
        return this.#noteWorkload(event.workloadId);
      case "evictionPlanned":
        // A migration starts a rest period. The order of rest periods is not recorded here, so the event cannot be
        // undone.
        this.#isKnown &&= event.pairsGathered === undefined;
        return;
      default:
        this.#isKnown = false;
    }
  }

  #noteAttempt(id: AttemptId): void {
    const { state } = this.#world;
    if (state.nominations.has(id)) this.#nominations ??= new Map(state.nominations);
    if (this.#attempts.has(id)) return;
    const attempt = activeAttempt(this.#world, id);
    this.#attempts.set(id, attempt === undefined ? null : { entity: attempt, before: { ...attempt } });
    if (attempt !== undefined) this.#noteWorkload(attempt.workloadId);
  }

  /**
   * An end changes run-time statistics if durations are predicted, and an end with a retry sets a new start time:
   * neither can be undone.
   */
  #noteEnd({ attemptId, outcome }: Event & { readonly kind: "attemptEnded" }): void {
    const { state, rules } = this.#world;
    this.#isKnown &&= outcome === "succeeded" && !predictsRuns(rules);
    this.#order ??= [...state.attempts.keys()];
    this.#noteAttempt(attemptId);
  }

  #noteSubmission({ workloadId, spec, waitsFor }: Event & { readonly kind: "workloadSubmitted" }): void {
    this.#isKnown &&= spec.startWindow === undefined && waitsFor === undefined;
    if (this.#submitted.size === 0) this.#demand = this.#world.state.demand?.copy() ?? null;
    this.#submitted.add(workloadId);
  }

  #noteWorkload(id: WorkloadId): void {
    if (this.#workloads.has(id) || this.#submitted.has(id)) return;
    const workload = workloadOf(this.#world, id);
    const { activeAttempts } = workload;
    const own = activeAttempts.length === 0 ? activeAttempts : [...activeAttempts];
    this.#workloads.set(id, { ...workload, activeAttempts: own });
    if (this.#world.queue.has(workload)) this.#waited.add(id);
  }

  #noteNomination({ attemptId, workloadId, afterAttempt }: Nomination): void {
    this.#nominations ??= new Map(this.#world.state.nominations);
    this.#noteAttempt(attemptId);
    if (afterAttempt !== undefined) this.#noteAttempt(afterAttempt);
    this.#noteWorkload(workloadId);
  }

  /** Undoes all events and returns true. If some event cannot be undone, changes nothing and returns false. */
  undo(): boolean {
    const world = this.#world;
    const { state, capacity, queue } = world;
    if (!this.#isKnown || world.endedDropped !== this.#endedDropped) return false;
    if (state.sequence === this.#sequence) return true;
    const after = this.#nominations === null ? [] : [...state.nominations.values()];
    const before = this.#nominations === null ? [] : [...this.#nominations.values()];
    for (const nomination of after) holdNomination(world, nomination, -1);
    this.#release();
    if (this.#nominations !== null) {
      state.nominations.clear();
      for (const nomination of before) state.nominations.set(nomination.attemptId, nomination);
    }
    for (const [team, account] of this.#accounts ?? []) state.accounts.set(team, account);
    if (this.#decayedUsage !== null) {
      state.decayedUsage.clear();
      for (const [key, used] of this.#decayedUsage) state.decayedUsage.set(key, used);
    }
    this.#undoSubmissions();
    this.#restoreAttempts();
    this.#restoreWorkloads();
    this.#holdAgain();
    for (const nomination of before) holdNomination(world, nomination, 1);
    state.sequence = this.#sequence;
    state.endedCount = this.#endedCount;
    world.endedKept.length = this.#endedKeptCount;
    world.queueEventCount = this.#queueEventCount;
    // Caches keyed by a later sequence become invalid, because the sequences will be used again.
    world.scratch.forgetUndone();
    capacity.freedEpoch++;
    queue.markDirty();
    return true;
  }

  #release(): void {
    const world = this.#world;
    for (const [id, known] of this.#attempts) {
      const attempt = activeAttempt(world, id);
      if (attempt === undefined) continue;
      releaseAttempt(world, attempt);
      world.queue.setGrowth(workloadOf(world, attempt.workloadId), id, 0);
      if (known !== null) continue;
      removeAttempt(world, id);
      world.backingOff.delete(id);
    }
  }

  /** Restores attempts at their old positions in the order. */
  #restoreAttempts(): void {
    const { attempts } = this.#world.state;
    for (const known of this.#attempts.values()) if (known !== null) restore(known.entity, known.before);
    if (this.#order === null) return;
    const still = new Map(attempts);
    attempts.clear();
    for (const id of this.#order) {
      const attempt = still.get(id) ?? this.#attempts.get(id)?.entity;
      if (attempt !== undefined) attempts.set(id, attempt);
    }
  }

  #undoSubmissions(): void {
    if (this.#submitted.size === 0) return;
    const { state, queue } = this.#world;
    for (const id of this.#submitted) {
      queue.remove(workloadOf(this.#world, id));
      removeWorkload(this.#world, id);
    }
    state.submittedCount = this.#submittedCount;
    state.demand = this.#demand;
  }

  #restoreWorkloads(): void {
    const { queue } = this.#world;
    for (const before of this.#workloads.values()) {
      const workload = workloadOf(this.#world, before.id);
      queue.remove(workload);
      restore(workload, before);
      if (this.#waited.has(before.id)) queue.add(workload);
    }
  }

  #holdAgain(): void {
    const world = this.#world;
    for (const known of this.#attempts.values()) {
      if (known === null) continue;
      const attempt = known.entity;
      const workload = workloadOf(world, attempt.workloadId);
      holdAttempt(world, attempt);
      world.queue.setGrowth(workload, attempt.id, growthOf(world, workload, attempt));
    }
  }
}

/** Whether the end of the workload affects no other work: no workload depends on it, and it has no start window. */
const isForItself = ({ dependents, state }: WritableWorld, id: WorkloadId): boolean =>
  !dependents.has(id) && state.workloads.get(id)?.spec.startWindow === undefined;

/** Restores the entity's fields and keeps the object itself. */
function restore<Entity extends object>(entity: Entity, before: Entity): void {
  for (const key of Object.keys(entity) as (keyof Entity)[]) if (!(key in before)) delete entity[key];
  Object.assign(entity, before);
}
