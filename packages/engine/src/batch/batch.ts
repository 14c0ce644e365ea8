/**
 * One call of `receive` in progress, with its decisions so far. Events are applied as they are emitted, so later
 * decisions see the earlier ones.
 */
import type { Effect, Event, Attempt, CommandId, CommandResult, Rejection, Reply } from "@headroom/model";
import { applyEvent } from "../apply/apply.ts";
import { Scratch } from "../cluster/scratch.ts";
import { Ledger } from "../cluster/ledger.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";

/**
 * Amount of starts after which a live round ends: one for each attempt and one for each of its workers. The next round
 * follows at once. One round, and one append, then take milliseconds and at most a few MiB, however much work fits.
 */
export const ROUND_STARTS_MAX = 8_192;

/**
 * Stops that a batch may request, as a part of the starts. Each is one to three events, so that a group of them stays
 * within a few thousand events.
 */
const STOPS_PART = 8;

export class Batch {
  readonly world: World;
  readonly nowMs: number;
  /** Gangs that lost workers with a node in this batch and may get replacements. */
  degraded: readonly Attempt[] = [];
  events: readonly Event[] = [];
  replies: readonly Reply[] = [];
  effects: readonly Effect[] = [];
  #scratch: Scratch | null = null;
  #ledger: Ledger | null = null;
  /**
   * In a counterfactual run: called after the round has considered a bucket. Returns whether the answer is known then.
   */
  readonly #tells: ((bucket: QueueBucket, started: boolean) => boolean) | null;
  /** False if an input of the batch excludes a round. */
  hasRound = true;
  /** True if the remaining phases of the round are not needed. */
  isOver = false;
  /** True if the round ended because it had started enough. Another round must follow, at the same time. */
  isCut = false;
  /** Amount of starts after which the round is cut. A counterfactual round is not cut. */
  startsMax: number = Number.POSITIVE_INFINITY;
  #startedAmount = 0;
  #stopCount = 0;
  /** In a counterfactual run: called with every event before it is applied. */
  note: ((event: Event) => void) | null = null;
  /** Number of events after which others may use a place that was held for someone: withdrawn nominations and ended attempts. */
  placesLeft = 0;
  /** Whether work became preemptible since the last round. */
  freesVictims = false;
  readonly #queueChanges: number;

  constructor(world: World, nowMs: number, tells: ((bucket: QueueBucket, started: boolean) => boolean) | null = null) {
    this.world = world;
    this.nowMs = nowMs;
    this.#tells = tells;
    this.#queueChanges = world.queue.changes;
  }

  /** Whether the last round was cut, so that this one continues it. */
  continuesCut = false;

  /** Whether the batch changes anything. False after a wakeup whose reason no longer exists. */
  get changesAnything(): boolean {
    const hasChanged = this.events.length > 0 || this.world.queue.changes !== this.#queueChanges;
    return hasChanged || this.freesVictims || this.continuesCut;
  }

  /** Whether the batch is a counterfactual run for one workload: then only records count. */
  get isCounterfactual(): boolean {
    return this.#tells !== null;
  }

  /** Reports that the round has considered a bucket, and whether the head of the bucket starts. */
  asked(bucket: QueueBucket, started: boolean): void {
    if (this.#tells !== null) this.isOver ||= this.#tells(bucket, started);
    if (this.#startedAmount >= this.startsMax) this.cut();
  }

  /** Counts a start, or a nomination, towards the bound of the round. */
  countStart(workers: number): void {
    this.#startedAmount += 1 + workers;
  }

  /**
   * Whether the batch may request one more stop of an attempt. If not, another batch must follow, and continues the
   * stops.
   */
  mayStop(): boolean {
    if (this.#stopCount >= this.startsMax / STOPS_PART) {
      this.isCut = true;
      return false;
    }
    this.#stopCount++;
    return true;
  }

  /** Ends the round. The next one continues where this one stopped. */
  cut(): void {
    this.isCut = true;
    this.isOver = true;
  }

  get scratch(): Scratch {
    return (this.#scratch ??= new Scratch());
  }

  /** Tentative changes of plans, on the live indexes. */
  get ledger(): Ledger {
    this.#ledger ??= new Ledger(this.world);
    return this.#ledger;
  }

  /** Undoes the tentative changes that the round did not undo itself. */
  endRound(): void {
    this.#ledger?.rollback();
  }

  emit(event: Event): void {
    this.note?.(event);
    applyEvent(this.world, event);
    this.events = appended(this.events, event);
  }

  /** Records that the gang lost workers and requests replacements. */
  markDegraded(attempt: Attempt): void {
    if (!this.degraded.includes(attempt)) this.degraded = appended(this.degraded, attempt);
  }

  ask(effect: Effect): void {
    this.effects = appended(this.effects, effect);
  }

  accept(commandId: CommandId, result: CommandResult): void {
    this.replies = appended(this.replies, { kind: "accepted", commandId, result });
  }

  reject(commandId: CommandId, rejection: Rejection): void {
    this.replies = appended(this.replies, { kind: "rejected", commandId, rejection });
  }
}

/**
 * Most rounds append one or two items. A literal list has exactly this capacity, while pushing would allocate capacity
 * for seventeen.
 */
function appended<T>(list: readonly T[], item: T): readonly T[] {
  if (list.length === 0) return [item];
  if (list.length === 1) return [list[0] as T, item];
  (list as T[]).push(item);
  return list;
}
