/**
 * The engine's shell around its parts `lifecycle`, `round` and `apply`: a batch of inputs goes in, a `Ready` comes out.
 */
import {
  chainAfter,
  compareOrdinals,
  hashInto,
  lanesFromHex,
  lanesToHex,
  InvariantError,
  invariant,
} from "@headroom/model";
import type { Command, Effect, Event, Input, Signal, NodeId, Workload, WorkloadId, Lanes } from "@headroom/model";
import { Batch, ROUND_STARTS_MAX } from "../batch/batch.ts";
import { applyEvent, recordChain, settle } from "../apply/apply.ts";
import { UndoLog } from "../apply/undo-log.ts";
import { decideCommand } from "../lifecycle/commands.ts";
import { decideObservation } from "../lifecycle/observations.ts";
import { decideSignal } from "../lifecycle/signals.ts";
import { outstandingEffects } from "../transitions/attempt-effects.ts";
import type { Engine, JournalGroup, Ready } from "./ready.ts";
import { defragmentsAtMs } from "../round/defragment.ts";
import { findPlacement } from "../placement/place.ts";
import { isInGroups } from "../cluster/request.ts";
import { expectedTransfer } from "../cluster/transfers.ts";
import type { ExpectedTransfer, TransferWork } from "../cluster/transfers.ts";
import { runRound } from "../round/round.ts";
import { placeGiven } from "../transitions/start.ts";
import { copyFleetState, copyLiveState } from "../state/copy.ts";
import { learnOutcomes } from "../round/learn-outcomes.ts";
import { stateDigest } from "../state/digest.ts";
import { decodeSnapshot, encodeSnapshot } from "../state/snapshot.ts";
import { QueueBucket } from "../cluster/queue.ts";
import type { ReadonlyState } from "../state/state.ts";
import { indexState } from "../cluster/world.ts";
import { emptyState } from "../state/empty-state.ts";
import type { World } from "../cluster/world.ts";
import { installStrategies, signatures } from "../strategies/registry.ts";
import { upcastEvent } from "../state/upcast.ts";

export interface EngineOptions {
  /** For tests: the amount of starts that ends a round. */
  readonly startsMax?: number;
}

interface Forked {
  /** The clock of the original and whether its last round was cut; `null`: the engine is no fork. */
  readonly fork?: { readonly clockMs: number; readonly isCut: boolean } | null;
}

class EngineCore implements Engine {
  #world: World;
  #clockMs: number;
  #awaitingAdvance = false;
  /** Newest hash of the hash chain, as numbers. `state.chain` formats it as text when it is read. */
  #chain: Lanes;

  /** False for a fork: it writes no journal. */
  readonly #isWritten: boolean;

  #isCut: boolean;
  /**
   * Whether the last round may have been cut: the state does not say it, so a restored engine with waiting work assumes
   * it. Another round is then due at once, which records nothing if the last round was complete.
   */
  #mayBeCut: boolean;

  readonly #startsMax: number;

  constructor(state: ReadonlyState, { fork = null, startsMax = ROUND_STARTS_MAX }: EngineOptions & Forked = {}) {
    this.#world = worldWith(state);
    this.#startsMax = startsMax;
    this.#isCut = fork?.isCut ?? false;
    this.#mayBeCut = fork?.isCut ?? mayBeCut(this.#world);
    this.#chain = lanesFromHex(state.chain);
    this.#clockMs = fork?.clockMs ?? state.nowMs;
    this.#isWritten = fork === null;
  }

  get state(): ReadonlyState {
    return this.world.state;
  }

