/** One call of `receive` in progress: what was decided so far. Events are applied as they are emitted, so decisions see each other. */
import { applyEvent } from "../apply/apply.ts";
import type { Effect } from "../contract/effects.ts";
import type { Event } from "../contract/events.ts";
import type { Attempt } from "../model/workload.ts";
import type { CommandId } from "../model/ids.ts";
import type { CommandResult, Rejection, Reply } from "../contract/replies.ts";
import { Scratch } from "../cluster/scratch.ts";
import { Ledger } from "../cluster/ledger.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { World } from "../cluster/world.ts";

export class Batch {
  readonly world: World;
  readonly nowMs: number;
  /** Gangs that lost workers with a node in this batch and may have them replaced. */
  degraded: readonly Attempt[] = [];
  events: readonly Event[] = [];
  replies: readonly Reply[] = [];
  effects: readonly Effect[] = [];
  /** Memo data of other rooms, kept until the batch ends. */
  readonly scratch: Scratch = new Scratch();
  #ledger: Ledger | null = null;
  /** In a trial: whether the round has told what it is about, now that a class was asked. */
  readonly #tells: ((bucket: QueueBucket, started: boolean) => boolean) | null;
  /** Nothing that the round would still do is asked for. */
  isOver = false;
  /** In a trial: told of every event before it is applied. */
  note: ((event: Event) => void) | null = null;
  /** By now work may be taken for others that could not be before. */
  freesVictims = false;
  readonly #queueChanges: number;

  constructor(world: World, nowMs: number, tells: ((bucket: QueueBucket, started: boolean) => boolean) | null = null) {
    this.world = world;
    this.nowMs = nowMs;
    this.#tells = tells;
    this.#queueChanges = world.queue.changes;
  }

  /** Whether anything is otherwise than before the batch: a wake-up for what is no longer so changes nothing. */
  get changesAnything(): boolean {
    return this.events.length > 0 || this.freesVictims || this.world.queue.changes !== this.#queueChanges;
  }

  /** Whether it is tried for the sake of one workload: then only what is recorded counts. */
  get isCounterfactual(): boolean {
    return this.#tells !== null;
  }

  /** A class was asked whether its head starts. */
  asked(bucket: QueueBucket, started: boolean): void {
    if (this.#tells !== null) this.isOver ||= this.#tells(bucket, started);
  }

  /** What is set aside until the round ends. */
  get ledger(): Ledger {
    this.#ledger ??= new Ledger(this.world);
    return this.#ledger;
  }

  /** Nothing is set aside any more. */
  endRound(): void {
    this.#ledger?.rollback();
  }

  emit(event: Event): void {
    this.note?.(event);
    applyEvent(this.world, event);
    this.events = appended(this.events, event);
  }

  /** The gang lost workers and asks for others. */
  markDegraded(attempt: Attempt): void {
    if (!this.degraded.includes(attempt)) this.degraded = appended(this.degraded, attempt);
  }

  /** Asks an executor for something. */
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
 * Most rounds come to one or two of each. A list made with these has room for just them; pushing makes room for seventeen
 * more.
 */
function appended<T>(list: readonly T[], item: T): readonly T[] {
  if (list.length === 0) return [item];
  if (list.length === 1) return [list[0] as T, item];
  (list as T[]).push(item);
  return list;
}