  get world(): World {
    recordChain(this.#world, lanesToHex(this.#chain));
    return this.#world;
  }

  get fleetEpoch(): number {
    return this.#world.capacity.fleetEpoch;
  }

  get clockMs(): number {
    return this.#clockMs;
  }

  receive(inputs: readonly Input[], nowMs: number): Ready {
    invariant(!this.#awaitingAdvance, "receive before advance: the last batch is not known to be durable");
    if (!Number.isSafeInteger(nowMs) || nowMs < 0)
      throw new InvariantError(`${nowMs} is not an instant in whole milliseconds`);
    this.#clockMs = Math.max(this.#clockMs, nowMs);
    const batch = new Batch(this.#world, this.#clockMs);
    batch.startsMax = this.#startsMax;
    batch.continuesCut = this.#isCut;
    for (const input of inputs) takeIn(batch, input);
    runRound(batch);
    this.#isCut = this.#mayBeCut = batch.isCut;
    const { events, replies, effects } = batch;
    const group = events.length === 0 || !this.#isWritten ? null : this.#close(events);
    this.#awaitingAdvance = group !== null;
    return { atMs: batch.nowMs, events, group, replies, effects, isCut: batch.isCut };
  }

  #close(events: readonly Event[]): JournalGroup {
    const { state } = this.#world;
    const text = JSON.stringify(events);
    hashInto(this.#chain, text);
    return new ClosedGroup(
      { firstSequence: state.sequence - events.length + 1, count: events.length, text },
      this.#chain,
    );
  }

  advance(): void {
    this.#awaitingAdvance = false;
  }

  get startsMax(): number {
    return this.#startsMax;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  nextWakeAtMs(): number | null {
    if (this.#mayBeCut) return this.#clockMs;
    const { timers, completions, queue, decayedUsage, rules } = this.#world;
    const defragmentAtMs = rules.defragment === undefined ? null : defragmentsAtMs(this.#world, this.#clockMs);
    const dueMs = defragmentAtMs === null ? timers.nextAtMs() : earlier(timers.nextAtMs(), defragmentAtMs);
    if (!queue.hasRequests) return dueMs;
    // Two more instants change decisions: running work exceeds its expected end, which moves protected starts; decayed
    // usage takes its next step, which changes the queue order.
    return earlier(dueMs, earlier(completions.nextAfter(this.#clockMs), decayedUsage.nextStepAtMs(this.#clockMs)));
  }

  outstandingEffects(): readonly Effect[] {
    return outstandingEffects(this.#world);
  }

  digest(): string {
    return stateDigest(this.world.state);
  }

  snapshot(): Uint8Array {
    return encodeSnapshot(this.world.state);
  }

  /**
   * Folds groups and rebuilds the indexes from the state. Index entries that the passing of time had made in a stopped
   * run are not reused.
   */
  fold(groups: Iterable<JournalGroup>): void {
    const { world } = this;
    for (const group of groups) foldGroup(world, group);
    this.#world = worldWith(world.state);
    this.#chain = lanesFromHex(world.state.chain);
    this.#clockMs = world.state.nowMs;
    this.#isCut = false;
    this.#mayBeCut = mayBeCut(this.#world);
  }
}

/** Whether the last round before a restore may have been cut: work waits, or stops are left. */
const mayBeCut = ({ queue, stopping }: World): boolean => queue.hasRequests || stopping.size > 0;

function worldWith(state: ReadonlyState): World {
  const world = indexState(state, signatures);
  installStrategies(world);
  return world;
}

/** The earlier of two future instants. `null` stands for no instant. */
function earlier(left: number | null, right: number | null): number | null {
  if (left === null) return right;
  return right === null || left < right ? left : right;
}

/** A group of events whose chain hash is formatted as text only when it is read. The simulator never reads it. */
class ClosedGroup implements JournalGroup {
  readonly firstSequence: number;
  readonly count: number;
  readonly text: string;
  readonly #a: number;
  readonly #b: number;
  readonly #c: number;
  readonly #d: number;

  constructor({ firstSequence, count, text }: Omit<JournalGroup, "chain">, { a, b, c, d }: Lanes) {
    this.firstSequence = firstSequence;
    this.count = count;
    this.text = text;
    this.#a = a;
    this.#b = b;
    this.#c = c;
    this.#d = d;
  }

  get chain(): string {
    return lanesToHex({ a: this.#a, b: this.#b, c: this.#c, d: this.#d });
  }
}

function takeIn(batch: Batch, input: Input): void {
  // A run of removals is settled once.
  if (batch.world.capacity.hasGaps && input.kind !== "removeNode") settle(batch.world);
  if (isCommand(input)) decideCommand(batch, input);
  else if (isSignal(input)) decideSignal(batch, input);
  else if (input.kind === "noRound") batch.hasRound = false;
  else if (input.kind !== "tick") decideObservation(batch, input);
}

// A read of the field instead of `in`, which is slow for objects of many shapes.
const isCommand = (input: Input): input is Command => (input as Partial<Command>).commandId !== undefined;

const signalKinds: { readonly [Kind in Signal["kind"]]: true } = {
  progressReported: true,
  estimatesReported: true,
  idleChangesReported: true,
  checkpointReported: true,
  utilizationReported: true,
  artifactReported: true,
  linesRejected: true,
  stepTimesReported: true,
};
const namesOfSignals: ReadonlySet<string> = new Set(Object.keys(signalKinds));

const isSignal = (input: Input): input is Signal => namesOfSignals.has(input.kind);

function foldGroup(world: World, group: JournalGroup): void {
  const { state } = world;
  const expected = state.sequence + 1;
  if (group.firstSequence !== expected) {
    throw new InvariantError(
      `the journal is damaged: a group starts at sequence ${group.firstSequence}, expected ${expected}`,
    );
  }
  const chain = chainAfter(state.chain, group.text);
  if (chain !== group.chain) {
    throw new InvariantError(
      `the journal is damaged at sequence ${expected}: the hash chain gives ${chain}, the journal says ${group.chain}`,
    );
  }
  let events: readonly Event[];
  try {
    events = JSON.parse(group.text) as readonly Event[];
  } catch (cause) {
    throw new InvariantError(`the journal is damaged at sequence ${expected}: not JSON`, { cause });
  }
  invariant(
    events.length === group.count,
    `the journal is damaged at sequence ${expected}: ${events.length} events, the journal says ${group.count}`,
  );
  for (const event of events) applyEvent(world, upcastEvent(event));
  settle(world);
  recordChain(world, chain);
}

/** A fresh engine with an empty fleet and the default policy. */
export function createEngine(options: EngineOptions = {}): Engine {
  return new EngineCore(emptyState(), options);
}

/** The engine whose state is in these bytes of `snapshot()`. It continues exactly like the engine that wrote them. */
export function restoreEngine(snapshot: Uint8Array, options: EngineOptions = {}): Engine {
  return new EngineCore(decodeSnapshot(snapshot), options);
}

/**
 * An independent engine in the same state, for counterfactual runs. It does not contain ended work. Cached results
 * about waiting work are copied, so that its first round costs no more than the original's next round. It keeps no
 * journal: its groups are `null`, and its hash chain does not advance.
 */
export function forkEngine(engine: Engine): Engine {
  const live = coreOf(engine);
  const fork = new EngineCore(copyLiveState(live.world.state), {
    fork: { clockMs: live.clockMs, isCut: live.isCut },
    startsMax: live.startsMax,
  });
  learnOutcomes(fork.world, live.world);
  return fork;
}

/** An engine with the same fleet, teams and policy, and without work: it shows what the fleet could hold. */
export function forkFleet(engine: Engine): Engine {
  const { world, clockMs, startsMax } = coreOf(engine);
  return new EngineCore(copyFleetState(world.state), { fork: { clockMs, isCut: false }, startsMax });
}

/**
 * Applies inputs to a fork without a round. The caller reads from the returned batch which work may start, and then
 * discards the fork.
 */
export function takeInOnly(fork: Engine, inputs: readonly Input[], nowMs: number): Batch {
  const batch = new Batch(worldOf(fork), nowMs);
  for (const input of inputs) takeIn(batch, input);
  settle(batch.world);
  return batch;
}

/**
 * Like `takeInOnly`, but the caller can undo the changes with `undo`. It returns false if more was recorded than can be
 * undone.
 */
export function takeInForNow(
  fork: Engine,
  inputs: readonly Input[],
  nowMs: number,
): { readonly batch: Batch; readonly undo: () => boolean } {
  const world = worldOf(fork);
  const batch = new Batch(world, nowMs);
  const taking = new UndoLog(world);
  batch.note = (event) => taking.note(event);
  for (const input of inputs) takeIn(batch, input);
  settle(world);
  return { batch, undo: () => taking.undo() };
}

/** Applies inputs and runs a round. No journal text is written. */
export function tryInputs(fork: Engine, inputs: readonly Input[], nowMs: number): Batch {
  const batch = takeInOnly(fork, inputs, nowMs);
  runRound(batch);
  return batch;
}

/** A counterfactual round for one workload. */
export interface CounterfactualRun {
  /** The events that the inputs caused. They stay applied after `undo`. */
  readonly taken: readonly Event[];
  /**
   * The batch with the events of the inputs and of the round. The state after the round stays until `undo` is called.
   */
  readonly batch: Batch;
  /** Undoes the round. Returns false if more was recorded than can be undone. */
  undo(): boolean;
  /**
   * Undoes the inputs. Call it after the round, and everything recorded later, was undone. Returns false if more was
   * recorded than can be undone.
   */
  undoInputs(): boolean;
}

/**
 * Applies inputs and runs a round to learn whether one workload starts. If `sought` is `null`, this is the workload
 * that the inputs submit. The round ends as soon as the answer is known.
 */
export function tryFor(
  sought: WorkloadId | null,
  fork: Engine,
  inputs: readonly Input[],
  nowMs: number,
): CounterfactualRun {
  const world = worldOf(fork);
  let target = sought;
  let lookedAt = 0;
  const batch: Batch = new Batch(world, nowMs, (bucket, started) => {
    for (; lookedAt < batch.events.length; lookedAt++)
      if (target !== null && placeGiven(batch.events[lookedAt] as Event)?.workloadId === target) return true;
    const sought = target === null ? undefined : world.state.workloads.get(target);
    const own = sought === undefined ? null : world.queue.bucketIn(sought);
    return own !== null && isOutOfReach(world, own, bucket, started);
  });
  const taking = new UndoLog(world);
  batch.note = (event) => taking.note(event);
  for (const input of inputs) takeIn(batch, input);
  const taken = [...batch.events];
  target ??= taken.findLast((event) => event.kind === "workloadSubmitted")?.workloadId ?? null;
  const round = new UndoLog(world);
  batch.note = (event) => round.note(event);
  runRound(batch);
  return { taken, batch, undo: () => round.undo(), undoInputs: () => taking.undo() };
}

/**
 * Whether a waiting workload certainly cannot start in this round. The check applies to rounds without evictions and
 * nominations: the workload does not fit even on the capacity of terminating work, and other starts only take more.
 * Work that starts in this round and could then be evicted runs on that same capacity.
 */
function isOutOfReach(world: World, own: QueueBucket, bucket: QueueBucket, started: boolean): boolean {
  const { rules, evictable, state } = world;
  // With a placement strategy, running work may become evictable later in the round.
  if (rules.phases[0] !== "place" || rules.fabric.placedBy !== null) return false;
  if (evictable.size > 0 || state.nominations.size > 0) return false;
  // While the round considers a bucket that does not start, protected starts may be booked temporarily, so the indexes
  // may show too little capacity.
  if (!started && (rules.backfill.protectedStarts > 0 || bucket !== own)) return false;
  // Task groups are combined greedily. When other work takes capacity, the choice may change so that the groups fit.
  return !isInGroups(own.request) && findPlacement(world, own.request, "releasing") === null;
}

/**
 * Folds journal groups into an engine without deciding anything. The groups must be in order and follow directly after
 * the engine's own sequence. Throws `InvariantError` with the sequence where the chain, the numbering or an event's
 * kind or version is wrong.
 */
export function replayEngine(engine: Engine, groups: Iterable<JournalGroup>): void {
  coreOf(engine).fold(groups);
}

/** The indexes behind an engine, for the read-only code in `explain` and the checkers in `engine-oracle`. */
export function worldOf(engine: Engine): World {
  return coreOf(engine).world;
}

/** Endpoints that have not ended, in the order of their submission, without a pass over all workloads. */
export function endpointsOf(engine: Engine): readonly Workload[] {
  const { endpoints, state } = worldOf(engine);
  return [...endpoints].flatMap((id) => state.workloads.get(id) ?? []).toSorted(compareOrdinals);
}

/** The transfer of inputs before a start of the work on these nodes, or anywhere (`null`). Returns `null` if nothing is brought. */
export const transferBefore = (
  engine: Engine,
  work: TransferWork,
  nodes: readonly NodeId[] | null,
): ExpectedTransfer | null => expectedTransfer(worldOf(engine), work, nodes);

/** The engine's clock: the newest `nowMs` it was given. */
export function clockOf(engine: Engine): number {
  return coreOf(engine).clockMs;
}

function coreOf(engine: Engine): EngineCore {
  invariant(engine instanceof EngineCore, "not an engine of this module");
  return engine;
}
